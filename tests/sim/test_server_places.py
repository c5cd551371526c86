"""Where a scenario puts the servers that an approach needs."""

from __future__ import annotations

import pytest

from thyme.sim.run import movement_for
from thyme.sim.scenario import scenario_of

ES = {"nodes": 4, "approach": "es", "servers": 2, "venue": {"width_m": 90.0, "height_m": 40.0}}


def places(servers_at: str, topology: int = 0) -> list[tuple[float, float]]:
    scenario = scenario_of({**ES, "servers_at": servers_at, "topology": topology}, "test")
    return [(x_m, y_m) for x_m, y_m in movement_for(scenario).positions(100.0).tolist()]


def test_servers_stand_on_the_middle_line_in_a_corner_or_anywhere() -> None:
    assert places("middle")[4:] == [pytest.approx((30.0, 20.0)), pytest.approx((60.0, 20.0))]
    assert places("corner")[4:] == [(0.0, 0.0), (0.0, 0.0)]
    drawn = places("random")[4:]
    assert all(0.0 <= x_m <= 90.0 and 0.0 <= y_m <= 40.0 for x_m, y_m in drawn)
    assert drawn == places("random")[4:]
    assert drawn != places("random", topology=1)[4:]


def test_the_place_of_the_servers_moves_nobody_else() -> None:
    assert places("middle")[:4] == places("corner")[:4] == places("random")[:4]
