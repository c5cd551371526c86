"""ProPHET's delivery predictabilities, towards topics instead of nodes: the score of a reference router.

P grows with every encounter of a subscriber, ages with time, and is passed on through whoever is met. Lindgren et
al. address nodes; here a topic stands for all of its subscribers, since publish/subscribe knows no destination.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from thyme.approaches.socialcast.neighbours import Neighbour
from thyme.model.ids import NodeId
from thyme.model.settings import SettingsRecord
from thyme.model.settings.bounds import Share
from thyme.wire.socialcast import UNIT, Topic

KNOWN_TOPICS = 256


class ProphetOptions(SettingsRecord, frozen=True):
    encounter: Share = 0.75
    """P_init: how far an encounter takes P towards one."""
    transitivity: Share = 0.25
    """β: how much of what a neighbour can reach counts as reachable through it."""
    ageing_per_period: Share = 0.98
    """γ of that protocol, per period."""


class Predictabilities:
    """The `CarrierScore` of ProPHET."""

    def __init__(self, options: ProphetOptions) -> None:
        self._options = options
        self._before: frozenset[NodeId] = frozenset()
        self._reach: dict[Topic, float] = {}

    def observe(self, present: Mapping[NodeId, Neighbour], own: Iterable[Topic]) -> None:
        options = self._options
        for topic in self._reach:
            self._reach[topic] *= options.ageing_per_period
        for node, neighbour in present.items():
            if node in self._before:
                continue
            for topic in neighbour.topics:
                self._raise(topic, options.encounter)
            for topic, utility in neighbour.listed():
                self._raise(topic, options.encounter * options.transitivity * utility / UNIT)
        for topic in own:
            self._raise(topic, 1.0)
        self._before = frozenset(present)

    def table(self) -> tuple[list[Topic], list[int], int]:
        listed = [(topic, int(UNIT * value)) for topic, value in self._reach.items() if UNIT * value >= 1.0]
        return [topic for topic, _ in listed], [value for _, value in listed], 0

    def score(self, tags: Sequence[str]) -> int:
        values = [value for topic, value in self._reach.items() if all(tag in tags for tag in topic)]
        return int(UNIT * max(values, default=0.0))

    def _raise(self, topic: Topic, towards_one: float) -> None:
        value = self._reach.get(topic)
        if value is None:
            if len(self._reach) >= KNOWN_TOPICS:
                del self._reach[min(self._reach, key=lambda one: self._reach[one])]
            value = 0.0
        self._reach[topic] = value + (1.0 - value) * towards_one
