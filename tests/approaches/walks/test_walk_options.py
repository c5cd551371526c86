"""Parameters of the walks' protocol outside their bounds are refused by name."""

from __future__ import annotations

from typing import Any

import pytest

from thyme.approaches.registry import find_approach
from thyme.model.errors import InputError


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"settle_s": -1.0}, "settle_s is -1.0: it is at least 0"),
        ({"settle_s": float("nan")}, "settle_s is nan"),
        ({"link_tries": 0}, "link_tries is 0"),
        ({"link_retry_s": 0.0}, "link_retry_s is 0.0: it has to be positive"),
        ({"subscriptions_known": 0}, "subscriptions_known is 0"),
        ({"events_remembered": 0}, "events_remembered is 0"),
        ({"walker": {"attempts": 0}}, "attempts is 0"),
        ({"walker": {"offer_window_s": 0.0}}, "offer_window_s is 0.0"),
        ({"filters": {"cells": 0}}, "cells"),
        ({"filters": {"hashes": 0}}, "hashes"),
        ({"walkers": {}}, "walkers"),
    ],
)
def test_wrong_parameters_are_refused_by_name(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        find_approach("walks").configure(settings)
