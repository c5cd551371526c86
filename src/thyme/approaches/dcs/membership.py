"""Membership: how a node comes to belong to a cell, and how it leaves one (Thyme FGCS §6.6.3, §6.7, §7.3).

A node joins the cell it stands in: it listens for a beacon of that cell, asks the sender for the cell's state, and is a
member when it has all of it. If nobody is heard, it is alone and is a member at once. A member that leaves its cell is
in mobility mode: it works for no cell, but hears and sends, and says where it is whenever it crosses a border. When it
has stood still for a while it joins the cell it is in; what it held for the old one it discards.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from thyme.approaches.dcs.options import CellStorageOptions
from thyme.host import Host, Timer
from thyme.model.ids import CellId, NodeId
from thyme.model.records import Joined, Moved
from thyme.routing.cells.beacons import Beacons
from thyme.routing.cells.geographic import GeographicRouter
from thyme.routing.cells.grid import Grid
from thyme.wire.cells import CellState, JoinCell, JoinedState


class Mode(StrEnum):
    OUT = "out"
    JOINING = "joining"
    MEMBER = "member"
    MOVING = "moving"


@dataclass(frozen=True)
class MembershipEvents:
    """What the approach does at each turn."""

    hand_over: Callable[[], list[CellState]]
    """The state of this node's cell, in batches."""
    learn: Callable[[CellState], None]
    settled: Callable[[bool], None]
    """This node is a member now; True if it found nobody else in the cell."""
    leaving: Callable[[CellId], None]
    """This node is about to leave a cell."""
    discard: Callable[[], None]
    """What was held for the old cell is no longer wanted."""
    crossed: Callable[[CellId], None]
    """This node is in another cell than before."""


class Membership:
    """This node and its cell."""

    def __init__(self, host: Host, grid: Grid, options: CellStorageOptions, events: MembershipEvents) -> None:
        self._host = host
        self._grid = grid
        self._options = options
        self._events = events
        self._request = host.random.getrandbits(40)
        self._received: set[int] = set()
        self._tries = 0
        self._began_s = 0.0
        self._stood_since_s: float | None = None
        self._timer: Timer | None = None
        self.mode = Mode.OUT
        self.cell = CellId(-1)
        """The cell this node works for, or the last one it worked for."""
        self.place = CellId(-1)
        """The cell this node is in."""
        self.beacons: Beacons
        self.router: GeographicRouter

    @property
    def member(self) -> bool:
        return self.mode is Mode.MEMBER

    def start(self) -> None:
        self.place = self._grid.cell_of(self._host.position())

    def join(self) -> None:
        self._began_s = self._host.now()
        self._join_here()
        self._watch()

    def stop(self) -> None:
        if self._timer:
            self._timer.cancel()
        self.mode = Mode.OUT

    def on_request(self, joiner: NodeId, cell: CellId, request: JoinCell) -> None:
        """Hand the cell's state to a node that joins it."""
        if not self.member or cell != self.cell:
            return
        batches = self._events.hand_over() or [CellState()]
        for i, state in enumerate(batches):
            self.router.send_to_node(joiner, cell, JoinedState(request.request, i, len(batches), state))

    def on_state(self, answer: JoinedState) -> None:
        if self.mode is not Mode.JOINING or answer.request != self._request:
            return
        self._received.add(answer.index)
        self._events.learn(answer.state)
        if len(self._received) >= answer.batches:
            self._become_member(alone=False)

    def _join_here(self) -> None:
        self.mode = Mode.JOINING
        self.cell = self.place
        self._tries = 0
        self._received.clear()
        self._request += 1
        self._timer = self._host.after(self._options.join_wait_s, self._ask)

    def _ask(self) -> None:
        """Ask a member for the state; after the last try, be alone (or make do with what came)."""
        if self.mode is not Mode.JOINING:
            return
        members = self.beacons.in_cell(self.cell)
        if self._tries >= self._options.join_tries or (not members and self._tries > 0):
            self._become_member(alone=not members)
            return
        self._tries += 1
        self._timer = self._host.after(self._options.join_wait_s, self._ask)
        if members:
            entry = self._host.random.choice(members)
            self._received.clear()
            self._request += 1
            self.router.send_to_node(entry.node, self.cell, JoinCell(self._request))

    def _become_member(self, alone: bool) -> None:
        if self._timer:
            self._timer.cancel()
        self.mode = Mode.MEMBER
        self.beacons.announce()
        self._host.record(Joined(self._host.now() - self._began_s))
        self._events.settled(alone)

    def _watch(self) -> None:
        """Look where this node is, and whether it moves."""
        if self.mode is Mode.OUT:
            return
        self._host.after(self._options.watch_s, self._watch)
        place = self._grid.cell_of(self._host.position())
        moving = self._host.moving()
        if place != self.place:
            self._host.record(Moved("cell", self.place, place))
            self._cross(place)
        if moving:
            self._stood_since_s = None
            return
        if self._stood_since_s is None:
            self._stood_since_s = self._host.now()
        stood_s = self._host.now() - self._stood_since_s
        if self.mode is Mode.MOVING and stood_s >= self._options.settle_s:
            self._settle()

    def _cross(self, place: CellId) -> None:
        old, self.place = self.place, place
        if self.mode is Mode.MEMBER:
            self._events.leaving(old)
        if self.mode in (Mode.MEMBER, Mode.JOINING):
            if self._timer:
                self._timer.cancel()
            self.mode = Mode.MOVING
            self._began_s = self._host.now()
            self.beacons.announce()
        self._events.crossed(place)

    def _settle(self) -> None:
        if self.place != self.cell:
            self._events.discard()
        self._join_here()
