"""Drawing from Python's own randomness in compiled code: the Mersenne Twister of a `random.Random`, where it is kept.

A node draws a number for every update it hears, and the same randomness serves whatever else it does, so both must
draw from one state. CPython keeps it behind the object's head: how many words are used up, then the words. Whether that
is so is looked at before anybody relies on it.
"""

from __future__ import annotations

import ctypes
import sys
from random import Random
from typing import Any

import numpy as np

from thyme.compiled import carray, inner, pointer

_WORD = np.dtype(np.uint32)

_HEAD_BYTES = object.__basicsize__
_WORDS, _AHEAD = 624, 397
_ALL, _HIGH, _LOW, _MATRIX = 0xFFFFFFFF, 0x80000000, 0x7FFFFFFF, 0x9908B0DF
_STEP = 1.0 / 9007199254740992.0


def state_address(random: Random) -> int | None:
    """Where the state of a generator is kept; None if it is not as expected."""
    if sys.implementation.name != "cpython" or type(random).__basicsize__ < _HEAD_BYTES + 4 * (_WORDS + 1):
        return None
    address = id(random) + _HEAD_BYTES
    _, words, _ = random.getstate()
    found = (ctypes.c_uint32 * (_WORDS + 1)).from_address(address)
    return address if (*found[1:], found[0]) == words else None


@inner
def renew(words: Any) -> None:
    """Make the next words."""
    for k in range(_WORDS):
        y = (np.int64(words[1 + k]) & _HIGH) | (np.int64(words[1 + (k + 1) % _WORDS]) & _LOW)
        ahead = np.int64(words[1 + (k + _AHEAD) % _WORDS])
        words[1 + k] = ahead ^ (y >> 1) ^ (_MATRIX if y & 1 else 0)


@inner
def next_word(words: Any) -> int:
    if words[0] >= _WORDS:
        renew(words)
        words[0] = 0
    y = np.int64(words[1 + np.int64(words[0])])
    words[0] += 1
    y ^= y >> 11
    y ^= (y << 7) & 0x9D2C5680
    y ^= (y << 15) & 0xEFC60000
    return int((y ^ (y >> 18)) & _ALL)


@inner
def draw(address: int) -> float:
    """What `random()` of the generator whose state is there would give."""
    words = carray(pointer(address), _WORDS + 1, _WORD)
    high = next_word(words) >> 5
    return (high * 67108864.0 + (next_word(words) >> 6)) * _STEP
