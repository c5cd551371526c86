"""Membership: how a node joins a cell and leaves it (Thyme FGCS §6.6.3, §6.7, §7.3).

A node joins the cell of its position: it waits for a beacon of that cell, asks its sender for the cell's state
(`joining`), and becomes a member when it has all of it. Without a beacon it becomes a member at once. A member that
leaves its cell is in mobility mode: it serves no cell, but receives and sends, and reports its location when it crosses
a border. When it has been stationary for a while, it joins its new cell and discards the state of the old one.

In the papers only stationary nodes serve; where everyone walks, no node would. With `walkers`, a moving node serves a
cell with fewer members in range, if it will stay in range long enough, or if there is no other member. A moving member
outside its cell remains a member within a margin (`STRETCH`) until another member holds its state; beyond the margin it
hands everything to the cell's proxy, and carries what it could not hand over. Its speed and direction, from its last
two positions (`Walking`), predict how long it stays.
"""

from __future__ import annotations

from math import inf

from thyme.approaches.dcs.cell import Cell, Mode
from thyme.approaches.dcs.joining import Joining
from thyme.approaches.dcs.learning import Learning
from thyme.approaches.dcs.repair import Repair
from thyme.model.geometry import Point
from thyme.model.ids import CellId
from thyme.model.records import Joined, Moved
from thyme.routing.cells.grid import Grid

STRETCH = 0.75
"""How far, in sides of a cell, a moving member may be outside its cell while no other member holds its state."""
WATCH_S = 0.5
"""How often a node checks its own position."""
WALK_STAY_S = 3.0
"""How long a moving node must be expected to stay, to serve a cell that already has a member."""
AWAY_S = 3.0
"""A node that did not check its position for so long was paused."""


class Membership:
    """This node's membership of its cell."""

    def __init__(self, cell: Cell, learning: Learning, repair: Repair) -> None:
        self._cell = cell
        self._host = cell.host
        self._options = cell.options
        self._joining = Joining(cell, learning, self._become_member)
        self._repair = repair
        self._walking = Walking(cell.grid, STRETCH * cell.grid.cell_m)
        self._carries = False
        """Whether this node may be the only holder of the state of the cell it left."""
        self._stopped = False
        self._departs_s = -inf
        """When this member last announced that it is about to leave."""
        self._watched_s = 0.0
        self._began_s = 0.0
        self._stood_since_s: float | None = None

    def start(self) -> None:
        self._joining.start()
        self._watched_s = self._host.now()
        self._watch()

    def join(self) -> None:
        """After a restart, until this node is a member again, it may be the only holder of what it held before."""
        self._began_s = self._host.now()
        self._carries = self._options.walkers > 0 and any(True for _ in self._cell.holdings.state())
        self._join_here()

    def stop(self) -> None:
        self._stopped = True
        self._joining.stop()
        was_member = self._cell.member
        self._cell.mode = Mode.OUT
        if was_member:
            self._cell.leaving(self._repair.agrees)

    def _join_here(self) -> None:
        self._cell.mode = Mode.JOINING
        self._cell.id = self._cell.place
        self._cell.holdings.belong_to(self._cell.id)
        self._cell.attend()
        self._joining.begin()

    def _become_member(self, alone: bool) -> None:
        self._cell.mode = Mode.MEMBER
        self._cell.stay_s = self._walking.stay_s(self._cell.id) if self._host.moving() else inf
        self._cell.beacons.announce()
        self._host.record(Joined(self._host.now() - self._began_s))
        self._cell.settled(alone)

    def _watch(self) -> None:
        """Check this node's position, whether it moves, and which deadlines have passed."""
        if self._stopped:
            return
        host, cell = self._host, self._cell
        host.after(WATCH_S, self._watch)
        now_s, point = host.now(), host.position()
        if now_s - self._watched_s > AWAY_S:
            cell.returned()
        self._watched_s = now_s
        cell.holdings.parts.expire(now_s)
        self._walking.look(point, now_s)
        place = cell.beacons.cell_at(point)
        if place == cell.place:
            cell.departing = False
        elif not self._is_still_needed():
            self._cross(place)
        if host.moving():
            self._stood_since_s = None
        elif self._stood_since_s is None:
            self._stood_since_s = now_s
        if cell.mode is Mode.MOVING:
            if self._is_to_serve(now_s):
                self._settle()
            elif 0.0 < self._options.left_s <= now_s - self._began_s and not self._carries:
                self._forget_cell()

    def _is_still_needed(self) -> bool:
        """Whether this member, outside its cell, is the only holder of the cell's whole state. It first announces that
        it is about to leave, and then relies only on nodes that beacon afterwards: of two nodes that leave at once,
        neither may rely on the other, even if they miss each other's announcement."""
        cell = self._cell
        if not (self._options.walkers and cell.member and self._walking.within_reach(cell.id)):
            return False
        if not cell.departing:
            cell.departing = True
            self._departs_s = self._host.now()
            cell.beacons.announce()
            return True
        return not self._repair.agrees_since(self._departs_s)

    def _is_to_serve(self, now_s: float) -> bool:
        """Stationary nodes serve; moving nodes serve where too few do."""
        if self._stood_since_s is not None and now_s - self._stood_since_s >= self._options.settle_s:
            return True
        if not self._options.walkers:
            return False
        place = self._cell.place
        members = len(self._cell.members_of(place))
        stays = self._walking.stay_s(place) >= WALK_STAY_S
        return members == 0 or (members < self._options.walkers and stays)

    def _cross(self, place: CellId) -> None:
        self._host.record(Moved("cell", self._cell.place, place))
        if self._cell.member:
            agrees = self._repair.agrees_since(self._departs_s if self._cell.departing else -inf)
            self._carries = self._options.walkers > 0 and not agrees
            self._cell.leaving(agrees)
        self._cell.departing = False
        self._cell.place = place
        if self._cell.mode in (Mode.MEMBER, Mode.JOINING):
            self._joining.stop()
            self._cell.mode = Mode.MOVING
            self._began_s = self._host.now()
            self._cell.beacons.announce()
        self._cell.crossed()

    def _forget_cell(self) -> None:
        """The state of the cell that this node left expires: deletions there do not reach this node."""
        if any(True for _ in self._cell.holdings.state()):
            self._cell.discard()

    def _settle(self) -> None:
        if self._cell.place != self._cell.id and not self._carries:
            self._cell.discard()
        self._join_here()


class Walking:
    """This node's movement, from periodic checks of its position."""

    def __init__(self, grid: Grid, stretch_m: float) -> None:
        self._grid = grid
        self._stretch_m = stretch_m
        self._at: Point | None = None
        self._seen_s = 0.0
        self._velocity_mps = (0.0, 0.0)

    def look(self, at: Point, now_s: float) -> None:
        before = self._at
        if before is not None and now_s > self._seen_s:
            gap_s = now_s - self._seen_s
            self._velocity_mps = ((at.x_m - before.x_m) / gap_s, (at.y_m - before.y_m) / gap_s)
        self._at, self._seen_s = at, now_s

    def within_reach(self, cell: CellId) -> bool:
        """Whether this node is in a cell, or near enough to serve it."""
        at = self._at
        if at is None:
            return False
        left, right, bottom, top = self._borders(cell)
        return left <= at.x_m <= right and bottom <= at.y_m <= top

    def stay_s(self, cell: CellId) -> float:
        """How long this node will be in range of a cell at its current velocity; 0 if it is not in range."""
        at = self._at
        if at is None or not self.within_reach(cell):
            return 0.0
        left, right, bottom, top = self._borders(cell)
        vx_mps, vy_mps = self._velocity_mps
        return min(_exit_s(at.x_m, vx_mps, left, right), _exit_s(at.y_m, vy_mps, bottom, top))

    def _borders(self, cell: CellId) -> tuple[float, float, float, float]:
        """The bounds of the stretched cell: left, right, bottom and top."""
        column, row = self._grid.place(cell)
        side_m, stretch_m = self._grid.cell_m, self._stretch_m
        return (
            column * side_m - stretch_m,
            (column + 1) * side_m + stretch_m,
            row * side_m - stretch_m,
            (row + 1) * side_m + stretch_m,
        )


def _exit_s(x: float, speed: float, low: float, high: float) -> float:
    if speed == 0.0:
        return inf
    return ((high if speed > 0.0 else low) - x) / speed
