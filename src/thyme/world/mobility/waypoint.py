"""Random waypoint: walk straight to a uniform point, pause, toss a coin, and so on.

The coin is the Thyme paper's: before each move a mobile node decides whether to move at all, and a tail
means another pause (FGCS §9.3.3). Its cells are static there, so a node may be kept from waypoints (or whole
ways) in cells that were empty at the start, and from leaving a cell that would be empty without it (§9.1): it
then moves within its cell. A node on its way between cells counts for none of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from heapq import heapify, heappop, heappush
from itertools import pairwise
from math import ceil, floor
from typing import Literal

from numpy.random import Generator

from thyme.model.errors import InputError
from thyme.model.geometry import Point
from thyme.model.settings import check_bounds
from thyme.model.settings.bounds import NotNegative, Positive, Probability, Share
from thyme.world.mobility.model import Crowd, Mobility
from thyme.world.mobility.placement import uniform_places
from thyme.world.movement import Floats, Leg, Movement, movement_of_legs, trip
from thyme.world.streams import chosen, stream
from thyme.world.venue import PAPER_CELL_M

MAX_DRAWS = 50
"""Waypoints drawn before a node that finds no allowed one stays within its cell."""
Cell = tuple[int, int]


class Waypoint(Mobility, frozen=True, tag="waypoint"):
    """People walk straight to random points, pause there, and walk on (Thyme FGCS §9.3.3, DRIP §VI-A)."""

    min_speed_mps: Positive = 1.0
    """The speed of each way is drawn uniformly from here …"""
    max_speed_mps: Positive = 6.0
    """… to here."""
    min_pause_s: NotNegative = 0.0
    """Pauses are drawn uniformly from here …"""
    max_pause_s: NotNegative = 0.0
    """… to here."""
    mobile_fraction: Share = 1.0
    """Share of people who walk."""
    move_probability: Probability = 1.0
    """Probability of walking after a pause; otherwise another pause follows."""
    allowed: Literal["everywhere", "populated waypoints", "populated ways"] = "everywhere"
    """Where waypoints, or whole routes, may be: anywhere, or only in cells that had nodes at the start."""
    keep_cells_populated: bool = False
    """Whether the last one of a cell stays in it."""
    cell_m: Positive = PAPER_CELL_M
    """Side of those cells."""

    def __post_init__(self) -> None:
        check_bounds(self)
        if not 0.0 < self.min_speed_mps <= self.max_speed_mps:
            raise InputError(f"speed {self.min_speed_mps:g} to {self.max_speed_mps:g} m/s, expected 0 < low ≤ high")
        if not 0.0 <= self.min_pause_s <= self.max_pause_s:
            raise InputError(
                f"waypoint: pauses {self.min_pause_s:g} to {self.max_pause_s:g} s: expected 0 ≤ low ≤ high"
            )
        if self.move_probability < 1.0 and self.max_pause_s == 0.0:
            raise InputError("waypoint: with a coin toss the pause must be positive, or a tail would never end")

    def make(self, crowd: Crowd) -> Movement:
        width_m, height_m = crowd.venue.width_m, crowd.venue.height_m
        places = uniform_places(crowd.nodes, width_m, height_m, crowd.seed)
        return random_waypoint(places, width_m, height_m, self, crowd.until_s, crowd.seed)


DRIP_WALK = Waypoint(10.0, 20.0, 2.0, 4.0)
"""DRIP §VI-A."""


def random_waypoint(
    places: Floats, width_m: float, height_m: float, how: Waypoint, until_s: float, seed: int
) -> Movement:
    """Nodes that start at `places` with a pause and walk until `until_s`; the last leg of each is completed.

    Each node draws from its own stream, so nodes are independent of each other except through `keep_cells_populated`.
    """
    walkers = chosen(len(places), how.mobile_fraction, seed, "mobile nodes")
    walk = _Walk([Point(float(x_m), float(y_m)) for x_m, y_m in places], width_m, height_m, how)
    draws = {node: stream(seed, "waypoint", node) for node in walkers}
    agenda = [(walk.pause_s(draws[node]), node) for node in walkers]
    heapify(agenda)
    while agenda:
        at_s, node = heappop(agenda)
        next_s = walk.step(node, at_s, until_s, draws[node])
        if next_s is not None:
            heappush(agenda, (next_s, node))
    return movement_of_legs(width_m, height_m, walk.ways)


class _Walk:
    """The state of all moving nodes: their position or destination, and their legs so far."""

    def __init__(self, here: list[Point], width_m: float, height_m: float, how: Waypoint) -> None:
        self._here = here
        self._width_m, self._height_m, self._how = width_m, height_m, how
        self._occupation = Occupation(here, how.cell_m)
        self._leaves_cell: dict[int, bool] = {}
        self.ways = [[Leg(0.0, place.x_m, place.y_m)] for place in here]

    def step(self, node: int, at_s: float, until_s: float, draws: Generator) -> float | None:
        """Arrive, or toss the coin and stay or set off; returns the time of the node's next step, if any."""
        if node in self._leaves_cell:
            if self._leaves_cell.pop(node):
                self._occupation.enter(cell_of(self._here[node], self._how.cell_m))
            self._append(node, Leg(at_s, self._here[node].x_m, self._here[node].y_m))
            return at_s + self.pause_s(draws)
        if at_s >= until_s:
            return None
        if draws.random() >= self._how.move_probability:
            return at_s + self.pause_s(draws)
        return self._set_off(node, at_s, draws)

    def pause_s(self, draws: Generator) -> float:
        return float(draws.uniform(self._how.min_pause_s, self._how.max_pause_s))

    def _set_off(self, node: int, at_s: float, draws: Generator) -> float:
        here, how = self._here[node], self._how
        cell = cell_of(here, how.cell_m)
        there = self._waypoint(here, draws)
        alone = how.keep_cells_populated and self._occupation.settled(cell) < 2
        if there is None or (alone and cell_of(there, how.cell_m) != cell):
            there = self._place_in(cell, draws)
        leaves = cell_of(there, how.cell_m) != cell
        if leaves:
            self._occupation.leave(cell)
        self._leaves_cell[node] = leaves
        leg, arrival_s = trip(at_s, here, there, float(draws.uniform(how.min_speed_mps, how.max_speed_mps)))
        self._append(node, leg)
        self._here[node] = there
        return arrival_s

    def _waypoint(self, here: Point, draws: Generator) -> Point | None:
        """A uniform point among the allowed ones, or None if too many draws were not allowed."""
        for _ in range(MAX_DRAWS):
            x_part, y_part = draws.random(2)
            there = Point(float(x_part) * self._width_m, float(y_part) * self._height_m)
            if self._is_allowed(here, there):
                return there
        return None

    def _is_allowed(self, here: Point, there: Point) -> bool:
        populated, cell_m = self._occupation.populated, self._how.cell_m
        match self._how.allowed:
            case "everywhere":
                return True
            case "populated waypoints":
                return cell_of(there, cell_m) in populated
            case "populated ways":
                return all(cell in populated for cell in crossed_cells(here, there, cell_m))

    def _place_in(self, cell: Cell, draws: Generator) -> Point:
        """A uniform random point in the part of `cell` inside the area."""
        cell_m = self._how.cell_m
        x_part, y_part = draws.random(2)
        left_m, bottom_m = cell[0] * cell_m, cell[1] * cell_m
        return Point(
            left_m + float(x_part) * (min(left_m + cell_m, self._width_m) - left_m),
            bottom_m + float(y_part) * (min(bottom_m + cell_m, self._height_m) - bottom_m),
        )

    def _append(self, node: int, leg: Leg) -> None:
        """Add a leg; one that starts with the last one (a pause of no length) takes its place."""
        way = self.ways[node]
        if way[-1].start_s >= leg.start_s:
            way.pop()
        way.append(leg)


def cell_of(place: Point, cell_m: float) -> Cell:
    """The column and row of the cell that holds `place`."""
    return floor(place.x_m / cell_m), floor(place.y_m / cell_m)


def crossed_cells(here: Point, there: Point, cell_m: float) -> list[Cell]:
    """The cells on the straight way from `here` to `there`, in order."""
    cuts = {0.0, 1.0}
    for start, end in ((here.x_m, there.x_m), (here.y_m, there.y_m)):
        low, high = min(start, end), max(start, end)
        for line in range(ceil(low / cell_m), floor(high / cell_m) + 1):
            if end != start:
                cuts.add((line * cell_m - start) / (end - start))
    ordered = sorted(cut for cut in cuts if 0.0 <= cut <= 1.0)
    middles = [(one + next_one) / 2.0 for one, next_one in pairwise(ordered)]
    cells = [
        cell_of(
            Point(here.x_m + (there.x_m - here.x_m) * part, here.y_m + (there.y_m - here.y_m) * part),
            cell_m,
        )
        for part in middles
    ]
    return list(dict.fromkeys(cells))


class Occupation:
    """The number of settled nodes in each cell; a node between two cells is settled in none."""

    def __init__(self, places: Iterable[Point], cell_m: float) -> None:
        if cell_m <= 0.0:
            raise InputError(f"cell size {cell_m:g} m must be positive")
        self.cell_m = cell_m
        self._settled = Counter(cell_of(place, cell_m) for place in places)
        self.populated = frozenset(self._settled)

    def settled(self, cell: Cell) -> int:
        return self._settled[cell]

    def enter(self, cell: Cell) -> None:
        self._settled[cell] += 1

    def leave(self, cell: Cell) -> None:
        self._settled[cell] -= 1
        if self._settled[cell] < 0:
            raise AssertionError(f"more nodes left cell {cell} than ever entered it")
