"""Detecting abilities: how much a node perceives, and so how well it would serve as a broker (DRIP §IV-A, §VI-A).

Abilities follow a power law: the density of x ≥ 1 is proportional to x^-exponent. Each node's is drawn from a
stream of its own, a function of seed and node alone, so that a workload can give the events to those who detect
them. With random selection a second stream decides who becomes a broker, and abilities only who detects.
"""

from __future__ import annotations

from random import Random

from thyme.approaches.drip.options import DripOptions


def detecting_ability(seed: int, node: int, exponent: float) -> float:
    """ξ of a node."""
    share = Random(f"{seed}/{node}/ability").random()
    return float((1.0 - share) ** (-1.0 / (exponent - 1.0)))


def standing_of(options: DripOptions, node: int) -> float:
    """What decides whether a node becomes a broker: the k highest do."""
    if options.selection == "random":
        return Random(f"{options.ability_seed}/{node}/standing").random()
    return ability_of(options, node)


def ability_of(options: DripOptions, node: int) -> float:
    return options.ability or detecting_ability(options.ability_seed, node, options.exponent)
