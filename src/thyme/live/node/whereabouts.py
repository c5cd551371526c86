"""Where a device is, as its application finds out: positions come, and whether it is on its way follows from them.

A device that has moved by a step is on its way until it has stayed for a while, and then stands still again, which is
what mobility mode of Thyme-DCS goes by. Smaller changes are what a receiver of satellites makes up.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import Protocol

from thyme.host import Timer
from thyme.model.errors import InputError
from thyme.model.geometry import Point

STEP_M = 3.0
"""Less than this is not a step: receivers of phones are off by more than that when they stand still for long."""
STILL_S = 10.0
"""Who has not made a step for so long has stopped."""


class Placed(Protocol):
    """What a host does with it."""

    def position(self) -> Point: ...
    def moving(self) -> bool: ...
    def place(self, position: Point, *, moving: bool = False) -> None: ...
    def after(self, delay_s: float, action: Callable[[], None]) -> Timer: ...


class Whereabouts:
    """Of one device."""

    def __init__(self) -> None:
        self._stopping: Timer | None = None
        self._from: Point | None = None
        """Where the last step ended."""

    def place(self, host: Placed, x_m: object, y_m: object) -> None:
        here = Point(_metres("x_m", x_m), _metres("y_m", y_m))
        if self._from is None:
            self._from = host.position()
        if here.distance_m(self._from) < STEP_M:
            host.place(here, moving=host.moving())
            return
        self._from = here
        host.place(here, moving=True)
        if self._stopping is not None:
            self._stopping.cancel()
        self._stopping = host.after(STILL_S, lambda: host.place(host.position(), moving=False))


def _metres(name: str, given: object) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float) or not isfinite(given):
        raise InputError(f"{name} is {given!r}; give a number of metres from the south-west corner of the area")
    return float(given)
