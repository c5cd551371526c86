"""Tooltips of a picture: areas of its axes, as shares of the picture, each with a sentence.

A picture in a page is an image without values; the page puts these areas over it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HALF_HEIGHT = 0.03
"""Of the picture, above and below a point of a line."""
MIN_WIDTH = 0.02
"""Minimum width of an area, as a share of the picture: narrower ones are hard to point at."""


class Spot(msgspec.Struct, frozen=True):
    """From one x to another in the axes' own numbers; at some y, or for bars the whole height."""

    from_x: float
    to_x: float
    y: float | None
    told: str


class Mark(msgspec.Struct, frozen=True):
    """A place of a picture, in shares of its width and height from the top left corner."""

    left: float
    top: float
    width: float
    height: float
    told: str


def marks_of(axes: Axes, spots: Sequence[Spot]) -> tuple[Mark, ...]:
    """Spots as places of the picture, once the figure is laid out."""
    whole = axes.figure.bbox
    frame = axes.get_window_extent()
    found = []
    for spot in spots:
        y = axes.get_ylim()[0] if spot.y is None else spot.y
        left, at_y = axes.transData.transform((spot.from_x, y))
        right, _ = axes.transData.transform((spot.to_x, y))
        width = max((right - left) / whole.width, MIN_WIDTH)
        centre = (left + right) / 2 / whole.width
        if spot.y is None:
            top, height = 1.0 - frame.y1 / whole.height, frame.height / whole.height
        else:
            top, height = 1.0 - at_y / whole.height - HALF_HEIGHT, 2 * HALF_HEIGHT
        found.append(Mark(centre - width / 2, top, width, height, spot.told))
    return tuple(found)
