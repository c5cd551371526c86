"""Placement: where nodes stand at the start, and movements in which nobody moves.

A placement is an array of (node, 2) in metres. Uniform is the papers' (Thyme FGCS §9.2, DRIP §VI-A);
a topology file fixes it, so that the same places can be tried elsewhere.
"""

from __future__ import annotations

import csv
from math import isfinite
from pathlib import Path

import numpy as np

from thyme.model.errors import InputError
from thyme.world.mobility.model import Crowd, Mobility, check_size
from thyme.world.movement import Floats, Leg, Movement, movement_of_legs
from thyme.world.streams import stream

TOPOLOGY_HEADER = ("node", "x_m", "y_m")


class Static(Mobility, frozen=True, tag="static"):
    """Everybody stays at a place of their own, drawn uniformly over the venue."""

    def make(self, crowd: Crowd) -> Movement:
        width_m, height_m = crowd.venue.width_m, crowd.venue.height_m
        return static(uniform_places(crowd.nodes, width_m, height_m, crowd.seed), width_m, height_m)


class Places(Mobility, frozen=True, tag="file"):
    """Everybody stays where a topology file puts them."""

    file: str
    """CSV with the header node,x_m,y_m and a row per node; a relative path starts at the scenario or study that names
    it."""

    @property
    def source(self) -> str:
        return self.file

    def make(self, crowd: Crowd) -> Movement:
        placed = read_topology(Path(self.file), crowd.venue.width_m, crowd.venue.height_m)
        return check_size(self.file, placed, crowd)


def uniform_places(nodes: int, width_m: float, height_m: float, seed: int) -> Floats:
    """Independent uniform places, as an array of (node, 2)."""
    if nodes < 1:
        raise InputError(f"{nodes} nodes cannot be placed; give at least one")
    draws = [stream(seed, "placement", node).random(2) for node in range(nodes)]
    return np.array(draws, dtype=np.float64) * (width_m, height_m)


def static(places: Floats, width_m: float, height_m: float) -> Movement:
    """The movement in which every node stays where `places` puts it."""
    return movement_of_legs(width_m, height_m, [[Leg(0.0, float(x_m), float(y_m))] for x_m, y_m in places])


def read_places(path: Path) -> Floats:
    """The places of a topology file: CSV, header `node,x_m,y_m`, nodes numbered from 0 without gaps."""
    if not path.is_file():
        raise InputError(f"there is no topology at {path}; give a CSV file with columns {', '.join(TOPOLOGY_HEADER)}")
    places: dict[int, tuple[float, float]] = {}
    with path.open(newline="", encoding="utf-8") as file:
        rows = csv.reader(file)
        header = tuple(field.strip() for field in next(rows, []))
        if header != TOPOLOGY_HEADER:
            raise InputError(
                f"{path}, line 1: expected the header {','.join(TOPOLOGY_HEADER)}, found {','.join(header)}"
            )
        for row in rows:
            if not row:
                continue
            where = f"{path}, line {rows.line_num}"
            try:
                node, x_m, y_m = int(row[0]), float(row[1]), float(row[2])
            except (ValueError, IndexError):
                raise InputError(
                    f"{where}: expected a node and two distances in metres, found {','.join(row)}"
                ) from None
            if not (isfinite(x_m) and isfinite(y_m)) or node in places:
                raise InputError(f"{where}: node {node} is given twice or not at a finite place")
            places[node] = (x_m, y_m)
    if not places or sorted(places) != list(range(len(places))):
        raise InputError(f"{path}: nodes must be numbered 0, 1, 2, … without gaps, and there must be at least one")
    return np.array([places[node] for node in range(len(places))], dtype=np.float64)


def read_topology(path: Path, width_m: float | None = None, height_m: float | None = None) -> Movement:
    """A static movement from a topology file, in the given area or else the smallest that holds all nodes."""
    places = read_places(path)
    width_m = width_m if width_m is not None else max(1.0, float(places[:, 0].max()))
    height_m = height_m if height_m is not None else max(1.0, float(places[:, 1].max()))
    outside = (places < 0.0).any(axis=1) | (places > (width_m, height_m)).any(axis=1)
    if outside.any():
        node = int(np.argmax(outside))
        raise InputError(f"{path}: node {node} is outside the area of {width_m:g} m × {height_m:g} m")
    return static(places, width_m, height_m)


def write_topology(path: Path, places: Floats) -> None:
    """Write places as a topology file that `read_places` reads back exactly."""
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(TOPOLOGY_HEADER)
        rows.writerows((node, repr(float(x_m)), repr(float(y_m))) for node, (x_m, y_m) in enumerate(places))
