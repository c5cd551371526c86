"""DSDV's table in plain Python, one record per route: what the compiled one must agree with."""

from __future__ import annotations

import struct
from collections.abc import Container, Iterable, Iterator
from math import inf
from typing import NamedTuple

import msgspec

from thyme.model.ids import NodeId
from thyme.wire.routing import ENTRY_BYTES

_LAYOUT = struct.Struct("!III")


class Entry(NamedTuple):
    """Over the advertiser, `destination` is `hops` away from whoever hears this. An odd sequence number
    says that the destination is lost."""

    destination: NodeId
    hops: int
    sequence: int


def pack(entries: Iterable[Entry]) -> bytes:
    return b"".join(_LAYOUT.pack(*entry) for entry in entries)


def unpack(packed: bytes) -> Iterator[Entry]:
    """The entries; a tail that is no whole entry is the sender's mistake and ignored."""
    whole = len(packed) - len(packed) % ENTRY_BYTES
    for destination, hops, sequence in _LAYOUT.iter_unpack(memoryview(packed)[:whole]):
        yield Entry(NodeId(destination), hops, sequence)


MAX_HOPS = 1000


class Route(msgspec.Struct, frozen=True):
    """The way to a destination: over `next_hop`, `hops` links. `heard_s` is when it was last confirmed."""

    destination: NodeId
    next_hop: NodeId
    hops: int
    sequence: int
    heard_s: float
    settling_s: float
    changed: bool = True

    def lost(self) -> Route:
        """The same destination as unreachable, under an odd sequence number."""
        odd = self.sequence + 1 if self.sequence % 2 == 0 else self.sequence
        return msgspec.structs.replace(self, sequence=odd, changed=True)

    def told(self) -> Route:
        return msgspec.structs.replace(self, changed=False)


class Settling(msgspec.Struct, frozen=True):
    """What must be done about settling timers after an entry was read: stop the one that runs for the
    destination, and start one of `start_s` seconds."""

    stop: bool = False
    start_s: float | None = None


_KEEP = Settling()


class ReferenceTable:
    """The routes of one node."""

    def __init__(
        self,
        own: NodeId,
        settling_s: float,
        weight: float | None,
        hold_s: float,
        remember_lost: bool,
        max_routes: int,
    ) -> None:
        """`weight` is the part of the old settling time in the new one; None keeps the settling time as it is."""
        self._own = own
        self._settling_s = settling_s
        self._weight = weight
        self._hold_s = hold_s
        self._remember_lost = remember_lost
        self._max_routes = max_routes
        self.routes: dict[NodeId, Route] = {}
        self.news: dict[NodeId, Route] = {}
        self._lost: dict[NodeId, tuple[int, float]] = {}

    def read(self, now_s: float, sender: NodeId, entry: Entry, settles: bool) -> Settling:
        """Take in what a neighbour said of one destination; `settles` says whether a timer runs for it."""
        if entry.destination == self._own or not 0 < entry.hops < MAX_HOPS:
            return _KEEP
        known = self.routes.get(entry.destination)
        even = entry.sequence % 2 == 0
        if known is None:
            if even and self._acceptable(entry):
                self._put_new(now_s, sender, entry)
            return _KEEP
        news = self.news.setdefault(entry.destination, known)
        if not even:
            return self._read_loss(now_s, sender, entry, news, known, settles)
        if entry.sequence > news.sequence:
            return self._read_newer(now_s, sender, entry, news, known)
        if entry.sequence == news.sequence:
            return self._read_same(now_s, sender, entry, news, known, settles)
        self._forget_news(entry.destination, settles)
        return _KEEP

    def lose_over(self, now_s: float, neighbour: NodeId) -> list[NodeId]:
        """The link to a neighbour is broken: every route over it is lost, and that is news."""
        gone = [route for route in self.routes.values() if route.next_hop == neighbour]
        for route in gone:
            self._lose(now_s, route)
        for route in [r for r in self.news.values() if r.next_hop == neighbour and r.sequence % 2 == 0]:
            del self.news[route.destination]
        return [route.destination for route in gone]

    def purge(self, now_s: float) -> list[Route]:
        """Take out what was not confirmed for the hold time, and what went over it; lost as they are returned."""
        due_s = now_s - self._hold_s
        silent = sorted(route.destination for route in self.routes.values() if route.heard_s < due_s)
        removed: dict[NodeId, Route] = {}
        for destination in silent:
            route = self.routes.get(destination)
            if route is None:
                continue
            over = [
                other for other in self.routes.values() if other.next_hop == destination and other.hops != route.hops
            ]
            for gone in (*over, route):
                removed[gone.destination] = self._take_out(now_s, gone)
        for destination in [d for d, (_, at_s) in self._lost.items() if at_s < now_s - 2.0 * self._hold_s]:
            del self._lost[destination]
        return [removed[destination] for destination in sorted(removed)]

    def merge_news(self, settling: Container[NodeId]) -> list[Route]:
        """Before a full dump: what would be told in a triggered update is told in the dump. Returns the losses."""
        losses = []
        for route in [r for r in self.news.values() if r.changed and r.destination not in settling]:
            if route.sequence % 2 == 0:
                self._follow(route.told())
            else:
                losses.append(route)
            del self.news[route.destination]
        return sorted(losses, key=lambda route: route.destination)

    def take_news(self, settling: Container[NodeId]) -> list[Route]:
        """What a triggered update tells, in the order of destinations; it is news no longer."""
        ready = [r for r in self.news.values() if r.changed and r.destination not in settling]
        for route in ready:
            if route.sequence % 2 == 0:
                self._follow(route.told())
            del self.news[route.destination]
        return sorted(ready, key=lambda route: route.destination)

    def _put_new(self, now_s: float, sender: NodeId, entry: Entry) -> None:
        if len(self.routes) >= self._max_routes:
            return
        self._lost.pop(entry.destination, None)
        route = Route(entry.destination, sender, entry.hops, entry.sequence, now_s, self._settling_s)
        self.routes[entry.destination] = route
        self.news.setdefault(entry.destination, route)

    def _read_newer(self, now_s: float, sender: NodeId, entry: Entry, news: Route, known: Route) -> Settling:
        if entry.hops == news.hops:
            self.news[entry.destination] = self._heard(now_s, sender, entry, news.settling_s)
            return Settling(stop=True)
        return self._settle(now_s, sender, entry, known)

    def _read_same(
        self, now_s: float, sender: NodeId, entry: Entry, news: Route, known: Route, settles: bool
    ) -> Settling:
        if entry.hops < news.hops:
            return self._settle(now_s, sender, entry, known)
        if not settles and news.next_hop == sender:
            self._follow(msgspec.structs.replace(news, heard_s=now_s))
        self._forget_news(entry.destination, settles)
        return _KEEP

    def _read_loss(
        self, now_s: float, sender: NodeId, entry: Entry, news: Route, known: Route, settles: bool
    ) -> Settling:
        if self._remember_lost and entry.sequence < news.sequence:
            return _KEEP
        if sender != (known if self._remember_lost else news).next_hop:
            self._forget_news(entry.destination, settles)
            return _KEEP
        self.lose_over(now_s, entry.destination)
        self._take_out(now_s, msgspec.structs.replace(news, sequence=entry.sequence))
        self.news[entry.destination] = msgspec.structs.replace(news, sequence=entry.sequence, changed=True)
        return Settling(stop=self._remember_lost)

    def _settle(self, now_s: float, sender: NodeId, entry: Entry, known: Route) -> Settling:
        """Another metric: follow it at once, tell of it when it has settled."""
        wait_s = known.settling_s
        if self._weight is not None and wait_s > 0.0:
            wait_s = self._weight * wait_s + (1.0 - self._weight) * (now_s - known.heard_s)
        route = self._heard(now_s, sender, entry, wait_s)
        self._follow(route)
        self.news[entry.destination] = route
        return Settling(stop=True, start_s=wait_s)

    def _heard(self, now_s: float, sender: NodeId, entry: Entry, settling_s: float) -> Route:
        return Route(entry.destination, sender, entry.hops, entry.sequence, now_s, settling_s)

    def _follow(self, route: Route) -> None:
        if route.destination in self.routes:
            self.routes[route.destination] = route

    def _forget_news(self, destination: NodeId, settles: bool) -> None:
        if not settles:
            self.news.pop(destination, None)

    def _lose(self, now_s: float, route: Route) -> None:
        self.news[route.destination] = self._take_out(now_s, route)

    def _take_out(self, now_s: float, route: Route) -> Route:
        self.routes.pop(route.destination, None)
        lost = route.lost()
        if self._remember_lost:
            self._lost[route.destination] = (lost.sequence, now_s)
        return lost

    def _acceptable(self, entry: Entry) -> bool:
        lost = self._lost.get(entry.destination)
        return lost is None or entry.sequence > lost[0]


class Reference:
    """The plain table with the interface of the compiled one."""

    def __init__(
        self,
        own: NodeId,
        settling_s: float,
        weight: float | None,
        hold_s: float,
        remember_lost: bool,
        max_routes: int,
    ) -> None:
        self._own = own
        self._table = ReferenceTable(own, settling_s, weight, hold_s, remember_lost, max_routes)
        self._settling: dict[NodeId, float] = {}

    @property
    def due_s(self) -> float:
        return min(self._settling.values(), default=inf)

    @property
    def ready(self) -> bool:
        """Whether a triggered update would tell anything."""
        return any(news.changed and node not in self._settling for node, news in self._table.news.items())

    def read(self, sender: NodeId, entries: bytes, now_s: float) -> None:
        for entry in unpack(entries):
            settles = entry.destination in self._settling
            todo = self._table.read(now_s, sender, entry, settles)
            if todo.stop:
                self._settling.pop(entry.destination, None)
            if todo.start_s is not None:
                self._settling[entry.destination] = now_s + todo.start_s

    def tell(self, sequence: int) -> bytes:
        news = self._table.take_news(self._settling)
        return self._packed(sequence, news) if news else b""

    def dump(self, sequence: int, now_s: float) -> bytes:
        removed = [*self._table.purge(now_s), *self._table.merge_news(self._settling)]
        return self._packed(sequence, [*self.routes(), *removed])

    def settle(self, sequence: int, now_s: float) -> bytes:
        while self._end_settling(now_s):
            if told := self.tell(sequence):
                return told
        return b""

    def _end_settling(self, now_s: float) -> bool:
        """The dictionary is in the order in which settling began."""
        due = [destination for destination, due_s in self._settling.items() if due_s == self.due_s <= now_s]
        if due:
            del self._settling[due[0]]
        return bool(due)

    def purge(self, now_s: float) -> bool:
        removed = self._table.purge(now_s)
        for route in removed:
            self._table.news.setdefault(route.destination, route)
        return bool(removed)

    def lose_over(self, neighbour: NodeId, now_s: float) -> bool:
        lost = self._table.lose_over(now_s, neighbour)
        for destination in lost:
            self._settling.pop(destination, None)
        return bool(lost)

    def next_hop(self, destination: NodeId) -> NodeId | None:
        route = self._table.routes.get(destination)
        return route.next_hop if route and route.next_hop in self._table.routes else None

    def routes(self) -> list[Route]:
        return [self._table.routes[node] for node in sorted(self._table.routes)]

    def _packed(self, sequence: int, routes: list[Route]) -> bytes:
        own = Entry(self._own, 1, sequence)
        return pack([own, *(Entry(route.destination, route.hops + 1, route.sequence) for route in routes)])
