"""People whom the radio joins share, though empty cells lie between them."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from thyme.model.ids import NodeId
from thyme.model.operations import Operation
from thyme.model.records import OperationKind
from thyme.sim.run import simulate
from thyme.sim.scenario import scenario_of

PEOPLE, WIDTH_M, HEIGHT_M = 20, 200.0, 160.0


@pytest.mark.parametrize("seed", [3, 15])
def test_whoever_the_radio_joins_is_notified_across_empty_cells(seed: int, tmp_path: Path) -> None:
    """These placements have two or three islands of cells that touch."""
    random = Random(seed)
    places = [(random.uniform(1, WIDTH_M - 1), random.uniform(1, HEIGHT_M - 1)) for _ in range(PEOPLE)]
    file = tmp_path / "places.csv"
    file.write_text("node,x_m,y_m\n" + "".join(f"{i},{x:.2f},{y:.2f}\n" for i, (x, y) in enumerate(places)))
    subscribers = range(0, PEOPLE, 2)
    operations = [
        Operation(i, 70.0 + i / 2, NodeId(i), OperationKind.SUBSCRIBE, sid=0, query=f"goal | t{i}") for i in subscribers
    ] + [
        Operation(100 + i, 90.0 + i / 2, NodeId(i), OperationKind.INSERT, oid="o", tags=("goal", f"x{i}"), text="x")
        for i in range(PEOPLE)
    ]
    scenario = scenario_of(
        {
            "nodes": PEOPLE,
            "approach": "dcs",
            "seed": seed,
            "venue": {"width_m": WIDTH_M, "height_m": HEIGHT_M},
            "movement": {"model": "file", "file": str(file)},
            "time": {"until_s": 130.0},
        },
        "test",
    )
    events = simulate(scenario, operations).events.to_pylist()
    told = {(event["node"], event["object"]) for event in events if event["kind"] == "notified"}
    assert len(told) == len(subscribers) * PEOPLE
