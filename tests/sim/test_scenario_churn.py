"""Churn as a scenario describes it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from thyme.model.errors import InputError
from thyme.sim.run import churn_for, movement_for, simulate
from thyme.sim.scenario import scenario_of


def scenario(**churn: Any) -> Any:
    return scenario_of({"nodes": 20, "time": {"until_s": 240.0}, "churn": churn}, "test")


def test_nodes_that_join_late_are_off_until_then() -> None:
    late = scenario(model="join", fraction=0.3, from_s=70.0, to_s=90.0)
    churn = churn_for(late, movement_for(late))
    assert len(churn.starts_off()) == 6
    events = simulate(late).events.to_pylist()
    joined = {row["node"]: row["at_s"] for row in events if row["kind"] == "joined"}
    assert all(joined[node] > 70.0 for node in churn.starts_off())
    assert len(joined) == 20


def test_a_crash_takes_its_share_at_once_and_for_good() -> None:
    events = simulate(scenario(model="crash", fraction=0.3, from_s=80.0)).events.to_pylist()
    left = [(row["at_s"], row["reason"]) for row in events if row["kind"] == "left"]
    assert left == [(80.0, "crashed")] * 6


@pytest.mark.parametrize("model", ["leave", "alternate"])
def test_named_or_drawn_nodes_leave(model: str) -> None:
    times = {"from_s": 70.0, "to_s": 100.0} if model == "leave" else {}
    drawn = scenario(model=model, fraction=0.5, **times)
    churn = churn_for(drawn, movement_for(drawn))
    assert 1 <= len({change.node for change in churn.changes}) <= 12
    named = scenario(model=model, nodes=[3, 7], **times)
    assert {change.node for change in churn_for(named, movement_for(named)).changes} <= {3, 7}


def test_a_crash_takes_the_named_nodes() -> None:
    named = scenario(model="crash", nodes=[3, 7], from_s=70.0)
    assert [change.node for change in churn_for(named, movement_for(named)).changes] == [3, 7]


def test_a_crash_that_keeps_cells_leaves_one_node_in_each() -> None:
    sparing = scenario(model="crash", fraction=0.9, keep_cells=True, from_s=80.0)
    movement = movement_for(sparing)
    cells = [(x_m // 40.0, y_m // 40.0) for x_m, y_m in movement.positions(80.0).tolist()]
    gone = {change.node for change in churn_for(sparing, movement).changes}
    assert len(gone) == len(cells) - len(set(cells))
    assert {cells[node] for node in range(20) if node not in gone} == set(cells)


def test_of_a_few_so_many_leave_that_they_are_a_share_of_all() -> None:
    publishers = tuple(range(0, 20, 2))
    for keep_cells in (False, True):
        churn = scenario(model="leave", fraction=0.25, keep_cells=keep_cells, from_s=70.0, to_s=80.0).churn
        some = scenario(**msgspec.to_builtins(churn.of(publishers)))
        gone = {change.node for change in churn_for(some, movement_for(some)).changes}
        assert len(gone) == 5
        assert gone <= set(publishers)
    everyone = scenario(model="leave", from_s=70.0, to_s=80.0).churn.of(publishers)
    assert everyone.concerned() == publishers


def test_churn_of_nodes_that_do_not_exist_is_refused() -> None:
    with pytest.raises(InputError, match="no node 20; the scenario has 0 to 19"):
        scenario(model="crash", nodes=[20])
    with pytest.raises(InputError, match="not both"):
        scenario(model="crash", nodes=[1], fraction=0.3)
