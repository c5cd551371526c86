"""Neighbour discovery by periodic beacons (Thyme FGCS §6.6.1, §6.7).

Every node broadcasts its cell and whether it is stationary, about once a second with jitter, and keeps a
table of the neighbours it has heard lately. Moving nodes beacon and listen too, so that they can still be
reached and can send over their neighbours (§6.6.3), but they are not counted to a cell's population.

A beacon carries a few bytes for the approach above: `BeaconEvents.digest` is asked for them before each
beacon, and `BeaconEvents.heard` is told of every beacon that arrives, unless the approach has said which of them it can
do without (`Beacons.attend`). That one came after a time is told if the approach asks for it, but not what it says
(`BeaconEvents.woken`). Lists of neighbours are always in the order of their numbers, so that nothing
depends on who was heard first.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass
from math import inf
from typing import Protocol

import msgspec

from thyme.host import Host, Timer
from thyme.model.geometry import Point
from thyme.model.ids import CellId, NodeId
from thyme.model.records import Counted, TrafficKind
from thyme.routing.cells.grid import Grid
from thyme.routing.cells.notes import KnownNotes
from thyme.routing.cells.roll import NEWS, NEWS_BUT_NOTES, WAKES, Roll, saying, saying_all
from thyme.routing.hearing import Ear
from thyme.wire.beacons import SUM_BYTES, Beacon, parts
from thyme.wire.message import Message


class BeaconOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    period_s: float = 1.0
    jitter: float = 0.5
    """Each gap is the period ± at most this part of it."""
    expiry_s: float = 3.5
    """A neighbour not heard for so long is gone: at least two beacons were lost."""
    max_neighbours: int = 1000
    max_digest_bytes: int = 256


class Neighbour(msgspec.Struct, frozen=True):
    """A node in range, as its last beacon described it."""

    node: NodeId
    cell: CellId
    stationary: bool


@dataclass(frozen=True)
class BeaconEvents:
    """What the approach above wants to know and say; everything may be left out.

    `population_changed(cell, count)`: the number of stationary neighbours in a cell is now `count`; this node
    itself is not counted. It is told after `appeared` and `vanished`. `woken`: a beacon came, at a time from which on
    one was waited for (`Beacons.wake`); it is told after `heard`.
    """

    appeared: Callable[[Neighbour], None] | None = None
    vanished: Callable[[Neighbour], None] | None = None
    population_changed: Callable[[CellId, int], None] | None = None
    digest: Callable[[], bytes] | None = None
    heard: Callable[[Neighbour, bytes], None] | None = None
    woken: Callable[[], None] | None = None


class Sum(Protocol):
    """What this node holds, summed up in `SUM_BYTES`; kept at an address that is good as long as this is."""

    @property
    def address(self) -> int: ...
    def beacon(self) -> bytes: ...


class Beacons:
    """This node's beacons and the table of its neighbours."""

    __slots__ = (
        "_attended",
        "_beacon_timer",
        "_by_cell",
        "_events",
        "_expiry_timer",
        "_grid",
        "_host",
        "_neighbours",
        "_notes",
        "_numbers",
        "_options",
        "_own",
        "_place",
        "_populated",
        "_roll",
        "_said",
        "cells",
        "participates",
        "where",
    )

    def __init__(
        self,
        host: Host,
        grid: Grid,
        events: BeaconEvents | None = None,
        options: BeaconOptions | None = None,
        participates: Callable[[], bool] | None = None,
        place: Callable[[], CellId] | None = None,
    ) -> None:
        """`participates` says whether this node routes and counts to its cell; without it, whenever it does
        not move. An approach can hold a node back until it has joined its cell. `place` says which cell that is;
        without it, the one that this node's position lies in."""
        self._host = host
        self._grid = grid
        self._events = events or BeaconEvents()
        self._options = options or BeaconOptions()
        self.participates = participates or (lambda: not host.moving())
        """Whether this node routes and counts to its cell now."""
        self.where = place or self.at_position
        """The cell this node counts to now."""
        self._neighbours: dict[NodeId, Neighbour] = {}
        self._roll = Roll(self._options.max_digest_bytes)
        self._attended: CellId | None = None
        self._own: Sum | None = None
        self._notes: KnownNotes | None = None
        self._place: tuple[Point, CellId] | None = None
        self._by_cell: dict[CellId, dict[NodeId, Neighbour]] = {}
        self.cells: Set[CellId] = self._by_cell.keys()
        """The cells in which there are stationary neighbours, at any time."""
        self._numbers: dict[CellId, tuple[NodeId, ...]] = {}
        self._populated: frozenset[CellId] | None = None
        self._said: tuple[CellId, bool] | None = None
        self._beacon_timer: Timer | None = None
        self._expiry_timer: Timer | None = None

    @property
    def cell(self) -> CellId:
        """As `where` says."""
        return self.where()

    def at_position(self) -> CellId:
        """The cell that this node's position lies in now."""
        return self.cell_at(self._host.position())

    def cell_at(self, point: Point) -> CellId:
        """The cell that a position lies in; asked for again and again of who stands."""
        place = self._place
        if place is None or place[0] is not point:
            place = self._place = (point, self._grid.cell_of(point))
        return place[1]

    @property
    def stationary(self) -> bool:
        """As `participates` says."""
        return self.participates()

    def attend(self, cell: CellId, own: Sum | None = None, notes: KnownNotes | None = None) -> None:
        """From now on `heard` need not be told of a beacon unless its sender routes in `cell`, or did when it was last
        heard, or is heard for the first time, or its beacon carries notes. Even of those in `cell` it need not be told
        if their digest, too, is what it was and is `own`. Notes are of no interest if they are among `notes`."""
        if cell != self._attended or own is not self._own or notes is not self._notes:
            for attended in (self._attended, cell):
                self._stir(attended)
            self._attended, self._own, self._notes = cell, own, notes
            self._roll.compare_with(own.address if own else 0, notes.address if notes else 0)

    def wake(self, at_s: float) -> None:
        """Of all beacons from `at_s` on, `woken` is to be told, until another time is set."""
        self._roll.wake(at_s)

    def start(self) -> None:
        if self._events.heard is None:
            self._roll.wake(inf)
        first_s = self._host.random.uniform(0.0, self._options.period_s)
        self._beacon_timer = self._host.after(first_s, self._beat)

    def stop(self) -> None:
        for timer in (self._beacon_timer, self._expiry_timer):
            if timer:
                timer.cancel()
        self._beacon_timer = self._expiry_timer = None
        self._roll.wake(-inf)

    def announce(self) -> None:
        """Beacon now, besides the periodic ones: for a node that has just joined or left a cell."""
        digest = self._events.digest() if self._events.digest else b""
        if len(digest) > self._options.max_digest_bytes:
            raise ValueError(
                f"a digest of {len(digest)} bytes does not fit a beacon: at most {self._options.max_digest_bytes}"
            )
        self._said = (self.where(), self.participates())
        self._host.broadcast(Beacon(*self._said, digest))

    def correct(self, cell: CellId, stationary: bool) -> None:
        """Beacon now if the last beacon said anything else than what is true by now: for a node that was chosen by an
        outdated view."""
        said = self._said
        if said is not None and (said[0] != cell or said[1] != stationary):
            self.announce()

    def receive(self, sender: NodeId, message: Message) -> bool:
        if not isinstance(message, Beacon):
            return False
        self._take_in(sender, message, NEWS)
        return True

    def _take_in(self, sender: NodeId, message: Beacon, what: int, *_: object) -> None:
        """A beacon that is more than a sign of life, or may be (`roll.NEWS`)."""
        if what == WAKES:
            if self._events.woken:
                self._events.woken()
            return
        digest = parts(message.digest)[0] if what == NEWS_BUT_NOTES else message.digest
        if not 0 <= message.cell < self._grid.size or len(message.digest) > self._options.max_digest_bytes:
            self._host.record(Counted(TrafficKind.DROPPED, "Beacon", reason="nonsense"))
            return
        known = self._neighbours.get(sender)
        if known is None and len(self._neighbours) >= self._options.max_neighbours:
            self._host.record(Counted(TrafficKind.DROPPED, "Beacon", reason="too many neighbours"))
            return
        now_s, events = self._host.now(), self._events
        row = self._roll.note(sender, now_s)
        if self._expiry_timer is None:
            self._expiry_timer = self._host.after(self._options.expiry_s, self._expire)
        if known is not None and known.cell == message.cell and known.stationary == message.stationary:
            neighbour = known
        else:
            neighbour = self._news(known, Neighbour(sender, message.cell, message.stationary))
        if events.heard and self._is_of_interest(row, known, neighbour, digest):
            events.heard(neighbour, digest)
        self._calm(row, neighbour, digest)
        if events.woken and now_s >= self._roll.wakes_s:
            events.woken()

    def ears(self, kind: type[Message]) -> tuple[Ear, ...]:
        """For beacons, to be told together with others who hear them."""
        if kind is not Beacon:
            return ()
        from thyme.routing.cells.rollcall import call_together, find_silent

        self._roll.find_silent = find_silent
        return (Ear(call_together, self._roll.address, self._take_in),)

    def neighbour(self, node: NodeId) -> Neighbour | None:
        return self._neighbours.get(node)

    def heard_s(self, node: NodeId) -> float:
        """When a neighbour was last heard; -inf if it is none."""
        return self._roll.heard_s(node) if node in self._neighbours else -inf

    def neighbours(self) -> list[Neighbour]:
        """All neighbours, moving ones too."""
        return [self._neighbours[node] for node in sorted(self._neighbours)]

    def nodes_in(self, cell: CellId) -> tuple[NodeId, ...]:
        """The stationary neighbours in a cell."""
        numbers = self._numbers.get(cell)
        if numbers is None:
            known = self._by_cell.get(cell)
            if known is None:
                return ()
            numbers = self._numbers[cell] = tuple(sorted(known))
        return numbers

    def population(self, cell: CellId) -> int:
        """How many stationary neighbours are in a cell."""
        return len(self._by_cell.get(cell, ()))

    def populated(self) -> frozenset[CellId]:
        """The same as `cells` are now: one set, as long as they do not change."""
        if self._populated is None:
            self._populated = frozenset(self._by_cell)
        return self._populated

    def _beat(self) -> None:
        self.announce()
        spread = self._host.random.uniform(-self._options.jitter, self._options.jitter)
        self._beacon_timer = self._host.after(self._options.period_s * (1.0 + spread), self._beat)

    def _news(self, known: Neighbour | None, neighbour: Neighbour) -> Neighbour:
        """Most beacons say what the last one said; this one does not."""
        if known is not None:
            self._take(known)
        self._put(neighbour)
        if known is None and self._events.appeared:
            self._events.appeared(neighbour)
        self._tell_populations(known, neighbour)
        return neighbour

    def _is_of_interest(self, row: int, known: Neighbour | None, neighbour: Neighbour, digest: bytes) -> bool:
        """Whether it matters what a beacon says besides where its sender is (`attend`)."""
        if known is None or self._attended is None or len(digest) > SUM_BYTES or self._roll.is_restless(row):
            return True
        return self._is_attended(known) or self._is_attended(neighbour)

    def _is_attended(self, neighbour: Neighbour) -> bool:
        return neighbour.stationary and neighbour.cell == self._attended

    def _calm(self, row: int, neighbour: Neighbour, digest: bytes) -> None:
        """Whether the same again from this neighbour would have to be told of."""
        mine = self._is_attended(neighbour)
        said = saying(neighbour.cell, neighbour.stationary)
        if not self._events.heard or not (mine or self._attended is None):
            self._roll.calm(row, said)
        elif mine and self._own and (own_sum := parts(digest)[0]) == self._own.beacon():
            self._roll.calm(row, saying_all(said, own_sum))
        else:
            self._roll.stir(neighbour.node)

    def _stir(self, attended: CellId | None) -> None:
        """What those who route in a cell say matters otherwise than before; without a cell, what anybody says."""
        for node in self._neighbours if attended is None else self._by_cell.get(attended, ()):
            self._roll.stir(node)

    def _put(self, neighbour: Neighbour) -> None:
        self._neighbours[neighbour.node] = neighbour
        if neighbour.stationary:
            members = self._by_cell.get(neighbour.cell)
            if members is None:
                members = self._by_cell[neighbour.cell] = {}
                self._populated = None
            members[neighbour.node] = neighbour
            self._numbers.pop(neighbour.cell, None)

    def _take(self, known: Neighbour) -> None:
        """It is not there any more, or not as it was."""
        if known.stationary:
            members = self._by_cell[known.cell]
            del members[known.node]
            self._numbers.pop(known.cell, None)
            if not members:
                del self._by_cell[known.cell]
                self._populated = None

    def _expire(self) -> None:
        self._expiry_timer = None
        due_s = self._host.now() - self._options.expiry_s
        silent, oldest_s = self._roll.silent_since(due_s)
        for node in silent:
            neighbour = self._neighbours.pop(node)
            self._take(neighbour)
            self._roll.remove(node)
            if self._events.vanished:
                self._events.vanished(neighbour)
            self._tell_populations(neighbour, None)
        if self._neighbours:
            self._expiry_timer = self._host.after(max(0.001, oldest_s - due_s), self._expire)

    def _tell_populations(self, before: Neighbour | None, after: Neighbour | None) -> None:
        tell = self._events.population_changed
        if tell is None:
            return
        old = before.cell if before and before.stationary else None
        new = after.cell if after and after.stationary else None
        if old == new:
            return
        for cell in (old, new):
            if cell is not None:
                tell(cell, len(self._by_cell.get(cell, ())))
