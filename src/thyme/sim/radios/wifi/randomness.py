"""Randomness inside the kernel: one splitmix64 stream per node, seeded by (run seed, node).

A node's draws depend on nothing but its own stream, so the order in which other nodes act never changes them.
"""

from __future__ import annotations

import numpy as np

from thyme.compiled import borrowing
from thyme.sim.radios.wifi.state import Table

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX_A = np.uint64(0xBF58476D1CE4E5B9)
MIX_B = np.uint64(0x94D049BB133111EB)
S27, S30, S31, S11 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(11)


@borrowing
def mixed(word: np.uint64) -> np.uint64:
    word = (word ^ (word >> S30)) * MIX_A
    word = (word ^ (word >> S27)) * MIX_B
    return word ^ (word >> S31)


@borrowing
def seeded(seed: int, node: int) -> np.uint64:
    return mixed(mixed(np.uint64(seed) + GOLDEN) + np.uint64(node) * GOLDEN)


@borrowing
def uniform(station: Table, n: int) -> float:
    """A draw from [0, 1) of node n's stream."""
    station[n].stream = station[n].stream + GOLDEN
    return float(np.int64(mixed(station[n].stream) >> S11)) * (1.0 / 9007199254740992.0)


@borrowing
def below(station: Table, n: int, bound: int) -> int:
    """A whole number from 0 to bound - 1."""
    return int(uniform(station, n) * bound)
