"""DSDV: routes to every node, maintained by periodic and triggered updates (Perkins and Bhagwat; Thyme FGCS §9.1).

`DsdvOptions.ns3` behaves as ns-3's DSDV, over which the papers measured ES and LS: a full dump every 15 s, for which a
node raises its own sequence number by two; a triggered update, within a millisecond of receiving one, with all pending
entries that are not settling; weighted settling of changed metrics; routes dropped when not confirmed for three dump
intervals; and at most five packets per destination waiting for a route. The default differs because ns-3's behaviour
loses packets and can form loops: when the radio gives up on a frame, the link counts as broken at once and the loss is
advertised, the packet waits for another route, and an older route to a lost destination is refused. Two things always
differ from ns-3: waiting packets leave as soon as there is a route rather than with the next packet sent, and sequence
numbers start from the clock, so that a node can restart.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import TYPE_CHECKING, Annotated

import msgspec

from thyme.host import Host, Timer
from thyme.model.bounded import Bounded
from thyme.model.errors import InputError
from thyme.model.ids import NodeId
from thyme.model.records import Counted, TrafficKind
from thyme.model.settings import SettingsRecord
from thyme.model.settings.bounds import AtLeastOne, Positive
from thyme.routing.broadcasts import BroadcastHandler
from thyme.routing.dsdv.waiting import WaitingPackets
from thyme.routing.layer import Deliver
from thyme.routing.layouts import ATTEND, MUST, SETTLE, TRIGGER
from thyme.wire.codec import DecodeError
from thyme.wire.message import Message
from thyme.wire.routing import ENTRY_BYTES, Carried, TableUpdate

if TYPE_CHECKING:
    from thyme.routing.dsdv.routing_table import Route


_NUMBERS = 1 << 32
SEQUENCE_TICK_S = 4.0
"""The clock from which sequence numbers start; dumps must be rarer."""
PERIOD_JITTER_S = 0.025
"""Longest random wait before a periodic dump, as in ns-3."""
TRIGGER_JITTER_S = 0.001
"""Longest random wait before the first and before a triggered update, as in ns-3."""
SETTLING_WEIGHT = 0.875
"""Of the past in the mean settling time, as in ns-3."""
HOLD_PERIODS = 3
"""A route not renewed for so many periods is lost, as in ns-3."""
MAX_WAIT_S = 30.0
"""How long a packet waits for a route, as in ns-3."""
MAX_ROUTES = 10_000
"""Of the largest crowd that was simulated; destinations beyond are not learned."""
RELEASE_GAP_S = 0.1
"""Longest random gap between two waiting packets that leave when a route was found, as in ns-3."""


class DsdvOptions(SettingsRecord, frozen=True):
    """Defaults are ns-3's, except where `ns3` says otherwise."""

    period_s: Annotated[float, msgspec.Meta(gt=SEQUENCE_TICK_S)] = 15.0
    """Between two full updates of a node."""
    settling_s: Positive = 5.0
    """How long a better route must last before it is announced."""
    weighted_settling: bool = True
    """Whether the mean settling time of a destination is used instead, as in ns-3."""
    max_entries: AtLeastOne = 189
    """Entries in one update; a fuller dump is sent in several. 189 fill ns-3's Wi-Fi frames of 2,296 bytes."""
    max_waiting: int = 500
    """Packets that wait for a route at a node."""
    max_waiting_per_node: int = 5
    """Packets that wait for a route to one destination."""
    hop_limit: AtLeastOne = 64
    """A packet is dropped after so many hops."""
    resends: int = 1
    """How often the origin of a packet, or a node that forwards it, waits for another route after a link failed."""
    memory: int = 2000
    """Packets that arrived here and are remembered, to deliver each only once."""
    broken_after_failures: int = 1
    """Frames that the radio gives up on, with nothing heard in between, before a link counts as broken; 0: never,
    as in ns-3."""
    remember_lost: bool = True
    """Whether an older route to a lost destination is refused, which keeps routes free of loops."""

    @classmethod
    def ns3(cls) -> DsdvOptions:
        """ns-3's behaviour: links are never broken by the MAC, and lost routes are forgotten."""
        return cls(broken_after_failures=0, resends=0, remember_lost=False)


class Dsdv:
    """A `UnicastRouter`."""

    def __init__(self, host: Host, deliver: Deliver, options: DsdvOptions | None = None) -> None:
        # Compiled code takes a while to load, and most approaches never route by DSDV.
        from thyme.routing.dsdv.routing_table import DsdvTable

        if not 0 <= host.node < _NUMBERS:
            raise InputError(
                f"node {host.node} cannot route by DSDV, whose updates hold numbers from 0 to {_NUMBERS - 1}"
            )
        self._host = host
        self._deliver = deliver
        self._options = o = options or DsdvOptions()
        weight = SETTLING_WEIGHT if o.weighted_settling else None
        hold_s = HOLD_PERIODS * o.period_s
        self._table = DsdvTable(host.node, o.settling_s, weight, hold_s, o.remember_lost, MAX_ROUTES, TRIGGER_JITTER_S)
        self._timers: dict[int, Timer] = {}
        """The settling timer and the triggered-update timer."""
        self._failures: dict[NodeId, int] = {}
        self._waiting = WaitingPackets(host, o.max_waiting, o.max_waiting_per_node, MAX_WAIT_S)
        self._dump_timer: Timer | None = None
        self._number = host.random.getrandbits(32)
        self._arrived: Bounded[tuple[NodeId, int], None] = Bounded(self._options.memory)

    def start(self) -> None:
        # The clock rises faster than dumps raise the number: a restarted node's updates are newer than its old ones.
        self._table.sequence = 2 * int(self._host.now() / SEQUENCE_TICK_S)
        first_s = self._host.random.uniform(0.0, TRIGGER_JITTER_S)
        self._dump_timer = self._host.after(first_s, self._dump)

    def stop(self) -> None:
        """Stop sending updates."""
        for timer in (self._dump_timer, *self._timers.values()):
            if timer:
                timer.cancel()

    def route(self, to: NodeId) -> Route | None:
        """The route in use to a node."""
        return self._table.route(to)

    def routes(self) -> list[Route]:
        """All routes in use, ordered by destination."""
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

    def has_room(self) -> bool:
        return self._waiting.has_room()

    def flood_routes(self) -> None:
        """DSDV knows all routes from its tables."""

    def receive(self, sender: NodeId, message: Message) -> bool:
        if isinstance(message, TableUpdate):
            self._read(sender, message.entries)
        elif isinstance(message, Carried):
            self._carry(message)
        else:
            return False
        return True

    def broadcast_handlers(self, kind: type[Message]) -> tuple[BroadcastHandler, ...]:
        return (BroadcastHandler(self._table, self._act),) if kind is TableUpdate else ()

    def _read(self, sender: NodeId, entries: bytes) -> None:
        todo = self._table.read(sender, entries, self._host.now(), self._host.random.random())
        if todo & MUST:
            self._do(sender, todo)

    def _act(self, sender: NodeId, message: TableUpdate, todo: int, draw: float) -> None:
        """Finish, at this node, an update that many nodes received together."""
        if todo < 0:
            todo = self._table.read(sender, message.entries, self._host.now(), draw)
        self._do(sender, todo)

    def _do(self, sender: NodeId, todo: int) -> None:
        if todo & SETTLE:
            self._await_settling()
        if todo & TRIGGER:
            self._set_trigger()
        if todo & ATTEND:
            self._failures.pop(sender, None)
            if self._waiting.count:
                self._release()
            self._table.attend(bool(self._failures) or self._waiting.count > 0)

    def _await_settling(self) -> None:
        """One timer serves all settling times. If it expires before any of them is due, it is set again."""
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
        """Advertise a change that no update caused."""
        if self._table.trigger(self._host.now(), self._host.random.random()):
            self._set_trigger()

    def _set_trigger(self) -> None:
        self._set(TRIGGER, self._table.triggered_s - self._host.now())

    def _set(self, duty: int, delay_s: float) -> None:
        """Set one of the two timers, replacing its earlier time."""
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
        jitter_s = self._host.random.uniform(0.0, PERIOD_JITTER_S)
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
        """A packet may arrive twice: the sender's link gave up because only the acknowledgement was lost."""
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
        """Send the packets whose routes now exist, with random gaps."""
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
        gap_s = self._host.random.uniform(0.0, RELEASE_GAP_S)
        self._host.after(gap_s, lambda: self._release_next(target))

    def _refuse(self, reason: str, failed: Callable[[], None] | None) -> None:
        self._host.record(Counted(TrafficKind.DROPPED, "Carried", reason=reason))
        if failed:
            failed()
