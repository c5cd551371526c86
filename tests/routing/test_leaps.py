"""Leaps: in a large venue packets skip cells where the radio reaches beyond them."""

from __future__ import annotations

import pytest
from cell_crowd import Crowd, letter
from hypothesis import given
from hypothesis import strategies as st

from thyme.model.errors import InputError
from thyme.model.ids import CellId
from thyme.routing.cells.addresses import Destination, GeographicOptions
from thyme.routing.cells.grid import Grid

LONG = 20


def hops_along(columns: int, options: GeographicOptions | None = None) -> int:
    crowd = Crowd(columns, 1, [(i, 0) for i in range(columns)], options).warm()
    crowd.people[0].router.send_to_cell(crowd.grid.at(columns - 1, 0), letter())
    crowd.settle()
    return crowd.people[-1].arrivals[0].hops


def test_a_long_way_takes_half_the_hops_until_the_target_is_near() -> None:
    # 19 cells: eight leaps and a ninth to where it is one step
    assert hops_along(LONG) == 10
    assert hops_along(LONG, GeographicOptions(leap_beyond=5)) == 12
    assert hops_along(LONG, GeographicOptions().as_in_the_paper()) == LONG - 1


def test_one_packet_to_several_cells_leaps_too() -> None:
    crowd = Crowd(LONG, 2, [(i, 0) for i in range(LONG)] + [(LONG - 1, 1)]).warm()
    targets = [crowd.grid.at(LONG - 1, row) for row in (0, 1)]
    crowd.people[0].router.send_to_many(map(Destination, targets), letter())
    crowd.settle()
    assert sorted(crowd.holders()) == [LONG - 1, LONG]
    assert len(crowd.packets()) < LONG - 1


def test_where_nobody_is_heard_beyond_the_next_cell_no_cell_is_skipped() -> None:
    crowd = Crowd(LONG, 1, [(i, 0) for i in range(LONG)])
    for i in range(LONG - 2):
        crowd.net.cut(i, i + 2)
    crowd.warm().people[0].router.send_to_cell(crowd.grid.at(LONG - 1, 0), letter())
    crowd.settle()
    assert crowd.people[-1].arrivals[0].hops == LONG - 1


def test_a_leap_that_fails_falls_back_to_the_cell_beside() -> None:
    crowd = Crowd(LONG, 1, [(i, 0) for i in range(LONG)]).warm()
    crowd.net.cut(0, 2)
    crowd.people[0].router.send_to_cell(crowd.grid.at(LONG - 1, 0), letter())
    crowd.settle()
    assert crowd.holders() == [LONG - 1]


@given(st.integers(15, 60), st.integers(1, 40), st.integers(2, 8), st.data())
def test_a_leap_is_towards_the_target_and_within_two_cells(
    columns: int, rows: int, beyond: int, data: st.DataObject
) -> None:
    grid = Grid(columns * 40.0, rows * 40.0, 40.0)
    here, target = (CellId(data.draw(st.integers(0, grid.size - 1))) for _ in range(2))
    leaps = grid.leaps(here, target, beyond)
    assert (leaps is None) == (grid.steps(here, target) <= beyond)
    near = [cell for cell in grid.within(here, 2) if grid.distance_m(here, cell) < 2.5 * grid.cell_m]
    if leaps is not None:
        assert leaps[0] == grid.closest(near, target)
        assert all(leap in near and grid.rank(leap, target) < grid.rank(here, target) for leap in leaps)


def test_leaps_that_would_pass_the_target_are_refused() -> None:
    with pytest.raises(InputError, match="leap_beyond is 1"):
        GeographicOptions(leap_beyond=1)
