"""A device's position from a file: whatever knows it writes `X,Y` in metres there, and a node follows.

The file is looked at now and then, and read when it has changed. What cannot be read while the node runs, such as half
a line that somebody is just writing, leaves the device where it was, and is warned of once until it can be read again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from math import isfinite
from pathlib import Path

from thyme.host import Timer
from thyme.model.errors import InputError
from thyme.model.geometry import Point

logger = logging.getLogger("thyme.live")

LOOK_S = 0.5
"""Who walks makes less than a step meanwhile."""
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
