"""A node's view of its cell (Thyme FGCS §4.3, §6.6, §7.3): what all parts of Thyme-DCS share.

Where the node is, which cell it works for, which other nodes do, what they hold, and how to send to a cell, a member,
or the sender of a request. A part registers its handlers when it is made: for message types (`hear`; `serve` for those
that only a member handles) and for events such as `settled`. Only `Membership` changes `mode`, `id`, `place`,
`departing` and `stay_s`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum
from math import inf
from typing import Any, Generic, ParamSpec, TypeVar

from thyme.approaches.contents import Contents
from thyme.approaches.dcs.holdings import Holdings
from thyme.approaches.dcs.lost_cells import LostCells
from thyme.approaches.dcs.options import CellStorageOptions
from thyme.approaches.expiries import Watch, expires_never
from thyme.approaches.requests import Requests
from thyme.host import Host
from thyme.model.bounded import Bounded
from thyme.model.errors import InputError
from thyme.model.ids import CellId, NodeId, ObjectKey, SubscriptionKey
from thyme.model.objects import Metadata
from thyme.routing.broadcasts import BroadcastHandler
from thyme.routing.cells.addresses import Arrival
from thyme.routing.cells.beacons import BeaconEvents, Beacons, Neighbour
from thyme.routing.cells.geographic import GeographicRouter
from thyme.routing.cells.grid import Grid
from thyme.routing.tables import CellNumber
from thyme.wire.cells import CellState
from thyme.wire.geographic import CellBroadcast, CellPacket
from thyme.wire.message import Message
from thyme.wire.routing import Beacon, digest_parts

Args = ParamSpec("Args")


class Signal(Generic[Args]):
    """Calls its handlers in the order of their registration; the order decides what is sent first."""

    __slots__ = ("_actions",)

    def __init__(self) -> None:
        self._actions: list[Callable[Args, None]] = []

    def then(self, action: Callable[Args, None]) -> None:
        self._actions.append(action)

    def __call__(self, *args: Args.args, **kwargs: Args.kwargs) -> None:
        for action in self._actions:
            action(*args, **kwargs)


NOWHERE = CellId(-1)
SILENT_S = 5.0
"""How long a silent member is still sent updates: a few beacons may have been lost, and it may be the member that
remains."""
MAX_SILENT = 16
"""Most silent members remembered; the oldest is dropped."""
MAX_NAMED = 4_096
"""Subscriptions and copies for which the last announced location is remembered; others are announced again."""
Kind = TypeVar("Kind", bound=Message)


class Mode(StrEnum):
    """A node's role in its cell."""

    OUT = "out"
    JOINING = "joining"
    MEMBER = "member"
    MOVING = "moving"


_MEMBER = Mode.MEMBER
"""Cached here because it is looked up often."""


class Cell:
    """The cell as one of its nodes knows it."""

    __slots__ = (
        "_actions",
        "_lost_cells",
        "_place",
        "_place_number",
        "_silent",
        "beacons",
        "contents",
        "crossed",
        "departing",
        "discarded",
        "forgotten",
        "frames",
        "grid",
        "heard",
        "holdings",
        "host",
        "id",
        "leaving",
        "lost",
        "mode",
        "named",
        "options",
        "populated",
        "regrouped",
        "releasing",
        "requests",
        "returned",
        "router",
        "settled",
        "silent",
        "stay_s",
        "taken",
        "undelivered",
        "watch",
    )

    def __init__(self, host: Host, options: CellStorageOptions, watch: Watch = expires_never) -> None:
        self.watch = watch
        area = options.grid
        if area.width_m <= 0.0 or area.height_m <= 0.0:
            raise InputError("Thyme-DCS needs the area of its grid: set grid.width_m and grid.height_m")
        self.host = host
        self.options = options
        self.grid = Grid(area.width_m, area.height_m, area.cell_m, area.namespace)
        self.contents = Contents(host)
        self.requests = Requests(host, options.retry)
        self.mode = Mode.OUT
        self.id = NOWHERE
        """The cell this node works for, or the last one it worked for."""
        self._place = NOWHERE
        self._place_number = CellNumber(NOWHERE)
        """The same, for the reception of broadcasts."""
        self.departing = False
        """Whether this member is leaving its cell, and stays only until others have its data."""
        self.stay_s = inf
        """How long this member expected to stay when it joined, from its movement."""
        self.holdings = self._nothing_held()
        self._make_events()
        self.lost.then(lambda key: self.holdings.drop_object(key))
        self.contents.lost = self.lost
        self._actions: dict[type[Message], tuple[bool, Callable[[Arrival, Any], None]]] = {}
        self.frames: dict[type[Message], Callable[[NodeId, Any], object]] = {}
        """Handlers of neighbours' frames, by kind."""
        self._silent: Bounded[NodeId, tuple[CellId, float]] = Bounded(MAX_SILENT, renewing=True)
        """Former members of this cell, and when each of them fell silent."""
        self.named: Bounded[SubscriptionKey | ObjectKey, CellId] = Bounded(MAX_NAMED, renewing=True)
        """The location of this node last announced to the cells that know a subscription or a copy of it."""
        self._lost_cells = LostCells(host, self.forgotten)
        events = BeaconEvents(
            appeared=self._on_appeared,
            vanished=self._on_vanished,
            stopped=self._on_stopped,
            population_changed=self._on_population,
            digest=self._say,
            heard=self._on_heard,
        )
        self.beacons = Beacons(host, self.grid, events, options.beacons, self._takes_part, self._counts_to)
        self.router = GeographicRouter(host, self.grid, self.beacons, self.arrive, self.undelivered, options.routing)
        self.frames[Beacon] = self.beacons.receive
        self.frames[CellPacket] = self.router.take
        self.frames[CellBroadcast] = self.router.hear

    def _make_events(self) -> None:
        self.settled: Signal[[bool]] = Signal()
        """This node became a member; True if it found no other members."""
        self.leaving: Signal[[bool]] = Signal()
        """This node is about to leave its cell; True if another member is known to hold all its data."""
        self.crossed: Signal[[]] = Signal()
        """This node changed cells."""
        self.discarded: Signal[[list[Metadata]]] = Signal()
        """These objects were kept for another cell, which now keeps them itself."""
        self.releasing: Signal[[]] = Signal()
        """What was held for some home cells is about to be forgotten: another cell keeps it now."""
        self.taken: Signal[[CellState]] = Signal()
        """This node confirmed that it keeps what another node gave it; that node may delete its copy."""
        self.heard: Signal[[Neighbour, bytes]] = Signal()
        """A neighbour's beacon, and the digest that it carried."""
        self.returned: Signal[[]] = Signal()
        """This node continues after a pause."""
        self.regrouped: Signal[[]] = Signal()
        """Another node joined or left this member's cell."""
        self.forgotten: Signal[[CellId]] = Signal()
        """A cell lost all its members, and possibly its data."""
        self.populated: Signal[[CellId]] = Signal()
        """A nearby cell has exactly one member in range: its first, or the last one left."""
        self.silent: Signal[[NodeId]] = Signal()
        """A member of some cell fell silent without announcing that it leaves."""
        self.lost: Signal[[ObjectKey]] = Signal()
        """A content that was kept here is damaged."""
        self.undelivered: Signal[[NodeId, CellId, int]] = Signal()
        """A NACK (§6.6.4): the node, the cell where it was not found, and the number that the send returned."""

    @property
    def member(self) -> bool:
        """Whether this node is a member of the cell."""
        return self.mode is _MEMBER

    @property
    def others(self) -> list[NodeId]:
        """The other members in range, ordered by number."""
        return self.members_of(self.id)

    @property
    def leads(self) -> bool:
        """Whether this node acts for its cell: it has the lowest number of the members in range."""
        others = self.beacons.nodes_in(self.id)
        return not others or self.host.node < others[0]

    def members_of(self, cell: CellId) -> list[NodeId]:
        """The members of a cell within range, without this node."""
        return list(self.beacons.nodes_in(cell))

    @property
    def place(self) -> CellId:
        """The cell this node counts towards: a member that just left its cell and is still needed there counts towards
        it."""
        return self._place

    @place.setter
    def place(self, place: CellId) -> None:
        self._place = self._place_number.value = place

    def start(self) -> None:
        """The node is on: find its cell, and load what it held before a restart."""
        self.place = self.beacons.at_position()
        self.discarded(self.holdings.restore(self.place))
        self.attend()
        self.beacons.start()

    def stop(self) -> None:
        self.beacons.stop()

    def attend(self) -> None:
        """Attend to beacons of this cell's members until they hold the same data as this node."""
        own = self.holdings.digests if self.options.repair else None
        self.beacons.attend(self.id, own, self._lost_cells.notes)

    def discard(self) -> None:
        """The data of the old cell stays there (§6.6.3); start empty in the new one."""
        old = self.holdings
        old.clear_saved()
        self.holdings = self._nothing_held()
        self.holdings.restore(self.place)
        self.attend()
        self.discarded(list(old.objects()))

    def release(self, homes: Iterable[CellId]) -> None:
        """Another cell now keeps what was held for some home cells."""
        self.releasing()
        self.discarded(self.holdings.release(homes))

    def stand_in(self, home: CellId) -> None:
        """This cell is asked in place of another one, or for its keys. If it has none of that cell's data, and this
        cell or one that would have stood in before it lost its members since the last exchange with the other cell, the
        data may be lost."""
        if self.options.reminders and not self.holdings.keeps_for(home):
            rank, told_s = self.grid.rank(self.id, home), self._lost_cells.heard_s(home)
            lost = self._lost_cells.lost.items()
            if any(lost_s > told_s and self.grid.rank(cell, home) <= rank for cell, lost_s in lost):
                self._lost_cells.start(home)

    def hear(self, kind: type[Kind], action: Callable[[Arrival, Kind], None]) -> None:
        """Register the handler for messages of a type, whatever this node's role. One handler per type."""
        self._listen(kind, action, members_only=False)

    def serve(self, kind: type[Kind], action: Callable[[Arrival, Kind], None]) -> None:
        """As `hear`, but only while this node is a member; moving nodes ignore such messages."""
        self._listen(kind, action, members_only=True)

    def overhear(self, kind: type[Kind], action: Callable[[NodeId, Kind], None]) -> None:
        """Register the handler for broadcast frames of a kind."""
        assert kind not in self.frames, f"two parts want {kind.__name__}"
        self.frames[kind] = action

    def broadcast_handlers(self, kind: type[Message]) -> tuple[BroadcastHandler, ...]:
        """The same for frames that many nodes receive and few handle."""
        if kind is not CellBroadcast:
            return self.beacons.broadcast_handlers(kind)
        return (BroadcastHandler(self._place_number, self._hear_broadcast),)

    def _hear_broadcast(self, sender: NodeId, message: CellBroadcast, *_: object) -> None:
        self.router.hear(sender, message)

    def arrive(self, arrival: Arrival) -> None:
        """Handle a message addressed to this node."""
        members_only, action = self._actions.get(type(arrival.message), (False, None))
        if action is not None and (self.member or not members_only):
            action(arrival, arrival.message)

    def answer(self, arrival: Arrival, message: Message) -> None:
        """Answer the sender of a request."""
        self.router.send_to_node(arrival.origin, arrival.origin_cell, message)

    def send_to_member(self, node: NodeId, message: Message) -> None:
        self.router.send_to_node(node, self.id, message)

    def tell_others(self, message: Message) -> None:
        """Broadcast to all other members, unacknowledged (§6.6.1)."""
        self.router.broadcast_in_cell(message)

    def tell_surely(self, state: CellState, place: CellId | None = None, but: NodeId | None = None) -> None:
        """Send to all other members something that is or will be acknowledged: one acknowledged packet each, unless
        they are many (`sure_members`). Later messages of this node leave after it. Members that just fell silent are
        included, since only beacons may have been lost. One member may be excluded, if it learns otherwise."""
        silent: list[NodeId] = []
        if self._silent and (place is None or place == self.id):
            since_s = self.host.now() - SILENT_S
            silent = [node for node, (cell, at_s) in self._silent.items() if cell == self.id and at_s > since_s]
        most = self.options.sure_members
        if silent or not most or self.beacons.nodes_in(self._place if place is None else place):
            self.router.tell_each_in_cell(state, place, most, silent, but)

    def _listen(self, kind: type[Kind], action: Callable[[Arrival, Kind], None], *, members_only: bool) -> None:
        assert kind not in self._actions, f"two parts want {kind.__name__}"
        self._actions[kind] = (members_only, action)

    def _nothing_held(self) -> Holdings:
        return Holdings(self.host, self.contents, self.options, self.watch)

    def _counts_to(self) -> CellId:
        return self._place

    def _takes_part(self) -> bool:
        return self.mode is _MEMBER

    def _say(self) -> bytes:
        """The digest of what this node holds, and the notes in circulation. The digest is left out if the node is about
        to leave, so that no other node relies on it."""
        silent = not self.member or self.departing or not self.options.repair
        return (b"" if silent else self.holdings.digests.beacon()) + self._lost_cells.say()

    def _on_heard(self, neighbour: Neighbour, said: bytes) -> None:
        digest, notes = digest_parts(said) if said else (said, said)
        if notes:
            self._lost_cells.hear(notes)
        self.heard(neighbour, digest)

    def _on_appeared(self, neighbour: Neighbour) -> None:
        """Whoever is heard standing at once was there before: only beacons of its cell were lost. A newcomer to an
        empty cell, and a node that was started again, are heard walking first."""
        lost, cell = self._lost_cells, neighbour.cell
        if neighbour.stationary and lost.lost.get(cell, -inf) > lost.heard_s(cell):
            del lost.lost[cell]

    def _on_vanished(self, neighbour: Neighbour) -> None:
        """The only other member of a cell fell silent without announcing that it leaves: its data is gone."""
        cell = neighbour.cell
        if neighbour.stationary:
            self.silent(neighbour.node)
        if cell == self.id and neighbour.stationary:
            self._silent[neighbour.node] = (cell, self.host.now())
        if not self.options.reminders or not neighbour.stationary or self.beacons.population(cell):
            return
        if self.member and self.grid.steps(self.id, cell) == 1:
            self._lost_cells.start(cell)
        else:
            self._lost_cells.lost[cell] = self.host.now()

    def _on_stopped(self, neighbour: Neighbour) -> None:
        """The only member of a cell was started again: if its store is new, the cell's data is gone."""
        if self.options.reminders and not self.beacons.population(neighbour.cell):
            self._lost_cells.lost[neighbour.cell] = self.host.now()

    def _on_population(self, cell: CellId, count: int) -> None:
        if cell == self.id and self.member:
            self.regrouped()
        if count == 1:
            self.populated(cell)
            lost = self._lost_cells
            if self.options.reminders and lost.lost.get(cell, -inf) > lost.heard_s(cell):
                lost.start(cell)
