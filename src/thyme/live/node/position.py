"""Where a device is: its application reports positions, or a file is followed that something else writes `X,Y` into.

A device that has moved by a step counts as moving until it has stayed for a while, which decides about the mobility
mode of Thyme-DCS; smaller changes are noise of a satellite receiver. The file is read when it has changed. What cannot
be read while the node runs leaves the device where it was, with one warning until it can be read again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from math import isfinite
from pathlib import Path
from typing import Protocol

from thyme.host import Timer
from thyme.model.errors import InputError
from thyme.model.geometry import Point

STEP_M = 3.0
"""Less than this is not a step: receivers of phones are off by more than that when they stand still for long."""
STILL_S = 10.0
"""A node that has not made a step for this long has stopped."""


class Placed(Protocol):
    """What a host does with it."""

    def position(self) -> Point: ...
    def moving(self) -> bool: ...
    def place(self, position: Point, *, moving: bool = False) -> None: ...
    def after(self, delay_s: float, action: Callable[[], None]) -> Timer: ...


class MovementDetector:
    """Whether one device is moving, from the positions that its application reports."""

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


logger = logging.getLogger("thyme.live")

LOOK_S = 0.5
"""Short enough that a walking person makes less than a step."""
MAX_BYTES = 1_000
"""Of the file that are read; two numbers take less."""

After = Callable[[float, Callable[[], None]], Timer]
Place = Callable[[float, float], None]


def read_position(path: Path) -> Point:
    try:
        with path.open("rb") as file:
            text = file.read(MAX_BYTES).decode("utf-8", "replace").strip()
    except OSError as error:
        raise InputError(
            f"position file {path}: {error.strerror or error}; write X,Y in metres to it, such as 12.5,40"
        ) from error
    return position_of(text, f"position file {path}: ")


def position_of(text: str, where: str = "") -> Point:
    """Two numbers of metres with a comma between them."""
    try:
        x_m, y_m = (float(part) for part in text.split(","))
    except ValueError as error:
        raise InputError(f"{where}{text[:40]!r}: expected two numbers of metres, such as 12.5,40") from error
    if not (isfinite(x_m) and isfinite(y_m)):
        raise InputError(f"{where}{text[:40]!r}: a place has finite numbers of metres, such as 12.5,40")
    return Point(x_m, y_m)


class PositionFile:
    """Followed from `begin` on, as long as the timers of the node act."""

    def __init__(self, path: Path, place: Place, after: After) -> None:
        self._path = path
        self._place = place
        self._after = after
        self._seen = self._stamp()
        self._warned = False

    def begin(self) -> None:
        self._after(LOOK_S, self._look)

    def _look(self) -> None:
        stamp = self._stamp()
        if stamp != self._seen:
            self._seen = stamp
            self._read()
        self.begin()

    def _read(self) -> None:
        try:
            here = read_position(self._path)
        except InputError as error:
            if not self._warned:
                self._warned = True
                logger.warning("%s; the device stays where it was", error)
            return
        self._warned = False
        self._place(here.x_m, here.y_m)

    def _stamp(self) -> tuple[int, ...]:
        """What changes with the file."""
        try:
            found = self._path.stat()
        except OSError:
            return ()
        return (found.st_mtime_ns, found.st_size, found.st_ino)
