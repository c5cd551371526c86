"""The delay of §V-C: three formulas for one expectation."""

from __future__ import annotations

from math import exp
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thyme.model.errors import InputError
from thyme.papers.drip.figures import (
    delays,
    equation_2,
    exact_delay,
    meeting_time,
    printed_delay,
    series_delay,
)


@settings(max_examples=25)
@given(st.floats(0.01, 10.0), st.integers(1, 8), st.integers(1, 8))
def test_the_exact_delay_is_the_integral_of_equation_1(rate: float, copies: int, destinations: int) -> None:
    step = 0.005 / (rate * copies)
    late = (exp(-rate * copies * (i + 0.5) * step) for i in range(4_000))
    left = (1.0 - (1.0 - each) ** destinations for each in late)
    assert sum(left) * step == pytest.approx(exact_delay(rate, copies, destinations), rel=1e-3)


def test_the_exact_delay_is_what_drawn_meetings_take() -> None:
    random = Random(5)
    rate, copies, destinations = 0.2, 3, 4
    drawn = [
        max(min(random.expovariate(rate) for _ in range(copies)) for _ in range(destinations)) for _ in range(20_000)
    ]
    mean = sum(drawn) / len(drawn)
    assert mean == pytest.approx(exact_delay(rate, copies, destinations), rel=0.03)
    assert mean != pytest.approx(printed_delay(rate, copies, destinations), rel=0.5)


def test_the_series_is_exact_up_to_two_destinations_and_the_printed_formula_for_one_only() -> None:
    one, two, four = (delays(0.5, 2, destinations) for destinations in (1, 2, 4))
    assert one.printed == one.exact == one.series == 1.0
    assert two.series == pytest.approx(two.exact) == 1.5
    assert two.printed == 2.5
    assert (four.printed, four.series) == (7.0, 1.0)
    assert four.exact == pytest.approx(25.0 / 12.0)
    assert series_delay(0.5, 2, 6) < 0.0, "the series is cut too early for many destinations"


def test_equation_2_as_printed() -> None:
    # N = 100, k = 10: α = 2 √(100 / 10π) = 3.5682, α / (2α − 1) = 0.58148, 0.34 log 100 = 1.56576.
    assert meeting_time(100.0, 10) == pytest.approx(50.0 * (1.56576 - 2.0 + 0.58148), rel=1e-4)
    assert equation_2(100.0, 10, 2, 4) == pytest.approx(28.0 / 16.0 * 100.0 * 0.14724, rel=1e-3)


def test_equation_2_falls_with_copies_and_grows_with_destinations_and_brokers() -> None:
    assert equation_2(400.0, 20, 4, 5) < equation_2(400.0, 20, 2, 5)
    assert equation_2(400.0, 20, 4, 5) > equation_2(400.0, 20, 4, 4)
    assert equation_2(400.0, 40, 4, 5) > equation_2(400.0, 10, 4, 5)


def test_wrong_parameters_of_the_analysis_are_refused() -> None:
    with pytest.raises(InputError, match="λ is 0"):
        exact_delay(0.0, 1, 1)
    with pytest.raises(InputError, match="m is 0"):
        printed_delay(1.0, 0, 1)
    with pytest.raises(InputError, match="α is"):
        meeting_time(4.0, 100)
