"""A trace that does not fit its scenario is refused before anything is played."""

from __future__ import annotations

import pytest

from thyme.model.errors import InputError
from thyme.model.ids import NodeId
from thyme.model.operations import Operation
from thyme.model.records import OperationKind
from thyme.sim.run import simulate
from thyme.sim.scenario import Scenario, TimeLine


def insertion(at_s: float, node: int) -> Operation:
    return Operation(7, at_s, NodeId(node), OperationKind.INSERT, oid="o", tags=("goal",), text="now!")


@pytest.mark.parametrize(
    ("at_s", "node", "said"),
    [
        (50.0, 4, "operation 7 is by node 4, but the scenario has nodes 0 to 3"),
        (101.0, 3, r"operation 7 is at 101 s, but the scenario ends at time.until_s = 100 s; set a later end"),
    ],
)
def test_an_operation_that_nobody_could_play_is_refused(at_s: float, node: int, said: str) -> None:
    scenario = Scenario(nodes=4, approach="ls", time=TimeLine(until_s=100.0))
    with pytest.raises(InputError, match=said):
        simulate(scenario, [insertion(at_s, node)])


def test_the_last_moment_of_a_scenario_belongs_to_it() -> None:
    scenario = Scenario(nodes=4, approach="ls", time=TimeLine(until_s=100.0))
    assert simulate(scenario, [insertion(100.0, 3)]).events.num_rows > 0
