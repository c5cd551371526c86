"""Movement traces: reading and writing where people walked.

Three formats: ns-2 movement (`setdest`), BonnMotion (one line of `t x y` triples per node) and The ONE's external
movement (a header with the bounds, then `time node x y`). A reader gives nodes numbers from 0 and keeps their
names. `read_movement` finds out by content which format a file has.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import hypot
from pathlib import Path
from typing import Literal

from thyme.model.errors import InputError
from thyme.model.geometry import Point
from thyme.world.files.lines import TraceLine, in_order, read_lines
from thyme.world.mobility.model import Crowd, Mobility, check_size
from thyme.world.movement import Leg, Movement, movement_of_legs, trip, walk

MovementFormat = Literal["ns2", "bonnmotion", "one"]
JUMP_M = 1e-3
"""A node that starts a leg further than this from where its last one ended has jumped: no format can say so."""

SAME_INSTANT_S = 1e-9

_NS2 = '`$node_(i) set X_ metres` or `$ns_ at seconds "$node_(i) setdest x y speed"`'
_BONNMOTION = "triples `t x y` in ascending order of time"
_ONE = "`time node x y`"
_ONE_HEADER = "`minTime maxTime minX maxX minY maxY` in ascending pairs"

_Waypoint = tuple[float, float, float]
_PLACE = re.compile(r"^\$node_\((\w+)\)\s+set\s+([XYZ])_\s+(\S+)$")
_COMMAND = re.compile(r'^\$ns_\s+at\s+(\S+)\s+"\$node_\((\w+)\)\s+setdest\s+(\S+)\s+(\S+)\s+(\S+?)"$')


class RecordedMovement(Mobility, frozen=True, tag="trace"):
    """Movement from a trace (ns-2, BonnMotion or The ONE)."""

    file: str
    """The movement trace; its format is recognised."""

    @property
    def source(self) -> str:
        return self.file

    def make(self, crowd: Crowd) -> Movement:
        traced = read_movement(Path(self.file), width_m=crowd.venue.width_m, height_m=crowd.venue.height_m)
        return check_size(self.file, traced.movement, crowd)


@dataclass(frozen=True, slots=True)
class TracedMovement:
    """Movement from a file, and the name that each node has in it."""

    movement: Movement
    names: tuple[str, ...]


def movement_format(lines: Sequence[TraceLine]) -> MovementFormat:
    """Which format these lines are in, by their first two."""
    if lines[0].text.startswith("$"):
        return "ns2"
    lengths = [len(line.fields) for line in lines[:2]]
    if lengths[0] in (6, 8) and len(lengths) == 2 and lengths[1] in (4, 5):
        return "one"
    if all(length % 3 == 0 for length in lengths):
        return "bonnmotion"
    raise lines[0].wrong(f"a movement trace: {_NS2}; {_BONNMOTION}; or {_ONE_HEADER} and then {_ONE}")


def read_movement(
    path: Path,
    form: MovementFormat | None = None,
    width_m: float | None = None,
    height_m: float | None = None,
) -> TracedMovement:
    """Read a movement trace; without an area, the one in the file or the smallest that holds all nodes."""
    lines = read_lines(path)
    match form if form is not None else movement_format(lines):
        case "ns2":
            ways = _ns2_ways(lines)
        case "bonnmotion":
            ways = {str(node): walk(_bonnmotion_waypoints(line)) for node, line in enumerate(lines)}
        case "one":
            ways = _one_ways(lines)
            bounds = _one_bounds(lines[0])
            width_m = width_m if width_m is not None else bounds[3] - bounds[2]
            height_m = height_m if height_m is not None else bounds[5] - bounds[4]
    names = in_order(list(ways))
    legs = [leg for way in ways.values() for leg in way]
    width_m = width_m if width_m is not None else max(1.0, *(leg.x_m for leg in legs))
    height_m = height_m if height_m is not None else max(1.0, *(leg.y_m for leg in legs))
    for name in names:
        _check_inside(path, name, ways[name], width_m, height_m)
    return TracedMovement(movement_of_legs(width_m, height_m, [ways[name] for name in names]), names)


def _check_inside(path: Path, name: str, legs: list[Leg], width_m: float, height_m: float) -> None:
    for leg in legs:
        if not (-JUMP_M <= leg.x_m <= width_m + JUMP_M and -JUMP_M <= leg.y_m <= height_m + JUMP_M):
            raise InputError(
                f"{path}: node {name} is at ({leg.x_m:g}, {leg.y_m:g}) m at {leg.start_s:g} s, "
                f"outside the area of {width_m:g} m × {height_m:g} m; give a larger one or shift the trace"
            )


def write_movement(path: Path, movement: Movement, form: MovementFormat, until_s: float) -> None:
    """Write where nodes walk until `until_s`; nodes are named by their numbers."""
    ways = [_waypoints(movement, node, until_s) for node in range(movement.nodes)]
    lines = _WRITERS[form](movement, ways, until_s)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _ns2_ways(lines: Sequence[TraceLine]) -> dict[str, list[Leg]]:
    places: dict[str, dict[str, float]] = {}
    commands: dict[str, list[tuple[float, TraceLine, list[float]]]] = {}
    for line in lines:
        if line.text.startswith("$god_"):
            continue
        if found := _PLACE.match(line.text):
            (places.setdefault(found[1], {})[found[2]],) = line.numbers([found[3]], _NS2)
        elif found := _COMMAND.match(line.text):
            at_s, x_m, y_m, speed_mps = line.numbers([found[1], *found.groups()[2:]], _NS2)
            if at_s < 0.0 or speed_mps < 0.0:
                raise line.wrong(_NS2)
            commands.setdefault(found[2], []).append((at_s, line, [x_m, y_m, speed_mps]))
        else:
            raise line.wrong(_NS2)
    for name, given in commands.items():
        if not {"X", "Y"} <= places.get(name, {}).keys():
            raise given[0][1].wrong(f"that X_ and Y_ of node {name} are set, too")
    for name, place in places.items():
        if not {"X", "Y"} <= place.keys():
            raise InputError(f"{lines[0].path}: node {name} has only one of X_ and Y_")
    return {name: _ns2_way(Point(place["X"], place["Y"]), commands.get(name, [])) for name, place in places.items()}


def _ns2_way(here: Point, commands: list[tuple[float, TraceLine, list[float]]]) -> list[Leg]:
    """Follow a destination command; a new command replaces an unfinished one, and a finished one ends in a pause."""
    legs = [Leg(0.0, here.x_m, here.y_m)]
    goal, arrival_s = here, 0.0
    for at_s, _, (x_m, y_m, speed_mps) in sorted(commands, key=lambda command: command[0]):
        if at_s >= arrival_s - SAME_INSTANT_S:
            _add(legs, Leg(arrival_s, goal.x_m, goal.y_m))
            here = goal
        else:
            last = legs[-1]
            gone_s = at_s - last.start_s
            here = Point(last.x_m + last.vx_mps * gone_s, last.y_m + last.vy_mps * gone_s)
        if speed_mps == 0.0:
            goal, arrival_s = here, at_s
            continue
        goal = Point(x_m, y_m)
        leg, arrival_s = trip(at_s, here, goal, speed_mps)
        _add(legs, leg)
    _add(legs, Leg(arrival_s, goal.x_m, goal.y_m))
    return legs


def _add(legs: list[Leg], leg: Leg) -> None:
    """Add a leg; legs that start at the same time or later are removed."""
    while legs and legs[-1].start_s >= leg.start_s - SAME_INSTANT_S:
        legs.pop()
    legs.append(leg)


def _bonnmotion_waypoints(line: TraceLine) -> list[_Waypoint]:
    values = line.numbers(line.fields, _BONNMOTION)
    if not values or len(values) % 3:
        raise line.wrong(_BONNMOTION)
    waypoints = list(zip(values[0::3], values[1::3], values[2::3], strict=True))
    if any(later[0] <= sooner[0] for sooner, later in pairwise(waypoints)):
        raise line.wrong(_BONNMOTION)
    return waypoints


def _one_bounds(line: TraceLine) -> list[float]:
    bounds = line.numbers(line.fields, _ONE_HEADER)
    if len(bounds) not in (6, 8) or bounds[1] < bounds[0] or bounds[3] <= bounds[2] or bounds[5] <= bounds[4]:
        raise line.wrong(_ONE_HEADER)
    return bounds


def _one_ways(lines: Sequence[TraceLine]) -> dict[str, list[Leg]]:
    """Times and places count from the lower bounds, as The ONE itself normalises them."""
    bounds = _one_bounds(lines[0])
    waypoints: dict[str, list[_Waypoint]] = {}
    for line in lines[1:]:
        fields = line.fields
        if len(fields) not in (4, 5):
            raise line.wrong(_ONE)
        at_s, x_m, y_m = line.numbers([fields[0], *fields[2:4]], _ONE)
        way = waypoints.setdefault(fields[1], [])
        if way and at_s - bounds[0] <= way[-1][0]:
            raise line.wrong(f"a later time than the line before about node {fields[1]}")
        way.append((at_s - bounds[0], x_m - bounds[2], y_m - bounds[4]))
    if not waypoints:
        raise lines[0].wrong(f"lines {_ONE} after the header")
    return {name: walk(way) for name, way in waypoints.items()}


def _waypoints(movement: Movement, node: int, until_s: float) -> list[_Waypoint]:
    """Where a node is at 0 s, wherever it changes its velocity, and at `until_s`."""
    legs = [leg for leg in movement.node_legs(node) if leg.start_s < until_s]
    legs = legs or movement.node_legs(node)[:1]
    waypoints = [(leg.start_s, leg.x_m, leg.y_m) for leg in legs]
    if waypoints[0][0] > 0.0:
        waypoints.insert(0, (0.0, waypoints[0][1], waypoints[0][2]))
    for leg, (at_s, x_m, y_m, *_) in pairwise(legs):
        gone_s = at_s - leg.start_s
        if hypot(leg.x_m + leg.vx_mps * gone_s - x_m, leg.y_m + leg.vy_mps * gone_s - y_m) > JUMP_M:
            raise InputError(f"node {node} jumps at {at_s:g} s; movement traces can only describe straight lines")
    end = movement.position(node, until_s)
    if until_s > waypoints[-1][0]:
        waypoints.append((until_s, end.x_m, end.y_m))
    return waypoints


def _ns2_lines(_: Movement, ways: list[list[_Waypoint]], __: float) -> list[str]:
    lines: list[str] = []
    for node, way in enumerate(ways):
        lines += [
            f"$node_({node}) set {axis}_ {value!r}" for axis, value in zip("XYZ", (*way[0][1:], 0.0), strict=True)
        ]
    orders: list[tuple[float, int, str]] = []
    for node, way in enumerate(ways):
        for (at_s, x_m, y_m), (then_s, to_x_m, to_y_m) in pairwise(way):
            distance_m = hypot(to_x_m - x_m, to_y_m - y_m)
            if distance_m > 0.0:
                order = f"setdest {to_x_m!r} {to_y_m!r} {distance_m / (then_s - at_s)!r}"
                orders.append((at_s, node, f'$ns_ at {at_s!r} "$node_({node}) {order}"'))
    return lines + [text for _, _, text in sorted(orders)]


def _bonnmotion_lines(_: Movement, ways: list[list[_Waypoint]], __: float) -> list[str]:
    return [" ".join(repr(value) for waypoint in way for value in waypoint) for way in ways]


def _one_lines(movement: Movement, ways: list[list[_Waypoint]], until_s: float) -> list[str]:
    header = f"0 {until_s!r} 0 {movement.width_m!r} 0 {movement.height_m!r}"
    rows = sorted((at_s, node, x_m, y_m) for node, way in enumerate(ways) for at_s, x_m, y_m in way)
    return [header, *(f"{at_s!r} {node} {x_m!r} {y_m!r}" for at_s, node, x_m, y_m in rows)]


_WRITERS: dict[MovementFormat, Callable[[Movement, list[list[_Waypoint]], float], list[str]]] = {
    "ns2": _ns2_lines,
    "bonnmotion": _bonnmotion_lines,
    "one": _one_lines,
}
