"""The scalar Kalman predictor of SocialCast's appendix, and the component that says when to trust it (§IV).

The state is a random walk that is seen through noise: Y = X + W with W of variance R, X' = X + V with V of variance
Q. (The appendix's scalar model writes Q for the former and R for the latter; its general model and its recursion
have them as here.) The variance of the prediction does not depend on what is observed, so a predictor that starts
late may take over the variance of one that has run from the start.
"""

from __future__ import annotations

from math import inf

import msgspec

from thyme.model.errors import InputError


class KalmanOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The paper does not give the two noises; `docs/approaches/socialcast.md` shows what depends on them."""

    state_noise: float = 0.01
    """Q: how much the true value may change from one sample to the next."""
    observation_noise: float = 0.1
    """R: how far a sample may be from the true value."""
    first_estimate: float = 0.0
    first_variance: float = 1.0

    def __post_init__(self) -> None:
        if not 0.0 <= self.first_estimate <= 1.0:
            raise InputError(f"kalman: first_estimate is {self.first_estimate:g}; expected a value from 0 to 1")
        if not 0.0 <= self.state_noise < inf:
            raise InputError(f"kalman: state_noise (Q) is {self.state_noise:g}; expected a finite number, Q ≥ 0")
        if not 0.0 < self.observation_noise < inf:
            raise InputError(
                f"kalman: observation_noise (R) is {self.observation_noise:g}; expected a finite number, R > 0"
            )
        if not 0.0 <= self.first_variance < inf:
            raise InputError(f"kalman: first_variance is {self.first_variance:g}; expected a finite number, at least 0")


class TrustOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The predictability component: a prediction is trusted while its mean absolute error stays within a bound."""

    error_bound: float = 0.3
    """Samples of 0 and 1 drawn at random, 1 with probability p, are predicted with an error of 2p(1 − p): this bound
    distrusts them unless p is below 0.18 or above 0.82. 0.5 and more trusts them all."""
    memory_samples: int = 50
    """Over how many samples the error is averaged, with weights that fall off exponentially."""

    def __post_init__(self) -> None:
        if not 0.0 <= self.error_bound <= 1.0:
            raise InputError(f"trust: error_bound is {self.error_bound:g}; expected a value from 0 to 1")
        if self.memory_samples < 1:
            raise InputError(f"trust: memory_samples is {self.memory_samples}; expected at least 1")


class Predictor:
    """Predicts the next value of one attribute from those seen so far, all from 0 to 1, as predictions then are."""

    __slots__ = ("_noise", "_weight", "error", "estimate", "variance")

    def __init__(self, kalman: KalmanOptions, trust: TrustOptions, variance: float | None = None) -> None:
        self.estimate = kalman.first_estimate
        """X̂: what the next sample is predicted to be."""
        self.variance = kalman.first_variance if variance is None else variance
        """Ω: the variance of that prediction."""
        self.error = 0.0
        """Mean absolute error of the predictions so far."""
        self._noise = (kalman.observation_noise, kalman.state_noise)
        self._weight = 1.0 / trust.memory_samples

    def observe(self, value: float) -> None:
        observation_noise, state_noise = self._noise
        surprise = value - self.estimate
        self.error += self._weight * (abs(surprise) - self.error)
        variance = self.variance
        gain = variance / (variance + observation_noise)
        self.estimate += gain * surprise
        self.variance = variance + state_noise - gain * variance
