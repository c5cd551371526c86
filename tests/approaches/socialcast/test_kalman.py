"""The predictor: the appendix's recursion, and when its predictions are trusted."""

from __future__ import annotations

from collections.abc import Iterable
from math import sqrt
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thyme.approaches.socialcast.utilities import KalmanOptions, Predictor, TrustOptions
from thyme.model.errors import InputError

samples = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=60)


def test_one_step_is_the_appendix_recursion() -> None:
    predictor = Predictor(KalmanOptions(0.01, 0.1, first_estimate=0.2, first_variance=0.4), TrustOptions())
    predictor.observe(1.0)
    assert predictor.estimate == pytest.approx(0.2 + 0.4 / 0.5 * 0.8)
    assert predictor.variance == pytest.approx(0.4 + 0.01 - 0.4**2 / 0.5)


def test_the_variance_settles_where_state_noise_and_gain_balance() -> None:
    state, observation = 0.01, 0.1
    predictor = Predictor(KalmanOptions(state, observation), TrustOptions())
    for _ in range(500):
        predictor.observe(0.0)
    assert predictor.variance == pytest.approx((state + sqrt(state**2 + 4 * state * observation)) / 2)


def test_observation_noise_slows_the_estimate_and_state_noise_quickens_it() -> None:
    def after_ten_ones(state: float, observation: float) -> float:
        predictor = Predictor(KalmanOptions(state, observation, first_variance=0.0), TrustOptions())
        for _ in range(10):
            predictor.observe(1.0)
        return predictor.estimate

    assert after_ten_ones(0.01, 1.0) < after_ten_ones(0.01, 0.1) < after_ten_ones(0.1, 0.1)


@given(samples, st.floats(0.0, 1.0), st.floats(0.001, 1.0))
def test_estimates_stay_within_what_was_observed(values: list[float], state: float, observation: float) -> None:
    predictor = Predictor(KalmanOptions(state, observation), TrustOptions())
    for value in values:
        predictor.observe(value)
    assert min(0.0, *values) - 1e-9 <= predictor.estimate <= max(0.0, *values) + 1e-9
    assert predictor.variance >= 0.0


@given(samples, samples)
def test_the_variance_does_not_depend_on_what_is_observed(one: list[float], other: list[float]) -> None:
    length = min(len(one), len(other))
    predictors = [Predictor(KalmanOptions(), TrustOptions()) for _ in range(2)]
    for predictor, values in zip(predictors, (one, other), strict=True):
        for value in values[:length]:
            predictor.observe(value)
    assert predictors[0].variance == predictors[1].variance


def test_the_error_tells_a_steady_series_from_an_erratic_one() -> None:
    steady, erratic = (Predictor(KalmanOptions(), TrustOptions(memory_samples=10)) for _ in range(2))
    for step in range(200):
        steady.observe(1.0)
        erratic.observe(float(step % 2))
    assert steady.error < 0.01
    assert erratic.error > 0.5


@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf")])
@pytest.mark.parametrize(
    ("name", "bound"),
    [
        ("state_noise", "number ≥ 0"),
        ("observation_noise", "number > 0"),
        ("first_variance", "number ≥ 0"),
        ("first_estimate", "number ≥ 0 and ≤ 1"),
    ],
)
def test_impossible_noises_are_refused_with_their_value_and_bound(name: str, bound: str, value: float) -> None:
    with pytest.raises(InputError, match=f"{name} is {value:g}; expected a .*{bound}"):
        KalmanOptions(**{name: value})


def test_no_observation_noise_at_all_is_refused() -> None:
    with pytest.raises(InputError, match="observation_noise is 0; expected a number > 0"):
        KalmanOptions(observation_noise=0.0)


def error_of(series: Iterable[bool]) -> float:
    predictor = Predictor(KalmanOptions(), TrustOptions())
    for value in series:
        predictor.observe(float(value))
    return predictor.error


def test_a_random_series_is_distrusted_by_default_and_a_persistent_one_trusted() -> None:
    """The paper's example of what cannot be predicted, and what the whole idea rests on: people who stay together."""
    bound = TrustOptions().error_bound
    for seed in range(20):
        random = Random(seed)
        assert error_of(random.random() < 0.5 for _ in range(300)) > bound
        stays = (period % 60 < 30 for period in range(300 + seed))
        assert error_of(stays) < bound


def test_the_error_of_a_random_series_is_that_of_its_mean() -> None:
    for share in (0.1, 0.3, 0.5):
        random = Random(f"{share}")
        errors = [error_of([random.random() < share for _ in range(400)]) for _ in range(200)]
        assert sum(errors) / len(errors) == pytest.approx(2 * share * (1 - share), abs=0.02)


def test_impossible_trust_is_refused() -> None:
    with pytest.raises(InputError, match="error_bound is 2"):
        TrustOptions(error_bound=2.0)
    with pytest.raises(InputError, match="memory_samples is 0"):
        TrustOptions(memory_samples=0)
