"""Pictures on disk: each as PNG and as SVG, side by side under one name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from thyme.drafts import write_file
from thyme.model.errors import InputError
from thyme.study.figures.lines import Picture

SUFFIXES = (".png", ".svg")


def save_picture(picture: Picture, path: Path) -> tuple[Path, Path]:
    """Write both formats, whichever of them the path names (or none); earlier ones are replaced."""
    if path.suffix in SUFFIXES:
        path = path.with_suffix("")
    elif path.suffix:
        raise InputError(
            f"{path}: pictures are written as .png and .svg; expected a name with one of these, or neither"
        )
    png, svg = (path.with_name(path.name + suffix) for suffix in SUFFIXES)
    try:
        write_file(png, picture.png)
        write_file(svg, picture.svg)
    except OSError as error:
        raise InputError(f"{path}: the picture cannot be written there ({error.strerror or error})") from error
    return png, svg


def write_pictures(pictures: Sequence[Picture], folder: Path) -> None:
    """Write every picture of a report into a folder."""
    for picture in pictures:
        write_file(folder / f"{picture.name}.png", picture.png)
        write_file(folder / f"{picture.name}.svg", picture.svg)
