"""Figures of gathered values: exact, whatever their order and size."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thyme.pipeline.metrics.run_events import exact_mean
from thyme.pipeline.metrics.runs import lowest

VALUES = st.lists(st.floats(-1e18, 1e18), min_size=1, max_size=20)


@given(VALUES)
def test_a_mean_lies_among_its_values_and_does_not_depend_on_their_order(values: list[float]) -> None:
    mean = exact_mean(np.array(values))
    assert mean is not None
    slack = 1e-9 + 1e-12 * max(map(abs, values))
    assert min(values) - slack <= mean <= max(values) + slack
    shuffled = np.random.default_rng(len(values)).permutation(values)
    assert exact_mean(shuffled) == mean


def test_large_values_do_not_run_over() -> None:
    assert exact_mean(np.array([9e15, 7e15])) == pytest.approx(8e15)


def test_the_lowest_success_is_that_of_an_operation_not_of_a_page() -> None:
    shares = {"all.success": 0.99, "insert.success": 0.97, "more.success": 0.25, "recall": 0.98}
    assert lowest(shares) == {"lowest.success": 0.97}
    assert lowest({**shares, "recall": 0.5}) == {"lowest.success": 0.5}
    assert lowest({"all.success": 0.99}) == {}
