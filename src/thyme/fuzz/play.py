"""Playing a world: the run itself, and the evidence that the judge needs.

Evidence is what users and stores said to each other (`StoreObserver`), every frame that was sent, what each node held
at the end, and what became of names that were used twice. The run is the one that `thyme simulate` makes of the same
scenario and trace; names are tried again only after it has ended.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import PurePath

import msgspec

from thyme.approaches.interface import ReactiveStore
from thyme.approaches.registry import find_approach
from thyme.fuzz.node_states import NodeStates
from thyme.fuzz.observer import CONTENT, NotifiedOf, ObservedOperation, StoreObserver
from thyme.fuzz.worlds import World
from thyme.model.errors import InputError
from thyme.model.frames import TimeFrame
from thyme.model.queries import parse_query
from thyme.model.records import OperationKind
from thyme.sim.radios.models import DiscModel
from thyme.sim.run import Run

STORM_FRAMES_PER_NODE_S = 400
"""A crowd that sends more frames than this per node within one second is stopped: a loop would go on for ever."""


class FinalState(msgspec.Struct, frozen=True):
    """The final state of a node that is on: its contents by name, and its own counters."""

    contents: tuple[str, ...]
    counts: dict[str, int]


class Evidence(msgspec.Struct):
    """The evidence of a run. `broken` is the exception that ended it early, if one did."""

    crowd: NodeStates
    told: list[NotifiedOf]
    asked: list[ObservedOperation]
    held: dict[int, FinalState]
    skews_s: list[float]
    frames: list[tuple[float, int, str]] = []
    """Time, sender and type of every message that is not control traffic."""
    kept_anywhere: frozenset[str] = frozenset()
    """Contents that some node has, on or off."""
    names_taken_again: list[str] = []
    broken: str = ""
    storm_s: float = -1.0


class _Storm(Exception):
    """The crowd sends without end."""


def play(world: World) -> Evidence:
    """Run a world and gather the evidence."""
    scenario = world.scenario()
    observer = StoreObserver()
    run = Run(scenario, world.operations, observer.stand_before)
    observer.follow(run)
    run.world.keep_frames()
    assert isinstance(scenario.radio, DiscModel), "worlds are played on discs, whose reach the judge knows"
    cell_m = scenario.area().cell_m if find_approach(scenario.approach).capabilities.needs_positions else None
    crowd = NodeStates(run.movement, run.churn, scenario.faults, scenario.radio.range_m, cell_m)
    skews_s = [host.skew_s for host in run.world.hosts]
    evidence = Evidence(crowd, [], [], {}, skews_s)
    control: set[str] = set()
    try:
        events = run.go(_storm_check(run)).events
        pairs = zip(events["kind"].to_pylist(), events["name"].to_pylist(), strict=True)
        control = {name for kind, name in pairs if kind == "control"}
    except _Storm:
        evidence.storm_s = run.world.engine.now_s
    except Exception as error:
        evidence.broken = _where(error)
    evidence.frames = _frames(run, control)
    evidence.held = {int(node): _held(run, node, store) for node, store in sorted(run.stores.items())}
    disks = [host.store for host in run.world.hosts]
    evidence.kept_anywhere = frozenset(name for disk in disks for name, _ in disk.items(CONTENT))
    evidence.told, evidence.asked = list(observer.told), list(observer.asked)
    if not evidence.broken and evidence.storm_s < 0.0:
        evidence.names_taken_again = _try_names_again(run, evidence.asked)
    return evidence


def _storm_check(run: Run) -> Callable[[float], None]:
    sent = 0
    most = STORM_FRAMES_PER_NODE_S * run.movement.nodes

    def look(now_s: float) -> None:
        nonlocal sent
        rows = [totals for totals in run.radio.traffic() if totals.traffic == "phy sent" and totals.name != "ack"]
        total = sum(sum(totals.counts) for totals in rows)
        if total - sent > most:
            raise _Storm
        sent = total

    return look


def _where(error: Exception) -> str:
    """The exception, and the last of our own lines that it passed."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "thyme" in frame.filename]
    last = frames[-1]
    return f"{type(error).__name__}: {error} (in {PurePath(last.filename).name}, {last.name})"


def _frames(run: Run, control: set[str]) -> list[tuple[float, int, str]]:
    table = run.world.frames()
    assert table is not None
    columns = zip(table["at_s"].to_pylist(), table["sender"].to_pylist(), table["message"].to_pylist(), strict=True)
    return [(at_s, sender, name) for at_s, sender, name in columns if name not in control]


def _held(run: Run, node: int, store: ReactiveStore) -> FinalState:
    disk = run.world.hosts[node].store
    counts = {name: count for name, count, _ in store.stored()}
    return FinalState(tuple(name for name, _ in disk.items(CONTENT)), counts)


def _try_names_again(run: Run, asked: list[ObservedOperation]) -> list[str]:
    """Insert and subscribe once more under every name that was acknowledged, at nodes that kept their store; a name
    that is accepted is reported. `done` is of no interest: the rule is checked at once."""
    accepted: list[str] = []
    lost = {change.node for change in run.churn.changes if not change.on and not change.keeps_store}
    for one in asked:
        store = run.stores.get(one.node)
        if store is None or one.node in lost or not one.ok:
            continue
        try:
            if one.kind is OperationKind.INSERT and one.object is not None:
                store.insert(one.object.oid, b"again", ("a",), b"", lambda outcome: None)
                accepted.append(f"node {one.node} may insert {one.object.oid!r} again")
            elif one.kind is OperationKind.SUBSCRIBE and one.subscription is not None:
                _subscribe_again(store, one.subscription.sid)
                accepted.append(f"node {one.node} may subscribe with {one.subscription.sid} again")
        except InputError:
            continue
    return accepted


def _subscribe_again(store: ReactiveStore, sid: int) -> None:
    frame = TimeFrame.future(store.host.now())
    store.subscribe(parse_query("a"), frame, lambda key, metadata, hops: None, lambda outcome: None, sid=sid)
