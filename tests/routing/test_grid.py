"""The grid: places, neighbours, hashing and the order of closeness."""

from __future__ import annotations

from collections import Counter
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thyme.model.errors import InputError
from thyme.model.geometry import Point
from thyme.model.ids import CellId
from thyme.routing.cells.grid import Grid, cell_side_m


def test_the_papers_areas_have_two_nodes_per_cell() -> None:
    assert [Grid(w, w / 2, 40.0).size for w in (160.0, 240.0, 320.0, 400.0, 480.0, 560.0)] == [8, 18, 32, 50, 72, 98]


def test_cells_suit_the_radio_range() -> None:
    assert cell_side_m(113.0) == pytest.approx(39.95, abs=0.01)
    grid = Grid(160.0, 80.0, cell_side_m(113.0))
    assert (grid.columns, grid.rows) == (4, 2)
    corner, far = Point(0.0, 0.0), Point(2 * grid.cell_m, 2 * grid.cell_m)
    assert corner.distance_m(far) == pytest.approx(113.0)


@given(st.floats(0.0, 200.0), st.floats(0.0, 120.0))
def test_every_point_is_at_most_half_a_cell_from_its_centre(x_m: float, y_m: float) -> None:
    grid = Grid(200.0, 120.0, 40.0)
    centre = grid.centre(grid.cell_of(Point(x_m, y_m)))
    assert abs(centre.x_m - x_m) <= 20.0
    assert abs(centre.y_m - y_m) <= 20.0


def test_points_outside_belong_to_the_border() -> None:
    grid = Grid(200.0, 120.0, 40.0)
    assert grid.cell_of(Point(-5.0, -5.0)) == 0
    assert grid.cell_of(Point(200.0, 120.0)) == grid.size - 1


@given(st.integers(1, 12), st.integers(1, 12), st.data())
def test_places_and_numbers_agree(columns: int, rows: int, data: st.DataObject) -> None:
    grid = Grid(columns * 10.0, rows * 10.0, 10.0)
    cell = CellId(data.draw(st.integers(0, grid.size - 1)))
    assert grid.at(*grid.place(cell)) == cell
    assert grid.cell_of(grid.centre(cell)) == cell
    around = grid.around(cell)
    assert list(around) == sorted(around)
    assert set(around) == {other for other in range(grid.size) if grid.steps(cell, CellId(other)) == 1}


@given(st.integers(2, 1000), st.integers(2, 1000), st.data())
def test_ranks_follow_distance_and_are_never_equal(columns: int, rows: int, data: st.DataObject) -> None:
    grid = Grid(columns * 10.0, rows * 10.0, 10.0)
    cells = st.integers(0, grid.size - 1).map(CellId)
    one, other, target = data.draw(cells), data.draw(cells), data.draw(cells)
    if one != other:
        assert grid.rank(one, target) != grid.rank(other, target)
    if grid.distance_m(one, target) < grid.distance_m(other, target) - 1e-9:
        assert grid.rank(one, target) < grid.rank(other, target)


@given(st.integers(1, 40), st.integers(1, 40), st.data())
def test_the_closest_cell_is_the_one_of_the_lowest_rank(columns: int, rows: int, data: st.DataObject) -> None:
    grid = Grid(columns * 10.0, rows * 10.0, 10.0)
    cells = st.integers(0, grid.size - 1).map(CellId)
    some, target = data.draw(st.lists(cells, max_size=8)), data.draw(cells)
    assert grid.closest(some, target) == min(some, key=lambda cell: grid.rank(cell, target), default=None)


@given(st.integers(1, 12), st.integers(1, 12), st.data())
def test_straight_ahead_is_the_closest_of_a_cell_and_those_around(columns: int, rows: int, data: st.DataObject) -> None:
    grid = Grid(columns * 10.0, rows * 10.0, 10.0)
    cells = st.integers(0, grid.size - 1).map(CellId)
    cell, target = data.draw(cells), data.draw(cells)
    assert grid.towards(cell, target) == grid.closest([cell, *grid.around(cell)], target)


def test_keys_are_spread_evenly_and_the_same_everywhere() -> None:
    grid = Grid(400.0, 200.0, 40.0)
    cells = Counter(grid.cell_for(f"tag{i}") for i in range(10_000))
    assert len(cells) == 50
    assert max(cells.values()) < 300
    assert [grid.cell_for(tag) for tag in ("goal", "portugal", "france")] == [32, 45, 39]


def test_namespaces_hash_apart() -> None:
    tags = [f"tag{i}" for i in range(200)]
    plain, other = Grid(400.0, 200.0, 40.0), Grid(400.0, 200.0, 40.0, "other")
    assert sum(plain.cell_for(tag) == other.cell_for(tag) for tag in tags) < 20


@pytest.mark.parametrize("sizes", [(0.0, 10.0, 1.0), (10.0, -1.0, 1.0), (10.0, 10.0, 0.0), (inf, 10.0, 1.0)])
def test_impossible_sizes_are_refused(sizes: tuple[float, float, float]) -> None:
    with pytest.raises(InputError, match="expected a positive number of metres"):
        Grid(*sizes)


def test_unknown_cells_and_too_fine_grids_are_refused() -> None:
    grid = Grid(80.0, 40.0, 40.0)
    with pytest.raises(InputError, match="cells 0 to 1"):
        grid.place(CellId(2))
    with pytest.raises(InputError, match="2 columns and 1 rows"):
        grid.at(0, 1)
    with pytest.raises(InputError, match="larger"):
        Grid(1e6, 10.0, 1.0)
