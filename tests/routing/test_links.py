"""Cells that do not touch and that the radio joins: which links are listed, used, and left out."""

from __future__ import annotations

from math import sqrt
from random import Random

from cell_crowd import Crowd, letter
from hypothesis import given, settings
from hypothesis import strategies as st

from thyme.model.geometry import Point
from thyme.model.ids import CellId, NodeId
from thyme.routing.cells.grid import Grid
from thyme.routing.cells.planar import MAX_FAR, Far, unconnected
from thyme.routing.cells.steps import End, next_step
from thyme.wire.geographic import Heading
from thyme.wire.routing import Beacon

RANGE_M = 113.0


def far_listed(crowd: Crowd) -> list[tuple[int, ...]]:
    crowd.net.frames.clear()
    crowd.settle(2.0)
    return [message.far for _, _, message in crowd.net.frames if isinstance(message, Beacon)]


def test_where_all_cells_touch_beacons_list_nothing() -> None:
    crowd = Crowd(4, 3, [(c, r) for c in range(4) for r in range(3)]).warm()
    assert not any(far_listed(crowd))


def test_a_message_crosses_an_empty_column_that_the_radio_crosses_and_so_does_one_for_an_empty_cell() -> None:
    crowd = Crowd(5, 1, [(0, 0), (1, 0), (3, 0), (4, 0)]).warm()
    crowd.people[0].router.send_to_cell(crowd.grid.at(4, 0), letter())
    crowd.settle()
    assert crowd.holders() == [3]
    for person in crowd.people:
        person.router.send_to_cell(crowd.grid.at(2, 0), letter())
    crowd.settle()
    assert len(set(crowd.holders()) - {3}) == 1, "one cell stands in for the empty one, whoever asks"


def test_a_cell_that_only_another_member_hears_is_reached_over_that_one() -> None:
    crowd = Crowd(4, 1, [(0, 0), (0, 0), (3, 0)])
    for person, x_m in zip(crowd.people, (2.0, 38.0, 122.0), strict=True):
        person.host.place = Point(x_m, 20.0)
    crowd.warm()
    crowd.people[0].router.send_to_cell(crowd.grid.at(3, 0), letter())
    crowd.settle()
    assert crowd.holders() == [2]
    assert crowd.people[2].arrivals[0].hops == 2


def test_only_the_closest_far_cells_are_listed() -> None:
    grid = Grid(4000.0, 40.0, 40.0)
    heard = {CellId(cell) for cell in range(0, 100, 2)}
    assert len(unconnected(grid, CellId(0), heard)) == MAX_FAR
    assert unconnected(grid, CellId(0), {CellId(1), CellId(2), CellId(4)}) == (4,)


def scattered(seed: int, people: int, per_cell: float) -> tuple[Grid, list[Point]]:
    random, cells = Random(seed), people / per_cell
    columns = max(1, round(sqrt(cells * 1.25)))
    rows = max(1, round(cells / columns))
    places = [Point(random.uniform(0, columns * 40.0), random.uniform(0, rows * 40.0)) for _ in range(people)]
    return Grid(columns * 40.0, rows * 40.0, 40.0), places


def joined_cells(grid: Grid, places: list[Point]) -> dict[CellId, frozenset[CellId]]:
    """The cells that each populated cell can send to, by what its people hear."""
    cells = [grid.cell_of(place) for place in places]
    heard = [
        {c for c, other in zip(cells, places, strict=True) if place.distance_m(other) <= RANGE_M} for place in places
    ]
    lists = [unconnected(grid, cell, near) for cell, near in zip(cells, heard, strict=True)]
    joined: dict[CellId, set[CellId]] = {cell: {c for c in grid.around(cell) if c in cells} for cell in cells}
    for i, cell in enumerate(cells):
        for j, other in enumerate(cells):
            if other in lists[i] and cell in lists[j] and places[i].distance_m(places[j]) <= RANGE_M:
                joined[cell].add(other)
    return {cell: frozenset(others) for cell, others in joined.items()}


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from((0.5, 1.0, 2.0)))
def test_what_the_radio_joins_is_joined_and_nearly_all_packets_end_at_one_cell(seed: int, per_cell: float) -> None:
    grid, places = scattered(seed, 30, per_cell)
    joined = joined_cells(grid, places)
    links = frozenset(
        (cell, other) for cell, others in joined.items() for other in others if grid.steps(cell, other) > 1
    )
    first = grid.cell_of(places[0])
    component, todo = {first}, [first]
    while todo:
        new = joined[todo.pop()] - component
        component |= new
        todo += new
    by_radio, unseen = [places[0]], places[1:]
    for place in by_radio:
        near = [other for other in unseen if place.distance_m(other) <= RANGE_M]
        unseen = [other for other in unseen if other not in near]
        by_radio += near
    assert component == {grid.cell_of(place) for place in by_radio}
    wrong = sent = 0
    for target in range(grid.size):
        closest = min(component, key=lambda cell: grid.rank(cell, CellId(target)))
        for start in sorted(component):
            here, heading = start, Heading(CellId(target), NodeId(-1))
            for _ in range(200):
                far = Far(frozenset(c for c in joined[here] if grid.steps(here, c) > 1), links)
                step = next_step(grid, here, True, joined[here], heading, far)
                if isinstance(step, End):
                    break
                here, heading = step.cell, step.heading
            sent += 1
            wrong += here != closest
    assert wrong <= sent / 20
