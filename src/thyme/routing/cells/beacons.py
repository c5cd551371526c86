"""Neighbour discovery by periodic beacons (Thyme FGCS §6.6.1, §6.7).

Every node broadcasts its cell and whether it is stationary, about once a second with jitter, and keeps a table of the
neighbours it received a beacon from recently. Live nodes beacon less often where they have many neighbours
(`heard_per_s`). Moving nodes also send and receive beacons, so that they can be reached
and can send over their neighbours (§6.6.3), but they do not count towards a cell's population.

A beacon carries a few bytes for the approach: `BeaconEvents.digest` returns them before each beacon, and
`BeaconEvents.heard` is called for every received beacon, except those that the approach does not need
(`Beacons.attend`). Lists of neighbours are ordered by node number, so that nothing depends on the
order of arrival.
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
from thyme.model.settings.bounds import NotNegative
from thyme.routing.broadcasts import BroadcastHandler, SharedNumber
from thyme.routing.cells.grid import Grid
from thyme.routing.cells.neighbour_table import KnownNotes, NeighbourTable, content, content_with_sum
from thyme.routing.cells.planar import MAX_FAR, unconnected
from thyme.routing.layouts import NEW, NEW_BUT_NOTES
from thyme.wire.message import Message
from thyme.wire.routing import SUM_BYTES, Beacon, digest_parts

MAX_DIGEST_BYTES = 256
"""Of what an approach adds to a beacon, so that beacons stay short frames."""
JITTER_SHARE = 0.5
"""Each gap is the period ± at most this part of it, so that neighbours do not beacon in step."""
GAP_DECAY = 0.7
"""An extra beacon makes the known gap of a neighbour shorter by at most this factor."""


class BeaconOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    period_s: float = 1.0
    """Between two beacons of a node, on average."""
    expiry_s: float = 3.5
    """A neighbour not heard for so long is gone: at least two beacons were lost."""
    max_neighbours: int = 1000
    """Neighbours that a node remembers."""
    heard_per_s: NotNegative = 0.0
    """With more neighbours than would send so many beacons in a second, all beacon less often; 0: never. Live nodes set
    this."""


class Neighbour(msgspec.Struct, frozen=True):
    """A node in range, as its last beacon described it."""

    node: NodeId
    cell: CellId
    stationary: bool


@dataclass(frozen=True)
class BeaconEvents:
    """Callbacks of the approach; all are optional.

    `population_changed(cell, count)`: a cell now has `count` stationary neighbours, without this node; called after
    `appeared` and `vanished`.
    """

    appeared: Callable[[Neighbour], None] | None = None
    vanished: Callable[[Neighbour], None] | None = None
    stopped: Callable[[Neighbour], None] | None = None
    """A stationary neighbour no longer is, in the same cell: it was started again, or is switched off."""
    population_changed: Callable[[CellId, int], None] | None = None
    digest: Callable[[], bytes] | None = None
    heard: Callable[[Neighbour, bytes], None] | None = None


class OwnDigest(Protocol):
    """A digest of what this node holds, in `SUM_BYTES`."""

    @property
    def sum(self) -> SharedNumber: ...
    def beacon(self) -> bytes: ...


class Beacons:
    """This node's beacons and the table of its neighbours."""

    __slots__ = (
        "_attended",
        "_beacon_timer",
        "_by_cell",
        "_events",
        "_expiry_timer",
        "_far",
        "_gaps_s",
        "_grid",
        "_host",
        "_neighbours",
        "_notes",
        "_numbers",
        "_options",
        "_own",
        "_own_far",
        "_place",
        "_populated",
        "_said",
        "_table",
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
        """`participates` returns whether this node routes and counts towards its cell (default: whenever it is not
        moving); an approach can keep a node out until it has joined its cell. `place` returns that cell (default: the
        cell of this node's position)."""
        self._host = host
        self._grid = grid
        self._events = events or BeaconEvents()
        self._options = options or BeaconOptions()
        self.participates = participates or (lambda: not host.moving())
        """Whether this node currently routes and counts towards its cell."""
        self.where = place or self.at_position
        """The cell that this node currently counts towards."""
        self._neighbours: dict[NodeId, Neighbour] = {}
        self._table = NeighbourTable(MAX_DIGEST_BYTES)
        self._attended: CellId | None = None
        self._own: OwnDigest | None = None
        self._notes: KnownNotes | None = None
        self._place: tuple[Point, CellId] | None = None
        self._by_cell: dict[CellId, dict[NodeId, Neighbour]] = {}
        self.cells: Set[CellId] = self._by_cell.keys()
        """The cells that currently have stationary neighbours."""
        self._numbers: dict[CellId, tuple[NodeId, ...]] = {}
        self._populated: frozenset[CellId] | None = None
        self._far: dict[NodeId, tuple[int, ...]] = {}
        """The far cells that each neighbour advertises (`Beacon.far`), if any."""
        self._own_far: tuple[CellId, frozenset[CellId], tuple[int, ...]] | None = None
        """This node's own list of far cells, and the cells it was computed for."""
        self._gaps_s: dict[NodeId, float] = {}
        """Time between the last beacons of each neighbour, where `heard_per_s` is set."""
        self._said: tuple[CellId, bool] | None = None
        self._beacon_timer: Timer | None = None
        self._expiry_timer: Timer | None = None

    @property
    def cell(self) -> CellId:
        """The cell according to `place`."""
        return self.where()

    def at_position(self) -> CellId:
        """The cell of this node's current position."""
        return self.cell_at(self._host.position())

    def cell_at(self, point: Point) -> CellId:
        """The cell of a position; cached, because a stationary node asks often."""
        place = self._place
        if place is None or place[0] is not point:
            place = self._place = (point, self._grid.cell_of(point))
        return place[1]

    @property
    def period_s(self) -> float:
        """Mean time between this node's beacons."""
        most, period_s = self._options.heard_per_s, self._options.period_s
        return max(period_s, len(self._neighbours) / most) if most else period_s

    @property
    def rare(self) -> bool:
        """Whether beacons are so rare in this crowd that a node in range may not have been heard yet."""
        return self.period_s > self._options.period_s

    @property
    def stationary(self) -> bool:
        """Whether this node participates, according to `participates`."""
        return self.participates()

    def attend(self, cell: CellId, own: OwnDigest | None = None, notes: KnownNotes | None = None) -> None:
        """From now on, `heard` is only needed for a beacon whose sender routes in `cell` or did at its previous beacon,
        is new, or carries notes other than `notes`. Beacons from `cell` whose digest is unchanged and equal to `own`
        are not needed either."""
        if cell != self._attended or own is not self._own or notes is not self._notes:
            for attended in (self._attended, cell):
                self._report_next(attended)
            self._attended, self._own, self._notes = cell, own, notes
            self._table.compare_with(own.sum if own else None, notes)

    def start(self) -> None:
        first_s = self._host.random.uniform(0.0, self._options.period_s)
        self._beacon_timer = self._host.after(first_s, self._beat)

    def stop(self) -> None:
        for timer in (self._beacon_timer, self._expiry_timer):
            if timer:
                timer.cancel()
        self._beacon_timer = self._expiry_timer = None

    def announce(self) -> None:
        """Send an extra beacon now: for a node that just joined or left a cell."""
        digest = self._events.digest() if self._events.digest else b""
        if len(digest) > MAX_DIGEST_BYTES:
            raise ValueError(f"a digest of {len(digest)} bytes does not fit a beacon: at most {MAX_DIGEST_BYTES}")
        self._said = (self.where(), self.participates())
        cell, stationary = self._said
        self._host.broadcast(Beacon(cell, stationary, digest, self.far(cell) if stationary else ()))

    def far(self, cell: CellId) -> tuple[int, ...]:
        """The cells that this node receives from and that no chain of touching cells connects to `cell`, as in
        `Beacon.far`."""
        populated, known = self.populated(), self._own_far
        if known is None or known[0] != cell or known[1] is not populated:
            listed = unconnected(self._grid, cell, populated)
            known = self._own_far = (cell, populated, tuple(2 * far + self._is_heard_in(far, cell) for far in listed))
        return known[2]

    def _is_heard_in(self, far: CellId, cell: CellId) -> bool:
        """Whether a node of a far cell advertises this cell."""
        return any(self.names(node, cell) for node in self.nodes_in(far))

    def correct(self, cell: CellId, stationary: bool) -> None:
        """Send a beacon now if the last one is outdated: for a node that was chosen by an outdated view."""
        said = self._said
        if said is not None and (said[0] != cell or said[1] != stationary):
            self.announce()

    def receive(self, sender: NodeId, message: Message) -> bool:
        if not isinstance(message, Beacon):
            return False
        self._take_in(sender, message, NEW)
        return True

    def _take_in(self, sender: NodeId, message: Beacon, what: int, *_: object) -> None:
        """Handle a beacon that changes something, or may (`layouts.NEW`)."""
        digest = digest_parts(message.digest)[0] if what == NEW_BUT_NOTES else message.digest
        if not 0 <= message.cell < self._grid.size or _is_too_long(message, self._options):
            self._host.record(Counted(TrafficKind.DROPPED, "Beacon", reason="nonsense"))
            return
        known = self._neighbours.get(sender)
        if known is None and len(self._neighbours) >= self._options.max_neighbours:
            self._host.record(Counted(TrafficKind.DROPPED, "Beacon", reason="too many neighbours"))
            return
        now_s, events = self._host.now(), self._events
        if self._options.heard_per_s and known is not None:
            gap_s = now_s - self._table.heard_s(sender)
            self._gaps_s[sender] = max(gap_s, GAP_DECAY * self._gaps_s.get(sender, 0.0))
        row = self._table.note(sender, now_s)
        if self._expiry_timer is None:
            self._expiry_timer = self._host.after(self._options.expiry_s, self._expire)
        if known is not None and known.cell == message.cell and known.stationary == message.stationary:
            neighbour = known
        else:
            neighbour = self._news(known, Neighbour(sender, message.cell, message.stationary))
        if message.far != self._far.get(sender, ()):
            self._note_far(sender, message.far if message.stationary else ())
        if events.heard and self._is_of_interest(row, known, neighbour, digest):
            events.heard(neighbour, digest)
        if message.far:
            self._table.handle_next(sender)
        else:
            self._set_quiet(row, neighbour, digest)

    def broadcast_handlers(self, kind: type[Message]) -> tuple[BroadcastHandler, ...]:
        return (BroadcastHandler(self._table, self._take_in),) if kind is Beacon else ()

    def _note_far(self, node: NodeId, far: tuple[int, ...]) -> None:
        self._far.pop(node, None)
        if far:
            self._far[node] = far
        self._populated = None

    def names(self, node: NodeId, cell: CellId) -> bool:
        """Whether a neighbour advertises a far cell."""
        far = self._far.get(node)
        return far is not None and (2 * cell in far or 2 * cell + 1 in far)

    def reaches(self, node: NodeId, cell: CellId) -> bool:
        """Whether a neighbour and a far cell receive each other."""
        far = self._far.get(node)
        return far is not None and 2 * cell + 1 in far

    def far_links(self) -> list[tuple[Neighbour, list[CellId]]]:
        """The neighbours that advertise far cells, with the far cells that each of them reaches."""
        far = sorted(self._far.items())
        return [(self._neighbours[node], [CellId(cell // 2) for cell in cells if cell % 2]) for node, cells in far]

    def neighbour(self, node: NodeId) -> Neighbour | None:
        return self._neighbours.get(node)

    def heard_s(self, node: NodeId) -> float:
        """When a neighbour's last beacon arrived; -inf for other nodes."""
        return self._table.heard_s(node) if node in self._neighbours else -inf

    def neighbours(self) -> list[Neighbour]:
        """All neighbours, including moving ones."""
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
        """The number of stationary neighbours in a cell."""
        return len(self._by_cell.get(cell, ()))

    def populated(self) -> frozenset[CellId]:
        """The current `cells` as a set, cached until they change."""
        if self._populated is None:
            self._populated = frozenset(self._by_cell)
        return self._populated

    def _beat(self) -> None:
        self.announce()
        spread = self._host.random.uniform(-JITTER_SHARE, JITTER_SHARE)
        self._beacon_timer = self._host.after(self.period_s * (1.0 + spread), self._beat)

    def _news(self, known: Neighbour | None, neighbour: Neighbour) -> Neighbour:
        """Handle a beacon that differs from its sender's previous one; most do not."""
        if known is not None:
            self._take(known)
        self._put(neighbour)
        if known is None and self._events.appeared:
            self._events.appeared(neighbour)
        stays = known is not None and known.cell == neighbour.cell
        if stays and not neighbour.stationary and self._events.stopped:
            self._events.stopped(neighbour)
        self._tell_populations(known, neighbour)
        return neighbour

    def _is_of_interest(self, row: int, known: Neighbour | None, neighbour: Neighbour, digest: bytes) -> bool:
        """Whether a beacon's content matters apart from its sender's location (`attend`)."""
        if known is None or self._attended is None or len(digest) > SUM_BYTES or self._table.is_handled(row):
            return True
        return self._is_attended(known) or self._is_attended(neighbour)

    def _is_attended(self, neighbour: Neighbour) -> bool:
        return neighbour.stationary and neighbour.cell == self._attended

    def _set_quiet(self, row: int, neighbour: Neighbour, digest: bytes) -> None:
        """Record whether an identical next beacon from this neighbour must be reported."""
        mine = self._is_attended(neighbour)
        said = content(neighbour.cell, neighbour.stationary)
        if not self._events.heard or not (mine or self._attended is None):
            self._table.set_quiet(row, said)
        elif mine and self._own and (own_sum := digest_parts(digest)[0]) == self._own.beacon():
            self._table.set_quiet(row, content_with_sum(said, own_sum))
        else:
            self._table.handle_next(neighbour.node)

    def _report_next(self, attended: CellId | None) -> None:
        """The rules for which beacons matter changed: for nodes that route in a cell, or for all without a cell."""
        for node in self._neighbours if attended is None else self._by_cell.get(attended, ()):
            self._table.handle_next(node)

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
        """The neighbour is gone, or changed."""
        if known.node in self._far:
            self._note_far(known.node, ())
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
        silent, oldest_s = self._table.silent_since(due_s)
        for node in silent:
            if self._is_awaited(node):
                oldest_s = min(oldest_s, due_s + self._options.period_s)
                continue
            neighbour = self._neighbours.pop(node)
            self._take(neighbour)
            self._table.remove(node)
            self._gaps_s.pop(node, None)
            if self._events.vanished:
                self._events.vanished(neighbour)
            self._tell_populations(neighbour, None)
        if self._neighbours:
            self._expiry_timer = self._host.after(max(0.001, oldest_s - due_s), self._expire)

    def _is_awaited(self, node: NodeId) -> bool:
        """Whether a neighbour may beacon so rarely that nothing follows from its silence yet. One that has more
        neighbours than this node beacons less often, but as often as before."""
        options = self._options
        if 2 * len(self._neighbours) < options.heard_per_s * options.period_s or not options.heard_per_s:
            return False
        gap_s = max(self.period_s, self._gaps_s.get(node, 0.0))
        return self._host.now() - self._table.heard_s(node) < options.expiry_s * gap_s / options.period_s

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


def _is_too_long(beacon: Beacon, options: BeaconOptions) -> bool:
    return len(beacon.digest) > MAX_DIGEST_BYTES or len(beacon.far) > MAX_FAR
