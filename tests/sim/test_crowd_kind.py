"""`approach = "auto"` takes what the decision map has for the crowd of a scenario."""

from __future__ import annotations

from typing import Any

import pytest

from thyme.approaches.deciding import decide
from thyme.approaches.decision_table import CrowdKind
from thyme.model.errors import InputError
from thyme.sim.scenario import crowd_of, scenario_of

HALL = {"nodes": 20, "venue": {"width_m": 160.0, "height_m": 80.0}}
WALK = {"model": "waypoint", "mobile_fraction": 1.0}
KINDS: tuple[tuple[dict[str, Any], CrowdKind], ...] = (
    ({}, CrowdKind(20, 2.5)),
    ({"movement": WALK}, CrowdKind(20, 2.5, walking=1.0)),
    ({"churn": {"model": "leave", "fraction": 0.2}}, CrowdKind(20, 2.5, leaving=0.2)),
    ({"churn": {"model": "alternate", "fraction": 0.2}}, CrowdKind(20, 2.5, switching=0.2)),
    ({"radio": {"model": "disc", "range_m": 40.0}}, CrowdKind(20, 0.313)),
)


@pytest.mark.parametrize(("more", "kind"), KINDS, ids=("standing", "walking", "leaving", "switching", "weak radio"))
def test_it_is_what_the_map_has_for_the_crowd(more: dict[str, Any], kind: CrowdKind) -> None:
    left_open = scenario_of({**HALL, **more, "approach": "auto"}, "test")
    assert crowd_of(left_open) == kind
    assert left_open.approach == decide(kind).approach
    assert left_open == scenario_of({**HALL, **more, "approach": left_open.approach}, "test")


def test_settings_need_an_approach_that_they_are_of() -> None:
    with pytest.raises(InputError, match="takes no settings"):
        scenario_of({**HALL, "approach": "auto", "settings": {"paper": True}}, "test")
