"""Parameters of the walks' protocol outside their bounds are refused by name."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from thyme.approaches.registry import find_approach
from thyme.model.errors import InputError
from thyme.papers.walks.readings import WalkOptions


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"settle_s": -1.0}, "settle_s is -1.0; expected a number >= 0"),
        ({"settle_s": float("nan")}, "settle_s is nan"),
        ({"link_tries": 0}, "link_tries is 0"),
        ({"link_retry_s": 0.0}, "link_retry_s is 0.0; expected a number > 0"),
        ({"subscriptions_known": 0}, "subscriptions_known is 0"),
        ({"events_remembered": 0}, "events_remembered is 0"),
        ({"walker": {"attempts": 0}}, "attempts is 0"),
        ({"walker": {"offer_window_s": 0.0}}, "offer_window_s is 0.0; "),
        ({"settle_s": float("inf")}, "settle_s is inf; expected a finite number ≥ 0"),
        ({"published": 0}, "published is 0"),
        ({"link_retry_s": float("inf")}, "link_retry_s is inf; expected a finite number > 0"),
        ({"walker": {"slow_step_s": float("inf")}}, "slow_step_s is inf; expected a finite number > 0"),
        ({"walker": {"rest_s": float("nan")}}, "rest_s is nan"),
        ({"walker": {"longest_pause_s": 0.0}}, "longest_pause_s is 0.0; "),
        ({"walker": {"shut_attempts": 0}}, "shut_attempts is 0"),
        ({"walker": {"method": "fastest"}}, "fastest"),
        ({"walker": {"alpha": float("inf")}}, "alpha is inf; expected a weight from 0 to 1000000"),
        ({"walker": {"beta": float("nan")}}, "beta is nan"),
        ({"filters": {"cells": 0}}, "cells"),
        ({"filters": {"hashes": 0}}, "hashes"),
        ({"walkers": {}}, "walkers"),
    ],
)
def test_wrong_parameters_are_refused_by_name(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        find_approach("walks").configure(settings)


@pytest.mark.parametrize("wrong", [float("inf"), float("nan"), -1.0, 2e6])
@pytest.mark.parametrize("weight", ["alpha", "beta", "penalty"])
def test_weights_of_a_batch_have_named_bounds(weight: str, wrong: float) -> None:
    with pytest.raises(InputError, match=rf"{weight} is .* (1000000|> 0 and ≤ 1e\+06)"):
        msgspec.structs.replace(WalkOptions(), **{weight: wrong})
