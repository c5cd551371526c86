"""Intervals between runs hold the median as surely as they say, and never leave what was seen."""

from __future__ import annotations

from math import comb
from random import Random

import pytest

from thyme.pipeline.metrics.intervals import CONFIDENCE, MIN_SURE_RUNS, rank_of


def confidence_of(runs: int) -> float:
    """How surely the interval of so many runs holds the median."""
    return 1.0 - 2.0 * sum(comb(runs, i) for i in range(rank_of(runs))) / 2**runs if runs > 1 else 0.0


def test_few_runs_are_told_whole_and_many_without_their_tails() -> None:
    assert [rank_of(runs) for runs in (1, 2, 5, 6, 8, 9, 20, 100)] == [1, 1, 1, 1, 1, 2, 6, 40]
    assert confidence_of(MIN_SURE_RUNS - 1) < CONFIDENCE <= confidence_of(MIN_SURE_RUNS)
    assert [confidence_of(runs) for runs in (1, 2, 3)] == [0.0, 0.5, 0.75]
    assert all(confidence_of(runs) >= CONFIDENCE for runs in range(MIN_SURE_RUNS, 300))
    assert rank_of(10_000) == 10 * rank_of(1_000)


@pytest.mark.parametrize("runs", [6, 9, 20])
def test_the_interval_holds_the_median_of_a_skewed_distribution(runs: int) -> None:
    draws = Random(runs)
    held = 0
    for _ in range(2_000):
        values = sorted(draws.expovariate(1.0) for _ in range(runs))
        k = rank_of(runs)
        held += values[k - 1] <= 0.693147 <= values[-k]
    assert held / 2_000 == pytest.approx(confidence_of(runs), abs=0.02)
