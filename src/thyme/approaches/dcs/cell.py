"""A node's view of its cell (Thyme FGCS §4.3, §6.6, §7.3): what all parts of Thyme-DCS share.

Where the node is and which cell it works for, who else works for it, what they hold together, and how to reach a cell,
a member, or whoever asked. A part is given the cell when it is made, and says at once what it wants to be told: kinds
of messages (`hear`; `serve` for those that only a member handles) and turns, such as `settled`. `Membership` alone
changes where the node stands (`mode`, `id`, `place`, `departing`, `stay_s`).
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
from enum import StrEnum
from math import inf
from typing import Any, TypeVar

from thyme.approaches.contents import Contents
from thyme.approaches.dcs.kept.holdings import Holdings
from thyme.approaches.dcs.members.rumours import Rumours
from thyme.approaches.dcs.options import CellStorageOptions
from thyme.approaches.dcs.turns import Turn
from thyme.approaches.requests import Requests
from thyme.host import Host
from thyme.model.bounded import Bounded
from thyme.model.errors import InputError
from thyme.model.ids import CellId, NodeId, ObjectKey, SubscriptionKey
from thyme.model.objects import Metadata
from thyme.routing.cells.addresses import Arrival
from thyme.routing.cells.beacons import BeaconEvents, Beacons, Neighbour
from thyme.routing.cells.geographic import GeographicRouter
from thyme.routing.cells.grid import Grid
from thyme.routing.hearing import Ear
from thyme.wire.beacons import Beacon, parts
from thyme.wire.cells import CellState
from thyme.wire.geographic import CellBroadcast, CellPacket
from thyme.wire.message import Message

NOWHERE = CellId(-1)
MAX_SILENT = 16
"""Members remembered that fell silent; the oldest makes room."""
MAX_NAMED = 4_096
"""Subscriptions and copies of which is remembered where cells were told that this node is; of others they are told
again."""
Kind = TypeVar("Kind", bound=Message)


class Mode(StrEnum):
    """What a node is to its cell."""

    OUT = "out"
    JOINING = "joining"
    MEMBER = "member"
    MOVING = "moving"


_MEMBER = Mode.MEMBER
"""Asked for again and again, and found at once only here."""


class Cell:
    """The cell as one of its nodes knows it."""

    __slots__ = (
        "_actions",
        "_place",
        "_place_number",
        "_rumours",
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
        "mode",
        "named",
        "options",
        "populated",
        "regrouped",
        "requests",
        "router",
        "settled",
        "stay_s",
        "taken",
        "undelivered",
        "woken",
    )

    def __init__(self, host: Host, options: CellStorageOptions) -> None:
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
        self._place_number = array("q", [NOWHERE])
        """The same, where compiled code finds it."""
        self.departing = False
        """Whether this member is on its way out of the cell, and stays one only until others know what it knows."""
        self.stay_s = inf
        """How long this member was going to be of use to the cell when it joined, as its way went."""
        self.holdings = self._nothing_held()
        self._make_turns()
        self._actions: dict[type[Message], tuple[bool, Callable[[Arrival, Any], None]]] = {}
        self.frames: dict[type[Message], Callable[[NodeId, Any], object]] = {}
        """What is done with frames of neighbours, by kind."""
        self._silent: Bounded[NodeId, tuple[CellId, float]] = Bounded(MAX_SILENT, renewing=True)
        """Who belonged to this cell when it was last heard, and since when it has counted as gone."""
        self.named: Bounded[SubscriptionKey | ObjectKey, CellId] = Bounded(MAX_NAMED, renewing=True)
        """Where the cells that know of a subscription or a copy of this node were last told that it is."""
        self._rumours = Rumours(host, self.forgotten)
        events = BeaconEvents(
            vanished=self._on_vanished,
            population_changed=self._on_population,
            digest=self._say,
            heard=self._on_heard,
            woken=self.woken,
        )
        self.beacons = Beacons(host, self.grid, events, options.beacons, self._takes_part, self._counts_to)
        self.router = GeographicRouter(host, self.grid, self.beacons, self.arrive, self.undelivered, options.routing)
        self.frames[Beacon] = self.beacons.receive
        self.frames[CellPacket] = self.router.take
        self.frames[CellBroadcast] = self.router.hear

    def _make_turns(self) -> None:
        self.settled: Turn[[bool]] = Turn()
        """This node is a member now; True if it found nobody else in the cell."""
        self.leaving: Turn[[bool]] = Turn()
        """This node is about to leave the cell it is a member of; True if another member is known to hold all that it
        holds."""
        self.crossed: Turn[[]] = Turn()
        """This node is in another place than before."""
        self.discarded: Turn[[list[Metadata]]] = Turn()
        """These objects were kept for another cell, which keeps them itself now."""
        self.taken: Turn[[CellState]] = Turn()
        """This node has said to keep what another gave it, who may forget it from now on."""
        self.heard: Turn[[Neighbour, bytes]] = Turn()
        """A neighbour's beacon, and the digest that it carried."""
        self.woken: Turn[[]] = Turn()
        """A beacon, when one was waited for (`Beacons.wake`)."""
        self.regrouped: Turn[[]] = Turn()
        """Somebody else works for this member's cell now, or no longer does."""
        self.forgotten: Turn[[CellId]] = Turn()
        """A cell has lost its members, and perhaps with them all that it was told."""
        self.populated: Turn[[CellId]] = Turn()
        """A single member of a cell around is heard: the first, or the one that is left."""
        self.undelivered: Turn[[NodeId, CellId, int]] = Turn()
        """A NACK (§6.6.4): the node, the cell where it was not found, and the number that the send returned."""

    @property
    def member(self) -> bool:
        """Whether this node works for the cell."""
        return self.mode is _MEMBER

    @property
    def others(self) -> list[NodeId]:
        """The other members, as far as they are heard, in the order of their numbers."""
        return self.members_of(self.id)

    @property
    def leads(self) -> bool:
        """Whether this node speaks for its cell: the lowest number of those heard."""
        others = self.beacons.nodes_in(self.id)
        return not others or self.host.node < others[0]

    def members_of(self, cell: CellId) -> list[NodeId]:
        """Who works for a cell within reach, without this node."""
        return list(self.beacons.nodes_in(cell))

    @property
    def place(self) -> CellId:
        """The cell this node is in, as far as others are concerned: a member that has just left its cell, and is still
        needed there, counts to it."""
        return self._place

    @place.setter
    def place(self, place: CellId) -> None:
        self._place = self._place_number[0] = place

    def start(self) -> None:
        """The node is on: find out where, and take up what was held for that cell before a restart."""
        self.place = self.beacons.at_position()
        self.discarded(self.holdings.restore(self.place))
        self.attend()
        self.beacons.start()

    def stop(self) -> None:
        self.beacons.stop()

    def attend(self) -> None:
        """Beacons of this cell's members are of interest, until they say that they hold what this node holds."""
        own = self.holdings.digests if self.options.repair else None
        self.beacons.attend(self.id, own, self._rumours.notes)

    def discard(self) -> None:
        """What was held for the old cell stays with the old cell (§6.6.3); begin anew where this node is."""
        old = self.holdings
        old.clear_saved()
        self.holdings = self._nothing_held()
        self.holdings.restore(self.place)
        self.attend()
        self.discarded(list(old.objects()))

    def release(self, homes: Iterable[CellId]) -> None:
        """Another cell keeps from now on what was held for some homes."""
        self.discarded(self.holdings.release(homes))

    def stand_in(self, home: CellId) -> None:
        """This cell is asked in the place of another one, or for its keys. If it knows nothing of what that one knew,
        and a cell that would have stood in before this one, or this one itself, has lost its members since it last
        went round of the other, that may have been lost with them."""
        if self.options.reminders and not self.holdings.keeps_for(home):
            rank, told_s = self.grid.rank(self.id, home), self._rumours.heard_s(home)
            lost = self._rumours.lost.items()
            if any(lost_s > told_s and self.grid.rank(cell, home) <= rank for cell, lost_s in lost):
                self._rumours.start(home)

    def hear(self, kind: type[Kind], action: Callable[[Arrival, Kind], None]) -> None:
        """Have `action` told of messages of a kind, whatever this node is to its cell. One action per kind."""
        self._listen(kind, action, members_only=False)

    def serve(self, kind: type[Kind], action: Callable[[Arrival, Kind], None]) -> None:
        """As `hear`, while this node is a member: a node that is on the way hears such messages and lets them be."""
        self._listen(kind, action, members_only=True)

    def overhear(self, kind: type[Kind], action: Callable[[NodeId, Kind], None]) -> None:
        """Have `action` told of frames of a kind that neighbours address to nobody in particular."""
        assert kind not in self.frames, f"two parts want {kind.__name__}"
        self.frames[kind] = action

    def ears(self, kind: type[Message]) -> tuple[Ear, ...]:
        """For frames that many hear and few have to act on."""
        if kind is not CellBroadcast:
            return self.beacons.ears(kind)
        from thyme.routing.cells.addressed import find_together

        return (Ear(find_together, self._place_number.buffer_info()[0], self._hear_broadcast),)

    def _hear_broadcast(self, sender: NodeId, message: CellBroadcast, *_: object) -> None:
        self.router.hear(sender, message)

    def arrive(self, arrival: Arrival) -> None:
        """A message has come to its end here."""
        members_only, action = self._actions.get(type(arrival.message), (False, None))
        if action is not None and (self.member or not members_only):
            action(arrival, arrival.message)

    def answer(self, arrival: Arrival, message: Message) -> None:
        """To whoever sent what has arrived."""
        self.router.send_to_node(arrival.origin, arrival.origin_cell, message)

    def send_to_member(self, node: NodeId, message: Message) -> None:
        self.router.send_to_node(node, self.id, message)

    def tell_others(self, message: Message) -> None:
        """To all other members, once and unacknowledged (§6.6.1)."""
        self.router.broadcast_in_cell(message)

    def tell_surely(self, state: CellState, place: CellId | None = None, but: NodeId | None = None) -> None:
        """To all other members what was or will be acknowledged: to each by a packet that the link acknowledges, unless
        they are many (`sure_members`). What this node sends afterwards leaves after it. Who fell silent a moment ago
        may only have been missed, and is told as well. One may be left out, who is told otherwise."""
        silent: list[NodeId] = []
        if self._silent and (place is None or place == self.id):
            since_s = self.host.now() - self.options.sure_s
            silent = [node for node, (cell, at_s) in self._silent.items() if cell == self.id and at_s > since_s]
        most = self.options.sure_members
        if silent or not most or self.beacons.nodes_in(self._place if place is None else place):
            self.router.tell_each_in_cell(state, place, most, silent, but)

    def _listen(self, kind: type[Kind], action: Callable[[Arrival, Kind], None], *, members_only: bool) -> None:
        assert kind not in self._actions, f"two parts want {kind.__name__}"
        self._actions[kind] = (members_only, action)

    def _nothing_held(self) -> Holdings:
        return Holdings(self.host, self.contents, self.options)

    def _counts_to(self) -> CellId:
        return self._place

    def _takes_part(self) -> bool:
        return self.mode is _MEMBER

    def _say(self) -> bytes:
        """What this node's beacons say about what it holds, and what goes round; nothing of the former if it is about
        to leave, for nobody is to rely on it then."""
        silent = not self.member or self.departing or not self.options.repair
        return (b"" if silent else self.holdings.digests.beacon()) + self._rumours.say()

    def _on_heard(self, neighbour: Neighbour, said: bytes) -> None:
        digest, rumours = parts(said) if said else (said, said)
        if rumours:
            self._rumours.hear(rumours)
        self.heard(neighbour, digest)

    def _on_vanished(self, neighbour: Neighbour) -> None:
        """The last member of a cell beside this one that falls silent, and did not say that it leaves, has gone with
        all that the cell knew."""
        cell = neighbour.cell
        if cell == self.id and neighbour.stationary:
            self._silent[neighbour.node] = (cell, self.host.now())
        if not self.options.reminders or not neighbour.stationary or self.beacons.population(cell):
            return
        if self.member and self.grid.steps(self.id, cell) == 1:
            self._rumours.start(cell)
        else:
            self._rumours.lost[cell] = self.host.now()

    def _on_population(self, cell: CellId, count: int) -> None:
        if cell == self.id and self.member:
            self.regrouped()
        if count == 1:
            self.populated(cell)
