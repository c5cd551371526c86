"""Pictures: every figure as PNG and as SVG, in one style, drawn the same on every machine.

Text is drawn as shapes, so a viewer needs no font, and files contain no creation time. On disk both formats have the
same name.

Tooltips are areas of a picture's axes, as shares of the picture, each with a sentence: a picture in a page is an image
without values; the page puts these areas over it.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure

from thyme.model.errors import InputError
from thyme.places import Place, write_file

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


PNG_DPI = 160
SUFFIXES = (".png", ".svg")

INK, MUTED, GRID = "#1c2430", "#5b6675", "#e6e9ee"
COLOURS = ("#0b7a75", "#d1495b", "#edae49", "#3d5a98", "#8a5a99", "#6b8e23", "#a05a2c", "#4d4d4d")
APPROACH_COLOURS = {
    "Thyme-ES": "#3d5a98",
    "Thyme-LS": "#edae49",
    "Thyme-DCS": "#0b7a75",
    "Thyme-DCS of the papers": "#8fbfa3",
    "SocialCast": "#d1495b",
    "DRIP": "#8a5a99",
    "Directional walks": "#a05a2c",
}
"""An approach has its colour in every report."""
OPERATION_COLOURS = {
    "insert": "#0b7a75",
    "subscribe": "#edae49",
    "delete": "#d1495b",
    "unsubscribe": "#3d5a98",
    "retrieve": "#8a5a99",
    "notification": "#4d4d4d",
}
WIDE_IN = 7.5
"""A picture that is wider than this cannot be read in half of a page."""
PALER = 0.6
"""What each further series of an approach keeps of its colour."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 10.5,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.9,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "svg.fonttype": "path",
    "svg.hashsalt": "thyme",
    "legend.frameon": False,
    "legend.fontsize": 9.5,
}


def colours_of(names: Sequence[str]) -> dict[str, str]:
    """A colour for each: the one that belongs to an approach or an operation, paler for each further series of it
    (`Thyme-LS, walking 0.5`), and one that is left for any other."""
    own = APPROACH_COLOURS | OPERATION_COLOURS
    found: dict[str, str] = {}
    times: dict[str, int] = {}
    for name in names:
        family = name.partition(",")[0]
        if family in own:
            found[name] = _paler(own[family], times.get(family, 0))
            times[family] = times.get(family, 0) + 1
    left = [colour for colour in COLOURS if colour not in found.values()]
    strangers = [name for name in names if name not in found]
    return found | {name: left[i % len(left)] for i, name in enumerate(strangers)}


def _paler(colour: str, steps: int) -> str:
    whiter = 1.0 - PALER**steps
    red, green, blue = (part + (1.0 - part) * whiter for part in to_rgb(colour))
    return to_hex((red, green, blue))


class Picture(msgspec.Struct, frozen=True):
    """A figure in both formats, with its name as a file and what it shows."""

    name: str
    title: str
    caption: str
    png: bytes
    svg: bytes
    marks: tuple[Mark, ...] = ()
    """Tooltips of the picture on a page."""
    wide: bool = False
    """Whether it needs the width of a page."""


def to_picture(figure: Figure, name: str, title: str, caption: str, dpi: int = PNG_DPI) -> Picture:
    png, svg = io.BytesIO(), io.BytesIO()
    figure.savefig(png, format="png", dpi=dpi, metadata={"Software": None})
    figure.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
    wide = bool(figure.get_figwidth() > WIDE_IN)
    return Picture(name, title, caption, png.getvalue(), svg.getvalue(), wide=wide)


def save_picture(picture: Picture, path: Path) -> tuple[Path, Path]:
    """Write both formats, whichever of them the path names (or none); earlier ones are replaced."""
    if path.suffix in SUFFIXES:
        path = path.with_suffix("")
    elif path.suffix:
        raise InputError(f"{path}: pictures are written as .png and .svg; expected one of these endings, or none")
    png, svg = (path.with_name(path.name + suffix) for suffix in SUFFIXES)
    try:
        write_file(png, picture.png)
        write_file(svg, picture.svg)
    except OSError as error:
        raise InputError(f"{path}: the picture cannot be written there ({error.strerror or error})") from error
    return png, svg


def write_pictures(pictures: Sequence[Picture], folder: Place) -> None:
    """Write every picture of a report into a folder."""
    for picture in pictures:
        write_file(folder / f"{picture.name}.png", picture.png)
        write_file(folder / f"{picture.name}.svg", picture.svg)
