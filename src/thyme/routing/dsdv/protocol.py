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
from math import inf
from typing import TYPE_CHECKING

import msgspec

from thyme.host import Host, Timer
from thyme.model.bounded import Bounded
from thyme.model.errors import InputError
from thyme.model.ids import NodeId
from thyme.model.records import Counted, TrafficKind
from thyme.routing.dsdv.duties import ATTEND, MUST, SETTLE, TRIGGER
from thyme.routing.dsdv.options import SEQUENCE_TICK_S, DsdvOptions
from thyme.routing.dsdv.waiting import Waiting
from thyme.routing.hearing import Alarms, Ear
from thyme.routing.layer import Deliver
from thyme.wire.codec import DecodeError
from thyme.wire.dsdv import ENTRY_BYTES, Carried, TableUpdate
from thyme.wire.message import Message

if TYPE_CHECKING:
    from thyme.routing.dsdv.table import Route

__all__ = ["Dsdv", "DsdvOptions"]

_NUMBERS = 1 << 32


class Dsdv:
    """A `UnicastRouter`."""

    def __init__(self, host: Host, deliver: Deliver, options: DsdvOptions | None = None) -> None:
        # Compiled code takes a while to load, and most approaches never route by DSDV.
        from thyme.routing.dsdv.table import DsdvTable

        if not 0 <= host.node < _NUMBERS:
            raise InputError(
                f"node {host.node} cannot route by DSDV, whose updates hold numbers from 0 to {_NUMBERS - 1}"
            )
        self._host = host
        self._deliver = deliver
        self._options = o = options or DsdvOptions()
        weight = o.weight if o.weighted_settling else None
        hold_s = o.hold_periods * o.period_s
        self._alarms: Alarms | None = None
        self._table = DsdvTable(
            host.node, o.settling_s, weight, hold_s, o.remember_lost, o.max_routes, o.trigger_jitter_s
        )
        self._timers: dict[int, Timer] = {}
        """Those that end settling and tell news, by what they are for."""
        self._failures: dict[NodeId, int] = {}
        self._waiting = Waiting(host, o.max_waiting, o.max_waiting_per_node, o.max_wait_s)
        self._dump_timer: Timer | None = None
        self._number = host.random.getrandbits(32)
        self._arrived: Bounded[tuple[NodeId, int], None] = Bounded(self._options.memory)

    def start(self) -> None:
        # The clock runs faster than dumps raise the number: a node that was away is not taken for its older self.
        self._table.sequence = 2 * int(self._host.now() / SEQUENCE_TICK_S)
        first_s = self._host.random.uniform(0.0, self._options.trigger_jitter_s)
        self._dump_timer = self._host.after(first_s, self._dump)

    def stop(self) -> None:
        """No more updates."""
        for timer in (self._dump_timer, *self._timers.values()):
            if timer:
                timer.cancel()
        if self._alarms:
            self._alarms.cancel()

    def route(self, to: NodeId) -> Route | None:
        """The route in use to a node."""
        return self._table.route(to)

    def routes(self) -> list[Route]:
        """All routes in use, in the order of destinations."""
        return self._table.routes()

    def send(self, to: NodeId, message: Message, failed: Callable[[], None] | None = None) -> None:
        payload = self._host.codec.encode(message)
        if to == self._host.node:
            self._host.after(0.0, lambda: self._deliver(to, message))
            return
        if self._table.purge(self._host.now()):
            self._trigger()
        self._number = (self._number + 1) % _NUMBERS
        packet = Carried(self._host.node, self._number, to, 0, payload)
        self._send_or_wait(packet, failed, self._options.resends)

    def roomy(self) -> bool:
        return self._waiting.roomy()

    def receive(self, sender: NodeId, message: Message) -> bool:
        if isinstance(message, TableUpdate):
            self._read(sender, message.entries)
        elif isinstance(message, Carried):
            self._carry(message)
        else:
            return False
        return True

    def ears(self, kind: type[Message]) -> tuple[Ear, ...]:
        if kind is not TableUpdate:
            return ()
        from thyme.routing.dsdv.table import read_together

        most = self._options.max_entries
        return (Ear(read_together, self._table.address, self._act, draws=True, lend=self._lend, most=most),)

    def _lend(self, alarms: Alarms) -> None:
        """From now on the timers that end settling and tell news ring elsewhere, where compiled code does what is then
        to be done at all nodes."""
        self._alarms = alarms

    def _read(self, sender: NodeId, entries: bytes) -> None:
        told = self._table.read(sender, entries, self._host.now(), self._host.random.random())
        if told & MUST:
            self._do(sender, told)

    def _act(self, sender: NodeId, message: TableUpdate, told: int, draw: float) -> None:
        """What is left to do of an update that many nodes heard, at this one."""
        if told < 0:
            told = self._table.read(sender, message.entries, self._host.now(), draw)
        self._do(sender, told)

    def _do(self, sender: NodeId, told: int) -> None:
        if told & SETTLE:
            self._await_settling()
        if told & TRIGGER:
            self._set_trigger()
        if told & ATTEND:
            self._failures.pop(sender, None)
            if self._waiting.count:
                self._release()
            self._table.attend(bool(self._failures) or self._waiting.count > 0)

    def _await_settling(self) -> None:
        """One timer serves all that settles. It may ring before anything is due; then it is set again."""
        due_s = self._table.due_s
        if due_s < self._table.settled_s:
            self._table.settled_s = due_s
            self._set(SETTLE, max(0.0, due_s - self._host.now()))

    def _end_settling(self) -> None:
        table, now_s = self._table, self._host.now()
        while entries := table.settle(table.sequence, now_s):
            self._broadcast(entries)
            if table.due_s > now_s:
                break
        if table.settled_s < inf:
            self._set(SETTLE, table.settled_s - now_s)

    def _trigger(self) -> None:
        """Tell news that no update brought."""
        if self._table.trigger(self._host.now(), self._host.random.random()):
            self._set_trigger()

    def _set_trigger(self) -> None:
        self._set(TRIGGER, self._table.triggered_s - self._host.now())

    def _set(self, duty: int, delay_s: float) -> None:
        """Set one of the two timers, whatever it was set for."""
        if self._alarms:
            self._alarms.set(duty, delay_s)
            return
        if timer := self._timers.get(duty):
            timer.cancel()
        self._timers[duty] = self._host.after(delay_s, self._end_settling if duty == SETTLE else self._triggered)

    def _triggered(self) -> None:
        entries = self._table.tell(self._table.sequence)
        if entries:
            self._broadcast(entries)

    def _dump(self) -> None:
        self._table.sequence += 2
        self._broadcast(self._table.dump(self._table.sequence, self._host.now()))
        jitter_s = self._host.random.uniform(0.0, self._options.period_jitter_s)
        self._dump_timer = self._host.after(self._options.period_s + jitter_s, self._dump)

    def _broadcast(self, entries: bytes) -> None:
        most_bytes = self._options.max_entries * ENTRY_BYTES
        for first in range(0, len(entries), most_bytes):
            self._host.broadcast(TableUpdate(entries[first : first + most_bytes]))

    def _send_or_wait(self, packet: Carried, failed: Callable[[], None] | None, resends: int) -> None:
        next_hop = self._table.next_hop(packet.target)
        if next_hop is None:
            kept = self._waiting.put(packet, failed, resends)
            self._table.attend(True)
            if not kept:
                self._refuse("no route", failed)
            return
        self._host.unicast(next_hop, packet, lambda: self._lost_link(packet, next_hop, failed, resends))

    def _lost_link(self, packet: Carried, next_hop: NodeId, failed: Callable[[], None] | None, resends: int) -> None:
        self._link_failed(next_hop)
        if resends > 0:
            self._send_or_wait(packet, failed, resends - 1)
        else:
            self._refuse("no link", failed)

    def _link_failed(self, neighbour: NodeId) -> None:
        limit = self._options.broken_after_failures
        if not limit:
            return
        failures = self._failures[neighbour] = self._failures.get(neighbour, 0) + 1
        self._table.attend(True)
        if failures < limit:
            return
        del self._failures[neighbour]
        if self._table.lose_over(neighbour, self._host.now()):
            self._trigger()

    def _carry(self, packet: Carried) -> None:
        if packet.target == self._host.node:
            self._arrive(packet)
            return
        next_hop = self._table.next_hop(packet.target)
        if next_hop is None or packet.hops + 1 >= self._options.hop_limit:
            self._refuse("no route" if next_hop is None else "hop limit", None)
            return
        onward = msgspec.structs.replace(packet, hops=packet.hops + 1)
        self._host.unicast(next_hop, onward, lambda: self._lost_link(onward, next_hop, None, self._options.resends))

    def _arrive(self, packet: Carried) -> None:
        """A packet may come twice: its sender's link gave up on it although only the acknowledgement was lost."""
        key = (packet.origin, packet.number)
        if key in self._arrived:
            return
        self._arrived[key] = None
        try:
            message = self._host.codec.decode(packet.payload)
        except DecodeError:
            self._refuse("unreadable", None)
        else:
            self._deliver(packet.origin, message)

    def _release(self) -> None:
        """Send what waited for routes that now exist, a random moment apart."""
        for target in self._waiting.targets():
            if self._table.next_hop(target) is not None:
                self._release_next(target)

    def _release_next(self, target: NodeId) -> None:
        if self._table.next_hop(target) is None:
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
