"""Random draws that depend on their names alone.

A draw is named by a seed, a purpose and whole numbers (a user, an index), and nothing else decides its value:
neither the order in which draws are made nor the process that makes them. That is what keeps a trace the same
on one core and on a cluster.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import numpy.typing as npt

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


def uniforms(seed: int, purpose: str, *names: npt.NDArray[Any] | int) -> npt.NDArray[np.float64]:
    """Uniform draws from [0, 1), one for each row of the names, which broadcast like arrays."""
    start = hashlib.blake2b(f"{seed}/{purpose}".encode(), digest_size=8).digest()
    state = np.uint64(int.from_bytes(start, "little"))
    with np.errstate(over="ignore"):
        mixed = np.asarray(state)
        for name in names:
            mixed = _mix(mixed ^ _mix(np.asarray(name).astype(np.uint64) + _GOLDEN))
    draws: npt.NDArray[np.float64] = (mixed >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return draws


def exponentials(seed: int, purpose: str, *names: npt.NDArray[Any] | int) -> npt.NDArray[np.float64]:
    """Draws from the exponential distribution of rate 1."""
    draws: npt.NDArray[np.float64] = -np.log1p(-uniforms(seed, purpose, *names))
    return draws


def _mix(values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    values = values + _GOLDEN
    values = (values ^ (values >> np.uint64(30))) * _FIRST
    values = (values ^ (values >> np.uint64(27))) * _SECOND
    mixed: npt.NDArray[np.uint64] = values ^ (values >> np.uint64(31))
    return mixed
