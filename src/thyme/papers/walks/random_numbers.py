"""Random numbers for the walk kernels: SplitMix64 on a one-element array.

A generator of our own, because a compiled kernel may not share numba's hidden global state and because golden
values must not change with a library's version. Every stream is named by a tuple of integers, so any network
and any draw can be made again alone, in any order and on any machine.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thyme.compiled import compiled

Dice = NDArray[np.uint64]

_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX_A = np.uint64(0xBF58476D1CE4E5B9)
_MIX_B = np.uint64(0x94D049BB133111EB)
_SHIFT_30 = np.uint64(30)
_SHIFT_27 = np.uint64(27)
_SHIFT_31 = np.uint64(31)
_SHIFT_11 = np.uint64(11)
_UNIT = 1.0 / (1 << 53)


@compiled
def roll(dice: Dice) -> np.uint64:
    dice[0] = dice[0] + _STEP
    z = dice[0]
    z = (z ^ (z >> _SHIFT_30)) * _MIX_A
    z = (z ^ (z >> _SHIFT_27)) * _MIX_B
    return np.uint64(z ^ (z >> _SHIFT_31))


@compiled
def reseed(dice: Dice, a: int, b: int, c: int, d: int, e: int) -> None:
    """Starts the stream that belongs to five integers."""
    dice[0] = np.uint64(a)
    dice[0] = roll(dice) ^ np.uint64(b)
    dice[0] = roll(dice) ^ np.uint64(c)
    dice[0] = roll(dice) ^ np.uint64(d)
    dice[0] = roll(dice) ^ np.uint64(e)
    dice[0] = roll(dice)


@compiled
def unit(dice: Dice) -> float:
    """Uniform in [0, 1)."""
    return float(roll(dice) >> _SHIFT_11) * _UNIT


@compiled
def below(dice: Dice, bound: int) -> int:
    """Uniform in 0 … bound − 1."""
    return int(unit(dice) * bound)


@compiled
def choose_distinct(dice: Dice, among: int, count: int) -> NDArray[np.int32]:
    """`count` different numbers below `among`, in the order drawn: the first steps of a shuffle."""
    pool = np.empty(among, np.int32)
    for i in range(among):
        pool[i] = i
    for i in range(count):
        j = i + below(dice, among - i)
        pool[i], pool[j] = pool[j], pool[i]
    return pool[:count].copy()
