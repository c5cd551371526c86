"""What `thyme.compiled` offers where numba is not installed: the same functions, run by Python.

A node needs few of them and calls them for one frame at a time. Tables at an address are numpy arrays of records whose
fields are attributes, as they are in compiled code.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    return function


entry = inner = borrowing = compiled


def pointer(address: int) -> int:
    return int(address)


def carray(address: int, rows: int, row: Any) -> Any:
    """The rows at an address."""
    kind: np.dtype[Any] = np.dtype(row)
    memory = (ctypes.c_char * (max(1, int(rows)) * kind.itemsize)).from_address(address)
    table = np.frombuffer(memoryview(memory), kind, int(rows))
    return table if kind.names is None else table.view(np.recarray)


def prefetch(address: int) -> None:
    """Nothing is fetched ahead."""
