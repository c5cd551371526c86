"""The one way to numba: decorators for functions that are compiled, and tables in memory that those functions share.

Without numba, as on a device that runs only a node, the same functions are run by Python. Only modules whose functions
are compiled may import this one: numba takes about a second to start.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

try:
    from thyme.numba_code import borrowing, compiled, entry, inner, tried
    from thyme.numba_tables import carray, opener, pointer, prefetch, prefetch_row
except ModuleNotFoundError as missing:
    if missing.name not in ("numba", "llvmlite"):
        raise
    from thyme.uncompiled import borrowing, carray, compiled, entry, inner, pointer, prefetch

__all__ = [
    "LINE_BYTES",
    "address_book",
    "borrowing",
    "carray",
    "compiled",
    "entry",
    "inner",
    "lined",
    "opener",
    "pointer",
    "prefetch",
    "prefetch_row",
    "tried",
]

LINE_BYTES = 64
"""Bytes of a cache line."""


def lined(rows: int, kind: np.dtype[Any]) -> NDArray[Any]:
    """A table whose first row begins a cache line."""
    room: NDArray[np.uint8] = np.zeros(rows * kind.itemsize + LINE_BYTES, np.uint8)
    start = -room.ctypes.data % LINE_BYTES
    return room[start : start + rows * kind.itemsize].view(kind)


def address_book(tables: Iterable[NDArray[Any]]) -> NDArray[np.int64]:
    """What an `opener` opens by its address: the address and length of each of these tables."""
    return np.array([[table.ctypes.data, len(table)] for table in tables], dtype=np.int64)
