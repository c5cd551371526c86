"""The simulated disk: what a crash leaves, and that nobody is told of what it could still take back."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thyme.approaches.interface import ReactiveStore
from thyme.fuzz.case import Case
from thyme.fuzz.judge import judge
from thyme.fuzz.observer import ObservedOperation, StoreObserver
from thyme.fuzz.play import play
from thyme.fuzz.worlds import draw_world
from thyme.host import MemoryStore
from thyme.model.ids import CellId, NodeId
from thyme.model.operations import Operation
from thyme.model.records import OperationKind
from thyme.sim.disk import DiskSection, SimulatedDisk
from thyme.sim.engine import Engine
from thyme.sim.run import Run
from thyme.sim.scenario import scenario_of
from thyme.wire.routing import Beacon

COMMIT_S, ANSWER_S = 0.1, 0.05
AT_S = 20.0
QUIET = {"join_from_s": 5.0, "join_to_s": 5.0, "until_s": 10.0}
"""Nobody has joined yet."""
steps = st.one_of(
    st.tuples(st.just("put"), st.just("kind"), st.sampled_from("abc"), st.binary(max_size=3)),
    st.tuples(st.just("remove"), st.just("kind"), st.sampled_from("abc")),
    st.tuples(st.just("write"), st.sampled_from("xy"), st.integers(0, 4), st.binary(min_size=1, max_size=3)),
    st.tuples(st.just("discard"), st.sampled_from("xy")),
    st.tuples(st.just("wait"), st.sampled_from([0.0, 0.04, 0.11, 0.2])),
)


def content_of(store: MemoryStore) -> tuple[Any, ...]:
    return (sorted(store.items("kind")), [store.read(key, 0, 100) for key in "xy"])


@settings(deadline=None)
@given(st.lists(steps, max_size=30))
def test_a_crash_leaves_the_state_after_some_change_and_none_that_was_committed_is_lost(taken: list[Any]) -> None:
    engine = Engine()
    disk, shadow = SimulatedDisk(engine.after, DiskSection(COMMIT_S, ANSWER_S)), MemoryStore()
    states, committed = [content_of(shadow)], [0]
    for what, *arguments in taken:
        if what == "wait":
            until_s = engine.now_s + arguments[0]
            while engine.next_s() <= until_s:
                engine.step()
            engine.now_s = until_s
            continue
        getattr(disk, what)(*arguments)
        getattr(shadow, what)(*arguments)
        assert content_of(disk) == content_of(shadow), "changes are seen at once"
        states.append(content_of(shadow))
        disk.commit(partial(committed.append, len(states) - 1))
    disk.crash()
    assert committed == sorted(committed), "in the order of the calls"
    assert content_of(disk) in states[committed[-1] :]
    while engine.next_s() < 1_000.0:
        engine.step()
    assert content_of(disk) in states[committed[-1] :], "what was under way is over"


def inserted_and_crashed(after_s: float) -> tuple[ObservedOperation, Run]:
    """A node inserts an object, its device crashes so long after, and comes back 5 s later."""
    changes = [
        {"at_s": AT_S + after_s, "node": 0, "on": False, "keeps_store": True},
        {"at_s": AT_S + 5.0, "node": 0, "on": True, "keeps_store": True},
    ]
    scenario = {
        "nodes": 3,
        "approach": "ls",
        "venue": {"width_m": 30.0, "height_m": 30.0},
        "time": {"join_from_s": 0.0, "join_to_s": 5.0, "until_s": 40.0},
        "churn": {"model": "listed", "changes": changes},
        "disk": {"commit_s": COMMIT_S, "answer_s": ANSWER_S},
    }
    operation = Operation(0, AT_S, NodeId(0), OperationKind.INSERT, oid="photo", tags=("goal",), size_bytes=100)
    observer = StoreObserver()
    run = Run(scenario_of(scenario, "test"), [operation], observer.stand_before)
    observer.follow(run)
    run.go()
    (asked,) = observer.asked
    return asked, run


@pytest.mark.parametrize(
    ("after_s", "kept", "acknowledged"),
    [(0.01, False, False), (0.09, False, False), (0.12, True, False), (0.16, True, True), (3.0, True, True)],
)
def test_what_was_acknowledged_before_a_crash_survives_it_and_what_was_not_committed_was_not_acknowledged(
    after_s: float, kept: bool, acknowledged: bool
) -> None:
    asked, run = inserted_and_crashed(after_s)
    store: ReactiveStore = run.stores[0]
    assert (store.host.store.get("content", "photo@0") is not None, asked.ok) == (kept, acknowledged)


@pytest.mark.parametrize("crashes", [False, True])
def test_no_frame_leaves_before_what_was_stored_lasts(crashes: bool) -> None:
    run = Run(scenario_of({"nodes": 1, "time": QUIET, "disk": {"commit_s": COMMIT_S}}, "test"))
    host, engine = run.world.hosts[0], run.world.engine
    run.world.run(1.0)
    run.world.keep_frames()
    host.broadcast(Beacon(CellId(1), True))
    host.store.put("kind", "key", b"value")
    host.broadcast(Beacon(CellId(2), True))
    if crashes:
        engine.after(COMMIT_S / 2.0, host.end_life)
    run.world.run(2.0)
    frames = run.world.frames()
    assert frames is not None
    assert frames["at_s"].to_pylist() == ([1.0] if crashes else [1.0, 1.0 + COMMIT_S])
    assert host.store.get("kind", "key") == (None if crashes else b"value")


def test_a_disk_that_says_too_soon_that_it_has_something_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    world = draw_world("ls", 15)
    assert world.given["disk"] == {"commit_s": 0.1, "answer_s": 0.1}
    assert judge(Case(world, play(world))) == []
    monkeypatch.setattr(SimulatedDisk, "commit", lambda disk, done: done())
    found = {violation.promise for violation in judge(Case(world, play(world)))}
    assert {"keeps", "names"} <= found
