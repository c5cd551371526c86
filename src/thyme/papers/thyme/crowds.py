"""The analytical study's counts, measured: what the operations of Table 6 send in a simulated crowd (Thyme FGCS §8).

The crowd does not move, on a unit-disc radio without loss. Its nodes subscribe to one tag each, then another node
inserts an object with that tag, then the subscriber retrieves it. Every transmitted frame is counted, hop by hop:
notifications by what is in the frame, the rest to the kind of operation under way. Control traffic (beacons, and the
search for routes) and joining are counted apart, since the formulas leave them out. Thyme-DCS is in the papers'
configuration; Thyme-ES and Thyme-LS find routes on demand.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import msgspec
import numpy as np

from thyme.approaches.interface import Outcome, ReactiveStore
from thyme.approaches.registry import find_approach
from thyme.model.errors import InputError
from thyme.model.frames import TimeFrame
from thyme.model.geometry import Point
from thyme.model.ids import NodeId
from thyme.model.objects import Metadata
from thyme.model.queries import parse_query
from thyme.papers.thyme.analysis import ApproachName, Cost
from thyme.routing.cells.grid import Grid
from thyme.sim.machine import Failed
from thyme.sim.radios.disc.radio import DiscOptions, DiscRadio
from thyme.sim.radios.radio import Radio
from thyme.sim.simulation import Simulation
from thyme.wire.cells import CellNotification
from thyme.wire.codec import decode
from thyme.wire.geographic import CellBroadcast, CellPacket
from thyme.wire.message import Message
from thyme.wire.routing import Flooded, Routed
from thyme.wire.storage import Notification, PastMatches
from thyme.world.mobility.placement import static, uniform_places
from thyme.world.movement import Floats, Movement
from thyme.world.streams import stream
from thyme.world.venue import Venue, venue_for

JOINING, CONTROL = "joining", "control"
SETTINGS: dict[ApproachName, dict[str, Any]] = {
    "es": {"routing": "ondemand"},
    "ls": {"routing": "ondemand"},
    "dcs": {"paper": True},
}


class CrowdOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    nodes: int = 64
    per_cell: int = 2
    operations: int = 40
    """Subscriptions, and as many insertions, notifications and retrievals."""
    seed: int = 1
    even: bool = True
    """Whether every cell has its share of nodes, as the formulas assume; uniform places leave some cells empty."""
    range_m: float = 113.0
    joining_s: float = 12.0
    gap_s: float = 0.25
    """Between two operations."""
    settling_s: float = 4.0
    """After the last operation of a kind, so that all it sends is counted to it."""


class CrowdTraffic(msgspec.Struct, frozen=True):
    """What one crowd sent."""

    approach: ApproachName
    nodes: int
    cells: int
    """Cells with nodes in them."""
    operations: int
    frames: dict[Cost, int]
    """Transmissions, relays included."""
    hot_spot: int
    """The most messages that one node sent on its own account: begun or disseminated by it, not relayed."""
    control: int
    failed: int
    """Failed operations and missing notifications."""

    def each(self, cost: Cost) -> float:
        """Transmissions per operation."""
        return self.frames[cost] / self.operations


class FrameCounts:
    """Frames by purpose."""

    def __init__(self) -> None:
        self.under_way = JOINING
        self.frames: Counter[str] = Counter()
        self.begun_by: Counter[int] = Counter()
        self.notified_by: Counter[int] = Counter()

    def note(self, sender: int, message: Message) -> None:
        if message.control:
            self.frames[CONTROL] += 1
            return
        begun, inner = _opened(sender, message)
        notifies = isinstance(inner, (Notification, PastMatches, CellNotification))
        self.frames[Cost.NOTIFICATION if notifies else self.under_way] += 1
        if self.under_way == JOINING:
            return
        self.begun_by[sender] += begun
        self.notified_by[sender] += begun and notifies


def _opened(sender: int, message: Message) -> tuple[bool, Message]:
    """Whether the sender is the origin of this message, and the inner message."""
    match message:
        case Routed() | CellPacket():
            return message.origin == sender and message.hops == 0, decode(message.payload)
        case Flooded() | CellBroadcast():
            return True, decode(message.payload)
        case _:
            return True, message


class WatchedSimulation(Simulation):
    """A simulation that counts frames by their content."""

    def __init__(self, movement: Movement, radio: Radio, seed: int) -> None:
        super().__init__(movement, radio, seed)
        self.tally = FrameCounts()

    def send(self, sender: int, to: int, message: Message, failed: Failed, unsent: Failed = None) -> None:
        self.tally.note(sender, message)
        super().send(sender, to, message, failed, unsent)


class SimulatedCrowd:
    """Nodes of one approach that have joined, and operations on them by hand."""

    def __init__(self, approach: ApproachName, options: CrowdOptions, venue: Venue) -> None:
        self.options = options
        self.grid = Grid(venue.width_m, venue.height_m, venue.cell_m)
        crowd = places_of(options, venue)
        self.cells = [self.grid.cell_of(Point(float(x_m), float(y_m))) for x_m, y_m in crowd]
        entry = find_approach(approach)
        given = dict(SETTINGS[approach])
        places = crowd
        if entry.capabilities.needs_server:
            given["servers"] = [options.nodes]
            places = np.vstack([crowd, [[venue.width_m / 2.0, venue.height_m / 2.0]]])
        if entry.capabilities.needs_positions:
            given["grid"] = {"width_m": venue.width_m, "height_m": venue.height_m, "cell_m": venue.cell_m}
        movement = static(places, venue.width_m, venue.height_m)
        radio = DiscRadio(movement, DiscOptions(range_m=options.range_m), options.seed)
        self.world = WatchedSimulation(movement, radio, options.seed)
        settings = entry.configure(given, "the analytical study's settings")
        self.stores: list[ReactiveStore] = [entry.make(host, settings) for host in self.world.hosts]
        self.succeeded = 0
        self.notified = 0
        for host, store in zip(self.world.hosts, self.stores, strict=True):
            host.begin_life(store.receive, store.broadcast_handlers)
            store.start()
            host.after(host.random.uniform(0.0, 1.0), store.join)
        self._wait(options.joining_s)

    def in_turn(self, cost: Cost, actions: list[Callable[[], None]]) -> None:
        """Run the actions one after the other, and add their frames to `cost`."""
        self.world.tally.under_way = cost
        for action in actions:
            action()
            self._wait(self.options.gap_s)
        self._wait(self.options.settling_s)

    def subscribe(self, node: int, tag: str) -> None:
        self.stores[node].subscribe(parse_query(tag), TimeFrame.always(), self._on_notified, self._on_done)

    def insert(self, node: int, oid: str, tag: str) -> Metadata:
        return self.stores[node].insert(oid, b"an object", [tag], b"", self._on_done)

    def retrieve(self, node: int, metadata: Metadata) -> None:
        self.stores[node].retrieve(metadata, lambda outcome, _: self._on_done(outcome))

    def _wait(self, seconds: float) -> None:
        self.world.run(self.world.engine.now_s + seconds)

    def _on_done(self, outcome: Outcome) -> None:
        self.succeeded += outcome.ok

    def _on_notified(self, *_: object) -> None:
        self.notified += 1


def places_of(options: CrowdOptions, venue: Venue) -> Floats:
    """Positions of the crowd: uniform in the venue, or uniform in cells that are filled in turn."""
    if not options.even:
        return uniform_places(options.nodes, venue.width_m, venue.height_m, options.seed)
    within = np.array([stream(options.seed, "placement", node).random(2) for node in range(options.nodes)])
    grid = Grid(venue.width_m, venue.height_m, venue.cell_m)
    cells = np.arange(options.nodes) % grid.size
    corners = np.column_stack([cells % grid.columns, cells // grid.columns])
    places: Floats = (corners + within) * venue.cell_m
    return places


def measure_crowd(approach: ApproachName, options: CrowdOptions | None = None) -> CrowdTraffic:
    """Run the operations in a crowd of one approach and count."""
    options = options or CrowdOptions()
    if options.nodes < 2 or options.operations < 1:
        raise InputError(
            f"{options.nodes} nodes, {options.operations} operations: expected at least 2 nodes and 1 operation"
        )
    crowd = SimulatedCrowd(approach, options, venue_for(options.nodes, options.per_cell))
    random = Random(f"{options.seed}/analysis")
    pairs = [random.sample(range(options.nodes), 2) for _ in range(options.operations)]
    found: list[Metadata] = []
    crowd.in_turn(Cost.SUBSCRIBE, [_subscription(crowd, i, pair) for i, pair in enumerate(pairs)])
    crowd.in_turn(Cost.INSERT, [_insertion(crowd, i, pair, found) for i, pair in enumerate(pairs)])
    crowd.in_turn(Cost.RETRIEVE, [_retrieval(crowd, i, pair, found) for i, pair in enumerate(pairs)])
    tally = crowd.world.tally
    return CrowdTraffic(
        approach,
        options.nodes,
        len(set(crowd.cells)),
        options.operations,
        {cost: tally.frames[cost] for cost in Cost},
        max(tally.begun_by.values()),
        tally.frames[CONTROL],
        4 * options.operations - crowd.succeeded - crowd.notified,
    )


def _subscription(crowd: SimulatedCrowd, i: int, pair: list[int]) -> Callable[[], None]:
    return lambda: crowd.subscribe(pair[0], f"tag{i}")


def _insertion(crowd: SimulatedCrowd, i: int, pair: list[int], found: list[Metadata]) -> Callable[[], None]:
    return lambda: found.append(crowd.insert(pair[1], f"object{i}", f"tag{i}"))


def _retrieval(crowd: SimulatedCrowd, i: int, pair: list[int], found: list[Metadata]) -> Callable[[], None]:
    return lambda: crowd.retrieve(pair[0], found[i])


class Shared(msgspec.Struct, frozen=True):
    """How the nodes of one cell shared the sending of notifications (Figure 8)."""

    per_cell: int
    notifications: int
    mean: float
    """Messages per node of the cell."""
    least: int
    most: int


SHARED_COLUMNS, SHARED_ROWS = 4, 2
SHARED_TAG = "shared"


def measure_shared(per_cell: int, notifications: int = 100, seed: int = 1) -> Shared:
    """A subscriber outside the cell that the tag hashes to, and insertions by all nodes outside it in turn."""
    cells = SHARED_COLUMNS * SHARED_ROWS
    options = CrowdOptions(nodes=cells * per_cell, per_cell=per_cell, seed=seed, gap_s=0.1)
    venue = Venue(SHARED_COLUMNS * 40.0, SHARED_ROWS * 40.0)
    crowd = SimulatedCrowd("dcs", options, venue)
    broker = crowd.grid.cell_for(SHARED_TAG)
    members = [node for node, cell in enumerate(crowd.cells) if cell == broker]
    subscriber, *others = [NodeId(node) for node, cell in enumerate(crowd.cells) if cell != broker]
    crowd.in_turn(Cost.SUBSCRIBE, [lambda: crowd.subscribe(subscriber, SHARED_TAG)])

    def insertion(i: int) -> Callable[[], None]:
        return lambda: _ignore(crowd.insert(others[i % len(others)], f"object{i}", SHARED_TAG))

    crowd.in_turn(Cost.INSERT, [insertion(i) for i in range(notifications)])
    sent = [crowd.world.tally.notified_by[node] for node in members]
    return Shared(per_cell, crowd.notified, sum(sent) / len(sent), min(sent), max(sent))


def _ignore(metadata: Metadata) -> None:
    """The metadata of an insertion that no node retrieves."""
