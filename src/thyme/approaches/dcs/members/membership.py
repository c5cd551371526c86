"""Membership: how a node comes to belong to a cell, and how it leaves one (Thyme FGCS §6.6.3, §6.7, §7.3).

A node joins the cell it stands in: it listens for a beacon of that cell, asks the sender for the cell's state
(`joining`), and is a member when it has all of it. If nobody is heard, it is alone and is a member at once. A member
that leaves its cell is in mobility mode: it works for no cell, but hears and sends, and says where it is whenever it
crosses a border. When it has stood still for a while it joins the cell it is in; what it held for the old one it
discards.

The papers let only those serve who stand, and where everybody walks nobody would. With `walkers`, who walks serves too:
a cell in which too few are heard gets the next walker who will be of use to it for a while, or whoever is there if it
has nobody. A walking member that has left its cell stays a member within reach of it (`stretch`) until another one
knows what it knows; beyond that it gives everything to the cell's proxy, and carries what it could not give.
"""

from __future__ import annotations

from math import inf

from thyme.approaches.dcs.cell import Cell, Mode
from thyme.approaches.dcs.members.joining import Joining
from thyme.approaches.dcs.members.learning import Learning
from thyme.approaches.dcs.members.repair import Repair
from thyme.approaches.dcs.members.walking import Walking
from thyme.model.ids import CellId
from thyme.model.records import Joined, Moved


class Membership:
    """How this node stands to its cell."""

    def __init__(self, cell: Cell, learning: Learning, repair: Repair) -> None:
        self._cell = cell
        self._host = cell.host
        self._options = cell.options
        self._joining = Joining(cell, learning, self._become_member)
        self._repair = repair
        self._walking = Walking(cell.grid, cell.options.stretch * cell.grid.cell_m)
        self._carries = False
        """Whether this node may be the only one that knows what it held for the cell it left."""
        self._stopped = False
        self._departs_s = -inf
        """When this member last said that it is about to leave."""
        self._began_s = 0.0
        self._stood_since_s: float | None = None

    def start(self) -> None:
        self._joining.start()
        self._watch()

    def join(self) -> None:
        self._began_s = self._host.now()
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
        """Look where this node is, whether it moves, and what has ended meanwhile."""
        if self._stopped:
            return
        host, cell = self._host, self._cell
        host.after(self._options.watch_s, self._watch)
        now_s, point = host.now(), host.position()
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
        """Whether this member, who is out of its cell, is the only one who knows all that the cell knows. It first says
        that it is about to leave, and then relies only on whoever beacons after that: of two who leave at once neither
        is to rely on the other, though they may not hear each other say so."""
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
        """Those who stand serve; walkers serve where too few do."""
        if self._stood_since_s is not None and now_s - self._stood_since_s >= self._options.settle_s:
            return True
        if not self._options.walkers:
            return False
        place = self._cell.place
        members = len(self._cell.members_of(place))
        stays = self._walking.stay_s(place) >= self._options.walk_stay_s
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
        """What was held for the cell that this node left becomes old: what is deleted there would stay here."""
        if any(True for _ in self._cell.holdings.state()):
            self._cell.discard()

    def _settle(self) -> None:
        if self._cell.place != self._cell.id and not self._carries:
            self._cell.discard()
        self._join_here()
