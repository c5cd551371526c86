"""Utilities: how good a carrier this node is for each topic (SocialCast §IV).

Two attributes are sampled once per period: whether a subscriber of the topic is near, and how much the set of
neighbours has changed. A Kalman predictor each says what they will be next, and their weighted sum is the utility.
An attribute whose predictions have been too wrong lately counts for nothing: the node then does not put itself
forward. The paper leaves open what follows from a lack of trust.

The predictor is the scalar one of the appendix. The state is a random walk that is seen through noise: Y = X + W with W
of variance R, X' = X + V with V of variance Q. (The appendix's scalar model writes Q for the former and R for the
latter; its general model and its recursion have them as here.) The variance of the prediction, and so the gain, does
not depend on what is observed: predictors that observe at the same instants can share one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isclose
from typing import Protocol

from thyme.approaches.socialcast.neighbours import Neighbour
from thyme.model.errors import InputError
from thyme.model.ids import NodeId
from thyme.model.settings import SettingsRecord, check_bounds
from thyme.model.settings.bounds import AtLeastOne, NotNegative, Positive, Share
from thyme.wire.socialcast import UNIT, Topic


class KalmanOptions(SettingsRecord, frozen=True):
    """The paper does not give the two noises; docs/lab/socialcast.md shows what depends on them."""

    state_noise: NotNegative = 0.01
    """Q: how much the true value may change from one sample to the next."""
    observation_noise: Positive = 0.1
    """R: how far a sample may be from the true value."""
    first_estimate: Share = 0.0
    """The prediction before the first sample."""
    first_variance: NotNegative = 1.0
    """The variance before the first sample."""


class TrustOptions(SettingsRecord, frozen=True):
    """The predictability component: a prediction is trusted while its mean absolute error stays within a bound."""

    error_bound: Share = 0.3
    """Samples of 0 and 1 drawn at random, 1 with probability p, are predicted with an error of 2p(1 − p): this bound
    distrusts them unless p is below 0.18 or above 0.82. 0.5 and more trusts them all."""
    memory_samples: AtLeastOne = 50
    """Over how many samples the error is averaged, with weights that fall off exponentially."""


class Predictor:
    """Predicts the next value of one attribute from those seen so far, all from 0 to 1, as predictions then are."""

    __slots__ = ("_noise", "_weight", "error", "estimate", "variance")

    def __init__(self, kalman: KalmanOptions, trust: TrustOptions) -> None:
        self.estimate = kalman.first_estimate
        """X̂: what the next sample is predicted to be."""
        self.variance = kalman.first_variance
        """Ω: the variance of that prediction."""
        self.error = 0.0
        """Mean absolute error of the predictions so far."""
        self._noise = (kalman.observation_noise, kalman.state_noise)
        self._weight = 1.0 / trust.memory_samples

    @property
    def gain(self) -> float:
        """How far the next sample moves the estimate."""
        return self.variance / (self.variance + self._noise[0])

    def observe(self, value: float) -> None:
        gain, variance = self.gain, self.variance
        self.follow(value, gain)
        self.variance = variance + self._noise[1] - gain * variance

    def follow(self, value: float, gain: float) -> None:
        """Observe with the gain of a predictor that has observed as often as the node has had turns."""
        surprise = value - self.estimate
        self.error += self._weight * (abs(surprise) - self.error)
        self.estimate += gain * surprise


class UtilityOptions(SettingsRecord, frozen=True):
    weight_colocation: Share = 0.75
    """w_col: weight of the prediction that a subscriber is near."""
    weight_connectivity: Share = 0.25
    """w_cdc: weight of the prediction of changes of the neighbourhood."""
    kalman: KalmanOptions = KalmanOptions()
    trust: TrustOptions = TrustOptions()
    known_topics: AtLeastOne = 256
    """Topics with a prediction; the least likely one is dropped."""

    def __post_init__(self) -> None:
        check_bounds(self)
        weights = (self.weight_colocation, self.weight_connectivity)
        if not isclose(sum(weights), 1.0, abs_tol=1e-9):
            raise InputError(
                f"weight_colocation is {weights[0]:g} and weight_connectivity {weights[1]:g}; "
                "expected two numbers from 0 to 1 that sum to one"
            )


class CarrierScore(Protocol):
    """What a node says of itself as a carrier, in thousandths per topic and for all topics not listed."""

    def observe(self, present: Mapping[NodeId, Neighbour], own: Iterable[Topic]) -> None:
        """A period has passed, in which these neighbours were heard; the node itself subscribes to `own`."""

    def table(self) -> tuple[list[Topic], list[int], int]: ...
    def score(self, tags: Sequence[str]) -> int:
        """For a message with these tags: the best of the topics that it belongs to."""


def change_degree(before: frozenset[NodeId], now: frozenset[NodeId]) -> float:
    """U_cdc: the share of those met in the last period that came or went."""
    met = len(before | now)
    return len(before ^ now) / met if met else 0.0


class Utilities:
    """The `CarrierScore` of the paper."""

    def __init__(self, options: UtilityOptions) -> None:
        self._options = options
        self._before: frozenset[NodeId] = frozenset()
        self._connectivity = Predictor(options.kalman, options.trust)
        self._colocation: dict[Topic, Predictor] = {}
        self._compound: list[Topic] = []

    def observe(self, present: Mapping[NodeId, Neighbour], own: Iterable[Topic]) -> None:
        now = frozenset(present)
        near: dict[Topic, None] = {}
        for neighbour in present.values():
            for topic in neighbour.topics:
                near[topic] = None
        for topic in near:
            if topic not in self._colocation:
                self._learn(topic)
        gain = self._connectivity.gain
        for topic, predictor in self._colocation.items():
            predictor.follow(1.0 if topic in near else 0.0, gain)
        self._connectivity.observe(change_degree(self._before, now))
        self._before = now

    def table(self) -> tuple[list[Topic], list[int], int]:
        elsewhere = self._part(self._connectivity, self._options.weight_connectivity)
        weight, bound = UNIT * self._options.weight_colocation, self._options.trust.error_bound
        topics: list[Topic] = []
        values: list[int] = []
        for topic, predictor in self._colocation.items():
            value = weight * predictor.estimate
            if value >= 1.0 and predictor.error <= bound:
                topics.append(topic)
                values.append(int(elsewhere + value))
        return topics, values, int(elsewhere)

    def score(self, tags: Sequence[str]) -> int:
        topics: list[Topic] = [(tag,) for tag in tags]
        topics += [topic for topic in self._compound if all(tag in tags for tag in topic)]
        best = 0.0
        for topic in topics:
            predictor = self._colocation.get(topic)
            if predictor is not None:
                best = max(best, self._part(predictor, self._options.weight_colocation))
        return int(self._part(self._connectivity, self._options.weight_connectivity) + best)

    def _part(self, predictor: Predictor, weight: float) -> float:
        if predictor.error > self._options.trust.error_bound:
            return 0.0
        return UNIT * weight * predictor.estimate

    def _learn(self, topic: Topic) -> None:
        if len(self._colocation) >= self._options.known_topics:
            known = self._colocation
            del known[min(known, key=lambda one: known[one].estimate)]
        options = self._options
        self._colocation[topic] = Predictor(options.kalman, options.trust)
        self._compound = [known for known in self._colocation if len(known) != 1]
