"""DSDV: routes to every node, kept up by periodic and triggered updates (Perkins and Bhagwat; Thyme FGCS §9.1).

It plays as ns-3's does, because the papers' ES and LS were measured over that: a full dump every 15 s, under
which a node raises its own sequence number by two; a triggered update within a millisecond of hearing one, with
whatever is news and not settling; weighted settling of changed metrics; routes dropped when not confirmed for
three dump intervals; and at most five packets waiting for a route per destination. That is `DsdvOptions.ns3`. By
default a link whose frames the radio gives up on is also broken at once and told of, its packet waits for another
route, and an older route to a lost destination is not taken back, since ns-3's way loses packets and can make
loops. Two things always differ: waiting packets leave as soon as there is a route rather than with the next packet
sent, and sequence numbers begin with the clock, so that a node can come back.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from thyme.host import Host, Timer
from thyme.model.ids import NodeId
from thyme.model.records import Counted, TrafficKind
from thyme.routing.dsdv_options import SEQUENCE_TICK_S, DsdvOptions
from thyme.routing.dsdv_table import DsdvTable, Route
from thyme.routing.layer import Deliver
from thyme.routing.waiting import Waiting
from thyme.wire.codec import DecodeError, decode, encode
from thyme.wire.dsdv import Carried, Entry, TableUpdate, pack, unpack
from thyme.wire.message import Message

__all__ = ["Dsdv", "DsdvOptions"]

_NUMBERS = 1 << 32


class Dsdv:
    """A `UnicastRouter`."""

    def __init__(self, host: Host, deliver: Deliver, options: DsdvOptions | None = None) -> None:
        self._host = host
        self._deliver = deliver
        self._options = o = options or DsdvOptions()
        weight = o.weight if o.weighted_settling else None
        hold_s = o.hold_periods * o.period_s
        self._table = DsdvTable(host.node, o.settling_s, weight, hold_s, o.remember_lost, o.max_routes)
        self._sequence = 0
        self._settling: dict[NodeId, Timer] = {}
        self._failures: dict[NodeId, int] = {}
        self._waiting = Waiting(host, o.max_waiting, o.max_waiting_per_node, o.max_wait_s)
        self._dump_timer: Timer | None = None
        self._number = host.random.getrandbits(32)
        self._arrived: dict[tuple[NodeId, int], None] = {}

    def start(self) -> None:
        # The clock runs faster than dumps raise the number: a node that was away is not taken for its older self.
        self._sequence = 2 * int(self._host.now() / SEQUENCE_TICK_S)
        first_s = self._host.random.uniform(0.0, self._options.trigger_jitter_s)
        self._dump_timer = self._host.after(first_s, self._dump)

    def stop(self) -> None:
        """No more updates."""
        for timer in (self._dump_timer, *self._settling.values()):
            if timer:
                timer.cancel()
        self._settling.clear()

    def route(self, to: NodeId) -> Route | None:
        """The route in use to a node."""
        return self._table.routes.get(to)

    def routes(self) -> list[Route]:
        """All routes in use, in the order of destinations."""
        return [self._table.routes[node] for node in sorted(self._table.routes)]

    def send(self, to: NodeId, message: Message, failed: Callable[[], None] | None = None) -> None:
        payload = encode(message)
        if to == self._host.node:
            self._host.after(0.0, lambda: self._deliver(to, message))
            return
        self._tell_purged()
        self._number = (self._number + 1) % _NUMBERS
        packet = Carried(self._host.node, self._number, to, 0, payload)
        self._send_or_wait(packet, failed, self._options.resends)

    def receive(self, sender: NodeId, message: Message) -> bool:
        if isinstance(message, TableUpdate):
            self._failures.pop(sender, None)
            self._read(sender, message)
        elif isinstance(message, Carried):
            self._carry(message)
        else:
            return False
        return True

    def _read(self, sender: NodeId, update: TableUpdate) -> None:
        now_s = self._host.now()
        for entry in unpack(update.entries):
            settles = entry.destination in self._settling
            todo = self._table.read(now_s, sender, entry, settles)
            if todo.stop and settles:
                self._stop_settling(entry.destination)
            if todo.start_s is not None:
                self._start_settling(entry.destination, todo.start_s)
        self._trigger()
        self._release()

    def _start_settling(self, destination: NodeId, wait_s: float) -> None:
        def settled() -> None:
            del self._settling[destination]
            self._tell_news()

        self._settling[destination] = self._host.after(wait_s, settled)

    def _stop_settling(self, destination: NodeId) -> None:
        self._settling.pop(destination).cancel()

    def _trigger(self) -> None:
        self._host.after(self._host.random.uniform(0.0, self._options.trigger_jitter_s), self._tell_news)

    def _tell_news(self) -> None:
        news = self._table.take_news(self._settling)
        if news:
            self._broadcast([self._own_entry(), *map(_entry, news)])

    def _dump(self) -> None:
        removed = [*self._table.purge(self._host.now()), *self._table.merge_news(self._settling)]
        self._sequence += 2
        self._broadcast([self._own_entry(), *map(_entry, self.routes()), *map(_entry, removed)])
        jitter_s = self._host.random.uniform(0.0, self._options.period_jitter_s)
        self._dump_timer = self._host.after(self._options.period_s + jitter_s, self._dump)

    def _own_entry(self) -> Entry:
        return Entry(self._host.node, 1, self._sequence)

    def _broadcast(self, entries: list[Entry]) -> None:
        for first in range(0, len(entries), self._options.max_entries):
            self._host.broadcast(TableUpdate(pack(entries[first : first + self._options.max_entries])))

    def _tell_purged(self) -> None:
        removed = self._table.purge(self._host.now())
        for route in removed:
            self._table.news.setdefault(route.destination, route)
        if removed:
            self._trigger()

    def _send_or_wait(self, packet: Carried, failed: Callable[[], None] | None, resends: int) -> None:
        route = self._usable(packet.target)
        if route is None:
            kept = self._waiting.put(packet, failed, resends)
            if not kept:
                self._refuse("no route", failed)
            return
        self._host.unicast(route.next_hop, packet, lambda: self._lost_link(packet, route.next_hop, failed, resends))

    def _usable(self, target: NodeId) -> Route | None:
        route = self._table.routes.get(target)
        return route if route and route.next_hop in self._table.routes else None

    def _lost_link(self, packet: Carried, next_hop: NodeId, failed: Callable[[], None] | None, resends: int) -> None:
        self._link_failed(next_hop)
        if packet.origin == self._host.node and resends > 0:
            self._send_or_wait(packet, failed, resends - 1)
        else:
            self._refuse("no link", failed)

    def _link_failed(self, neighbour: NodeId) -> None:
        limit = self._options.broken_after_failures
        failures = self._failures[neighbour] = self._failures.get(neighbour, 0) + 1
        if not limit or failures < limit:
            return
        del self._failures[neighbour]
        lost = self._table.lose_over(self._host.now(), neighbour)
        for destination in lost:
            if destination in self._settling:
                self._stop_settling(destination)
        if lost:
            self._trigger()

    def _carry(self, packet: Carried) -> None:
        if packet.target == self._host.node:
            self._arrive(packet)
            return
        route = self._usable(packet.target)
        if route is None or packet.hops + 1 >= self._options.hop_limit:
            self._refuse("hop limit" if route else "no route", None)
            return
        onward = msgspec.structs.replace(packet, hops=packet.hops + 1)
        self._host.record(Counted(TrafficKind.FORWARDED, "Carried", size_bytes=len(packet.payload)))
        self._host.unicast(route.next_hop, onward, lambda: self._lost_link(onward, route.next_hop, None, 0))

    def _arrive(self, packet: Carried) -> None:
        """A packet may come twice: its sender's link gave up on it although only the acknowledgement was lost."""
        key = (packet.origin, packet.number)
        if key in self._arrived:
            return
        self._arrived[key] = None
        if len(self._arrived) > self._options.memory:
            del self._arrived[next(iter(self._arrived))]
        try:
            message = decode(packet.payload)
        except DecodeError:
            self._refuse("unreadable", None)
        else:
            self._deliver(packet.origin, message)

    def _release(self) -> None:
        """Send what waited for routes that now exist, a random moment apart."""
        for target in self._waiting.targets():
            if self._usable(target):
                self._release_next(target)

    def _release_next(self, target: NodeId) -> None:
        if not self._usable(target):
            return
        waited = self._waiting.take(target)
        if waited is None:
            return
        self._send_or_wait(waited.packet, waited.failed, waited.resends)
        gap_s = self._host.random.uniform(0.0, self._options.release_gap_s)
        self._host.after(gap_s, lambda: self._release_next(target))

    def _refuse(self, reason: str, failed: Callable[[], None] | None) -> None:
        self._host.record(Counted(TrafficKind.DROPPED, "Carried", reason=reason))
        if failed:
            failed()


def _entry(route: Route) -> Entry:
    return Entry(route.destination, route.hops + 1, route.sequence)
