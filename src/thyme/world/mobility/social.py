"""The social network behind community mobility (SocialCast §V-A).

Caves of friends, some of whose ties are rewired to other caves, give a matrix of tie strengths; the communities
are what Girvan and Newman's algorithm finds in the ties above a threshold, at the largest modularity. Where
the paper is silent the values are those of the model's published reference code.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import msgspec
import numpy as np

from thyme.model.errors import InputError
from thyme.world.movement import Floats, Ints
from thyme.world.streams import stream

FURTHER_SPLITS = 4
"""Girvan–Newman continues for this many splits beyond the best partition before it stops."""


class Caves(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How ties between people are made."""

    caves: int = 10
    """Groups of people who know each other."""
    rewiring: float = 0.1
    """Probability that an inner tie becomes weak and an outer one strong."""
    weak: float = 0.1
    """Ties outside a cave are U(0, weak), ties inside are 1 − U(0, weak)."""
    threshold: float = 0.1
    """Ties above this make two people connected."""
    detection: Literal["girvan-newman", "caves"] = "girvan-newman"
    """The algorithm takes seconds at 300 people and hours at 1,000; there, take the caves for the communities."""

    def __post_init__(self) -> None:
        if self.caves < 1 or not 0.0 <= self.rewiring <= 1.0 or not 0.0 < self.weak <= self.threshold < 0.5:
            raise InputError(
                "caves: expected at least one cave, rewiring between 0 and 1, and 0 < weak ≤ threshold < 0.5"
            )


@dataclass(frozen=True, slots=True)
class SocialNetwork:
    """Ties between people, and the community of each (numbered from 0 by their lowest member)."""

    ties: Floats
    cave: Ints
    community: Ints

    @property
    def communities(self) -> int:
        return int(self.community.max()) + 1

    def members(self, community: int) -> tuple[int, ...]:
        return tuple(int(node) for node in np.flatnonzero(self.community == community))


def caveman(nodes: int, how: Caves, seed: int) -> SocialNetwork:
    """A caveman network with rewiring, and its communities."""
    if nodes < how.caves:
        raise InputError(f"{nodes} nodes cannot fill {how.caves} caves; give fewer caves or more nodes")
    cave = np.arange(nodes, dtype=np.int64) * how.caves // nodes
    ties = _ties(cave, how, seed)
    if how.detection == "caves":
        return SocialNetwork(ties, cave, cave)
    # Compiled code takes a while to load, and few scenarios need it.
    from thyme.world.mobility.social_kernel import split_by_betweenness

    found = split_by_betweenness(ties > how.threshold, FURTHER_SPLITS)
    return SocialNetwork(ties, cave, np.asarray(found, dtype=np.int64))


def _ties(cave: Ints, how: Caves, seed: int) -> Floats:
    nodes = len(cave)
    ties = np.zeros((nodes, nodes))
    draws = [stream(seed, "ties", node) for node in range(nodes)]
    for node in range(1, nodes):
        weak = how.weak * draws[node].random(node)
        strength = np.where(cave[:node] == cave[node], 1.0 - weak, weak)
        ties[node, :node], ties[:node, node] = strength, strength
    for node in range(1, nodes):
        for friend in range(node):
            if cave[friend] == cave[node] and draws[node].random() < how.rewiring:
                _rewire(ties, cave, node, friend, draws[node], how.weak)
    return ties


def _rewire(ties: Floats, cave: Ints, node: int, friend: int, draws: np.random.Generator, weak: float) -> None:
    """Loosen a tie within the cave and fasten one to a stranger instead."""
    strangers = np.flatnonzero((cave != cave[node]) & (ties[node] <= weak))
    if len(strangers) == 0:
        return
    stranger = int(strangers[draws.integers(len(strangers))])
    ties[node, friend] = ties[friend, node] = weak * draws.random()
    ties[node, stranger] = ties[stranger, node] = 1.0 - weak * draws.random()
