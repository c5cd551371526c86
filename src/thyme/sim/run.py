"""One run: takes a scenario and a trace, returns the table of events."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import cast

import msgspec
import pyarrow as pa

from thyme.approaches.interface import ReactiveStore
from thyme.approaches.registry import find_approach
from thyme.approaches.user import Numbers, User
from thyme.host import Timer
from thyme.model.errors import InputError
from thyme.model.geometry import Point
from thyme.model.ids import NodeId
from thyme.model.operations import Operation
from thyme.model.records import Left, LogRecord, Stored
from thyme.routing.cells.grid import Grid
from thyme.sim.disk import DurableAnswers
from thyme.sim.energy import record_energy
from thyme.sim.engine import Engine
from thyme.sim.radios.radio import Radio
from thyme.sim.recorder import Recorder
from thyme.sim.scenario import Scenario
from thyme.sim.simulation import Simulation
from thyme.world.churn import Churn, Population
from thyme.world.contacts.contact_table import Contacts
from thyme.world.mobility.model import Crowd
from thyme.world.movement import Leg, Movement, movement_of_legs
from thyme.world.streams import stream


class Result(msgspec.Struct, frozen=True):
    """The results of a run."""

    scenario: Scenario
    events: pa.Table
    movement: Movement
    churn: Churn
    actions: int


class SimulatedSurroundings:
    """The `UserContext` of the user of one node. Unlike timers of their device, a user's plans outlive its crashes."""

    def __init__(self, node: NodeId, engine: Engine, recorder: Recorder) -> None:
        self._node = node
        self._engine = engine
        self._recorder = recorder

    def now(self) -> float:
        return self._engine.now_s

    def after(self, delay_s: float, action: Callable[[], None]) -> Timer:
        return self._engine.after(delay_s, action)

    @property
    def recording(self) -> bool:
        return True

    def record(self, event: LogRecord) -> None:
        self._recorder.record(self._engine.now_s, self._node, event)


def movement_for(scenario: Scenario) -> Movement:
    """The movement of the crowd and of the stationary servers."""
    crowd = scenario.movement.make(_crowd(scenario))
    servers = scenario.server_nodes
    if not servers:
        return crowd
    ways: list[Sequence[Leg]] = [crowd.node_legs(node) for node in range(crowd.nodes)]
    for i, server in enumerate(servers):
        match scenario.servers_at:
            case "middle":
                share_x, share_y = (i + 1) / (len(servers) + 1), 0.5
            case "corner":
                share_x, share_y = 0.0, 0.0
            case "random":
                share_x, share_y = stream(scenario.place_seed, "servers", server).random(2)
        ways.append([Leg(0.0, crowd.width_m * float(share_x), crowd.height_m * float(share_y))])
    return movement_of_legs(crowd.width_m, crowd.height_m, ways)


def _crowd(scenario: Scenario) -> Crowd:
    return Crowd(scenario.nodes, scenario.area(), scenario.time.until_s, scenario.place_seed)


def churn_for(scenario: Scenario, movement: Movement) -> Churn:
    area = scenario.area()

    def cells(at_s: float) -> list[int]:
        grid = Grid(area.width_m, area.height_m, area.cell_m)
        places = movement.positions(at_s)[: scenario.nodes].tolist()
        return [grid.cell_of(Point(x_m, y_m)) for x_m, y_m in places]

    time = scenario.time
    return scenario.churn.make(Population(scenario.nodes, time.join_to_s, time.until_s, scenario.run_seed, cells))


def radio_for(scenario: Scenario, movement: Movement) -> Radio:
    return scenario.radio.make(movement, partial(contacts_in, scenario, movement), scenario.run_seed)


def contacts_in(scenario: Scenario, movement: Movement, range_m: float) -> Contacts | None:
    """The contacts between nodes, if the movement model can compute them in advance."""
    return scenario.movement.contacts(_crowd(scenario), movement, range_m)


class Run:
    """A scenario set up to run."""

    def __init__(
        self,
        scenario: Scenario,
        operations: Iterable[Operation] = (),
        seen_by_user: Callable[[ReactiveStore], ReactiveStore] | None = None,
    ) -> None:
        """`seen_by_user` wraps the store of each user's device, for observers."""
        self.scenario = scenario
        self._seen_by_user = seen_by_user
        self.movement = movement_for(scenario)
        self.churn = churn_for(scenario, self.movement)
        self.radio = radio_for(scenario, self.movement)
        seed = scenario.run_seed
        self.world = Simulation(self.movement, self.radio, seed, scenario.faults, signed=scenario.signed)
        for host in self.world.hosts:
            if scenario.disk.takes_time:
                host.have_disk(scenario.disk)
            host.skew_s = scenario.clock_skew_s * float(stream(seed, "clock skew", host.node).random())
        self._approach = find_approach(scenario.approach)
        given = dict(scenario.settings)
        if scenario.server_nodes:
            given.setdefault("servers", list(scenario.server_nodes))
        if self._approach.capabilities.needs_positions:
            area = scenario.area()
            of_venue = {"width_m": area.width_m, "height_m": area.height_m, "cell_m": area.cell_m}
            given["grid"] = {**of_venue, **given.get("grid", {})}
        self._settings = self._approach.configure(given)
        numbers = Numbers()
        engine, recorder = self.world.engine, self.world.recorder
        self.users = [
            User(node, SimulatedSurroundings(node, engine, recorder), scenario.users, numbers, seed)
            for node in map(NodeId, range(self.movement.nodes))
        ]
        self.stores: dict[int, ReactiveStore] = {}
        self._schedule(operations)

    def go(self, progress: Callable[[float], None] | None = None, until_s: float | None = None) -> Result:
        """Run to the scenario's end, or to an earlier time."""
        until_s = self.scenario.time.until_s if until_s is None else until_s
        self.world.run(until_s, progress)
        self._close(until_s)
        events = self.world.recorder.table(until_s)
        return Result(self.scenario, events, self.movement, self.churn, self.world.engine.actions)

    def _schedule(self, operations: Iterable[Operation]) -> None:
        engine, time = self.world.engine, self.scenario.time
        off = set(self.churn.starts_off())
        for node in range(self.movement.nodes):
            if node not in off:
                joins_s = float(stream(self.scenario.run_seed, "joins", node).uniform(time.join_from_s, time.join_to_s))
                self.switch_on(node, joins_s)
        for change in self.churn.changes:
            if change.on:
                engine.at(change.at_s, partial(self.switch_on, change.node, 0.0))
            else:
                engine.at(change.at_s, partial(self.switch_off, change.node, change.keeps_store))
        for operation in operations:
            check_operation(operation, self.scenario)
            engine.at(operation.at_s, partial(self.users[operation.node].issue, operation))

    def switch_on(self, node: int, joins_after_s: float) -> None:
        if node in self.stores:
            return
        host = self.world.hosts[node]
        self.radio.switch(max(self.world.engine.now_s, self.radio.now_s), node, True)
        store = self._approach.make(host, self._settings)
        self.stores[NodeId(node)] = store
        host.begin_life(store.receive, store.broadcast_handlers)
        store.start()
        host.after(joins_after_s, store.join)
        if self.scenario.disk.takes_time:
            store = cast(ReactiveStore, DurableAnswers(store))
        self.users[node].take(self._seen_by_user(store) if self._seen_by_user else store)

    def switch_off(self, node: int, keeps_store: bool) -> None:
        store = self.stores.pop(node, None)
        if store is None:
            return
        host = self.world.hosts[node]
        host.record(Left("off" if keeps_store else "crashed"))
        self.users[node].lose()
        host.end_life()
        if not keeps_store:
            host.lose_store()
        self.radio.switch(max(self.world.engine.now_s, self.radio.now_s), node, False)

    def _close(self, end_s: float) -> None:
        recorder = self.world.recorder
        for node, store in sorted(self.stores.items()):
            for name, count, size_bytes in store.stored():
                recorder.record(end_s, node, Stored(name, count, size_bytes))
        for totals in self.radio.traffic():
            for node, (count, size) in enumerate(zip(totals.counts, totals.sizes_bytes, strict=True)):
                if count:
                    recorder.count(node, totals.traffic, totals.name, int(count), int(size), totals.reason)
        record_energy(recorder, end_s, self.radio.airtime_s(), self.scenario.radio.energy)


def check_operation(operation: Operation, scenario: Scenario) -> None:
    """Check that a trace fits its scenario: operations of missing nodes would count as lost."""
    if not 0 <= operation.node < scenario.nodes:
        raise InputError(
            f"operation {operation.operation} is by node {operation.node}, "
            f"but the scenario has nodes 0 to {scenario.nodes - 1}; set more nodes, or use a trace of fewer users"
        )
    check_end(f"operation {operation.operation}", operation.at_s, scenario)


def check_end(last: str, at_s: float, scenario: Scenario) -> None:
    if at_s > scenario.time.until_s:
        raise InputError(
            f"{last} is at {at_s:g} s, but the scenario ends at time.until_s = "
            f"{scenario.time.until_s:g} s; set a later end, or use a shorter trace"
        )


def simulate(
    scenario: Scenario, operations: Iterable[Operation] = (), progress: Callable[[float], None] | None = None
) -> Result:
    """Run a trace on a scenario."""
    return Run(scenario, operations).go(progress)
