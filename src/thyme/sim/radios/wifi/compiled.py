"""Compilation of the radio's inner functions.

Inner functions are compiled as part of the few entry points that Python calls, and only those are cached on
disk. A cached entry point must not outlive a change in another file of the kernel, which numba cannot see, so
entry points carry the digest of all kernel sources as a closure variable: it is part of the cache key.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

from numba import njit

# every module whose code is compiled
KERNEL = (
    "access.py",
    "air.py",
    "book.py",
    "error_model.py",
    "events.py",
    "exchange.py",
    "interference.py",
    "kernel.py",
    "places.py",
    "queues.py",
    "randomness.py",
    "state.py",
    "timing.py",
)

Function = TypeVar("Function", bound=Callable[..., Any])


# Python owns all tables: compiled code need not count references to them (and must not make arrays of its own)
_BORROWING: Any = {"error_model": "numpy", "_nrt": False}


def compiled(function: Function) -> Function:
    """A function that only compiled code calls."""
    return cast(Function, njit(**_BORROWING)(function))


def opening(function: Function) -> Function:
    """A function that makes tables out of addresses, for compiled code."""
    return cast(Function, njit(error_model="numpy")(function))


def cached(function: Function) -> Function:
    """An entry point: called from Python, kept on disk."""
    return cast(Function, njit(cache=True, error_model="numpy")(function))


def sources_digest() -> int:
    """A number that changes whenever any compiled module does."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent / name for name in KERNEL):
        digest.update(path.read_bytes())
    return int.from_bytes(digest.digest()[:6], "big")
