"""`approach = "auto"` takes what the decision map has for the crowd of a scenario."""

from __future__ import annotations

from typing import Any

import pytest

from thyme.approaches.deciding import CrowdKind, decide
from thyme.model.errors import InputError
from thyme.sim.scenario import crowd_of, scenario_of

HALL = {"nodes": 20, "venue": {"width_m": 80.0, "height_m": 80.0}}
WALK = {"model": "waypoint", "mobile_fraction": 1.0}


@pytest.mark.parametrize("more", [{}, {"movement": WALK}], ids=("standing", "walking"))
def test_it_is_what_the_map_has_for_the_crowd(more: dict[str, Any]) -> None:
    left_open = scenario_of({**HALL, **more, "approach": "auto"}, "test")
    kind = crowd_of(left_open)
    assert kind == CrowdKind(19.0, 1.0 if more else 0.0)
    assert left_open.approach == decide(kind).approach
    assert left_open == scenario_of({**HALL, **more, "approach": left_open.approach}, "test")


def test_standing_and_walking_crowds_get_different_ones() -> None:
    standing, walking = (scenario_of({**HALL, **more, "approach": "auto"}, "test") for more in ({}, {"movement": WALK}))
    assert standing.approach != walking.approach


def test_settings_need_an_approach_that_they_are_of() -> None:
    with pytest.raises(InputError, match="takes no settings"):
        scenario_of({**HALL, "approach": "auto", "settings": {"paper": True}}, "test")
