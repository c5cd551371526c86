"""The address book: how the tables are handed to compiled code in one argument.

Unpacking twenty arrays for every call would cost more than most calls do. So Python keeps the tables alive and
writes their addresses and lengths into one array of integers, hands over the address of that, and compiled code makes
them tables again (`compiled.address_book`, `compiled.opener`).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from thyme.compiled import opener
from thyme.sim.radios.radio import TOLD
from thyme.sim.radios.wifi.state import (
    CHUNK,
    CONFIG,
    COUNT,
    DESK,
    ENDED,
    EVENT,
    FRAME,
    GRID,
    HEAD,
    HEARER,
    LEG,
    NEARBY,
    NODE,
    OVERLAP,
    PACKET,
    PLACE,
    SEEN,
    STATION,
    Ether,
)

NUMBER, SHORT, POWER = np.dtype(np.int64), np.dtype(np.int32), np.dtype(np.float64)

_ROWS = (
    *(
        CONFIG,
        DESK,
        NODE,
        STATION,
        PLACE,
        COUNT,
        FRAME,
        HEARER,
        POWER,
        NUMBER,
        SHORT,
        OVERLAP,
        PACKET,
        EVENT,
        TOLD,
        HEAD,
        ENDED,
        GRID,
    ),
    *(NUMBER, NUMBER, NUMBER, NUMBER, SEEN, SHORT, NEARBY, NUMBER, NUMBER, NUMBER, LEG, POWER, POWER, CHUNK),
)

opened: Callable[[int], Ether] = opener(dict(zip(Ether._fields, _ROWS, strict=True)))
"""In compiled code: the tables that the book at an address tells of."""
