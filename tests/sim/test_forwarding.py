"""Traffic for others is counted where messages are sent, so that it means the same for every approach."""

from __future__ import annotations

import pytest

from thyme.approaches.registry import APPROACHES
from thyme.model.ids import NodeId
from thyme.model.operations import Operation
from thyme.model.records import OperationKind, TrafficKind
from thyme.sim.run import simulate
from thyme.sim.scenario import scenario_of

NODES = 20
WIDTH_M, UNTIL_S = 300.0, 160.0
SPARSE_WIDTH_M, LATE_S = 900.0, 1800.0
"""SocialCast: where everybody meets, publishers hand over themselves, and carriers need time."""


def bytes_of_a_walking_crowd(approach: str) -> dict[str, int]:
    """Bytes by kind of traffic, where half ask and the others publish, some of them hops away."""
    carried = approach == "socialcast"
    width_m = SPARSE_WIDTH_M if carried else WIDTH_M
    given = {
        "nodes": NODES,
        "approach": approach,
        "venue": {"width_m": width_m, "height_m": width_m / 1.5, "cell_m": 50.0},
        "movement": {"model": "waypoint", "min_speed_mps": 2.0, "max_speed_mps": 4.0, "max_pause_s": 10.0},
        "time": {"until_s": LATE_S if carried else UNTIL_S},
    }
    half = NODES // 2
    asked = [Operation(i, 50.0 + i, NodeId(i), OperationKind.SUBSCRIBE, sid=i, query="a") for i in range(half)]
    told = [
        Operation(i, 80.0 + i, NodeId(i), OperationKind.INSERT, oid=f"o{i}", tags=("a",), text="text")
        for i in range(half, NODES)
    ]
    events = simulate(scenario_of(given, "test"), asked + told).events
    sums = events.group_by("kind").aggregate([("size_bytes", "sum")]).to_pylist()
    return {row["kind"]: row["size_bytes_sum"] for row in sums if row["kind"] in list(TrafficKind)}


@pytest.mark.parametrize("approach", APPROACHES)
def test_whoever_stands_between_forwards(approach: str) -> None:
    sent = bytes_of_a_walking_crowd(approach)
    assert 0 < sent["forwarded"] <= sent["sent"] - sent["control"]
    assert sent["control"] < sent["phy control"] < sent["phy sent"]
