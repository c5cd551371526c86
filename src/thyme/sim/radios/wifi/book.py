"""The address book: how the tables are handed to compiled code in one argument.

Unpacking twenty arrays for every call would cost more than most calls do. So Python keeps the tables alive and
writes their addresses and lengths into one array of integers, and compiled code makes them tables again.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thyme.compiled import carray, inner, pointer
from thyme.sim.radios.wifi.state import (
    CHUNK,
    CONFIG,
    COUNT,
    DESK,
    EVENT,
    FRAME,
    GRID,
    HEARER,
    LEG,
    NODE,
    OVERLAP,
    PACKET,
    TOLD,
    Ether,
)

Book = NDArray[np.int64]
NUMBER = np.dtype(np.int64)


def address_book(ether: Ether) -> Book:
    """Addresses and lengths of all tables, good as long as `ether` lives."""
    return np.array([[table.ctypes.data, len(table)] for table in ether], dtype=np.int64)


@inner
def opened(book: Book) -> Ether:
    """The tables that a book tells of, in the order of `Ether`'s fields."""
    return Ether(
        carray(pointer(book[0, 0]), book[0, 1], CONFIG),
        carray(pointer(book[1, 0]), book[1, 1], DESK),
        carray(pointer(book[2, 0]), book[2, 1], NODE),
        carray(pointer(book[3, 0]), book[3, 1], COUNT),
        carray(pointer(book[4, 0]), book[4, 1], FRAME),
        carray(pointer(book[5, 0]), book[5, 1], HEARER),
        carray(pointer(book[6, 0]), book[6, 1], NUMBER),
        carray(pointer(book[7, 0]), book[7, 1], OVERLAP),
        carray(pointer(book[8, 0]), book[8, 1], PACKET),
        carray(pointer(book[9, 0]), book[9, 1], EVENT),
        carray(pointer(book[10, 0]), book[10, 1], TOLD),
        carray(pointer(book[11, 0]), book[11, 1], GRID),
        carray(pointer(book[12, 0]), book[12, 1], NUMBER),
        carray(pointer(book[13, 0]), book[13, 1], NUMBER),
        carray(pointer(book[14, 0]), book[14, 1], NUMBER),
        carray(pointer(book[15, 0]), book[15, 1], NUMBER),
        carray(pointer(book[16, 0]), book[16, 1], NUMBER),
        carray(pointer(book[17, 0]), book[17, 1], LEG),
        carray(pointer(book[18, 0]), book[18, 1], CHUNK),
    )
