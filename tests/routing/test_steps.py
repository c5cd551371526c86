"""The cell graph and the walk on it, with every cell's view perfect."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from thyme.model.ids import CellId
from thyme.routing.cells.grid import Grid
from thyme.routing.cells.planar import NONE_FAR, Far, edges
from thyme.routing.cells.steps import MAX_WAYS, End, Onward, Ways, next_step, turning_back
from thyme.wire.geographic import Detour, Heading


def grid_of(columns: int, rows: int) -> Grid:
    return Grid(columns * 40.0, rows * 40.0, 40.0)


def component(grid: Grid, cells: set[CellId], start: CellId) -> set[CellId]:
    found, edge = {start}, [start]
    while edge:
        for other in grid.around(edge.pop()):
            if other in cells and other not in found:
                found.add(other)
                edge.append(other)
    return found


def walk(
    grid: Grid, cells: set[CellId], start: CellId, target: CellId, beside: bool = False
) -> tuple[End, list[CellId]]:
    here, heading, path = start, Heading(target, beside=beside), [start]
    while len(path) <= 8 * len(cells) + 8:
        step = next_step(grid, here, True, cells - {here}, heading)
        if isinstance(step, End):
            return step, path
        assert isinstance(step, Onward)
        here, heading = step.cell, step.heading
        path.append(here)
    raise AssertionError(f"the packet for {target} still wanders after {len(path)} steps: {path}")


@st.composite
def patterns(draw: st.DrawFn) -> tuple[Grid, set[CellId]]:
    """A grid, and populated cells on it that are connected."""
    grid = grid_of(draw(st.integers(1, 9)), draw(st.integers(1, 9)))
    share = draw(st.sampled_from([0.35, 0.5, 0.65, 0.8]))
    numbers = draw(st.lists(st.floats(0, 1), min_size=grid.size, max_size=grid.size))
    cells = {CellId(i) for i, number in enumerate(numbers) if number < share} or {CellId(0)}
    largest = max((component(grid, cells, cell) for cell in sorted(cells)), key=len)
    return grid, largest


@settings(max_examples=60)
@given(patterns(), st.data())
def test_every_start_ends_at_the_target_or_at_its_closest_cell(
    pattern: tuple[Grid, set[CellId]], data: st.DataObject
) -> None:
    grid, cells = pattern
    for target in data.draw(st.lists(st.integers(0, grid.size - 1), min_size=1, max_size=6, unique=True)):
        closest = min(cells, key=lambda cell: grid.rank(cell, CellId(target)))
        for start in sorted(cells):
            end, path = walk(grid, cells, start, CellId(target))
            assert path[-1] == closest
            assert end is (End.ARRIVED if target in cells else End.PROXIED)


@settings(max_examples=40)
@given(patterns(), st.data())
def test_beside_a_populated_cell_ends_where_its_proxy_would_be(
    pattern: tuple[Grid, set[CellId]], data: st.DataObject
) -> None:
    grid, cells = pattern
    target = data.draw(st.sampled_from(sorted(cells)))
    others = cells - {target}
    for start in sorted(others):
        reachable = component(grid, others, start)
        end, path = walk(grid, others | {target}, start, target, beside=True)
        assert (end, path[-1]) == (End.PROXIED, min(reachable, key=lambda cell: grid.rank(cell, target)))


@settings(max_examples=40)
@given(patterns(), st.data())
def test_who_is_in_a_cell_sees_its_proxy_and_needs_no_tour(
    pattern: tuple[Grid, set[CellId]], data: st.DataObject
) -> None:
    grid, cells = pattern
    target = data.draw(st.sampled_from(sorted(cells)))
    others = cells - {target}
    step = next_step(grid, target, True, others, Heading(target, beside=True))
    if not others:
        assert step is End.STRANDED
        return
    assert isinstance(step, Onward)
    assert step.cell == min(others, key=lambda cell: grid.rank(cell, target))
    assert next_step(grid, step.cell, True, cells - {step.cell}, step.heading) is End.PROXIED


@settings(max_examples=40)
@given(patterns())
def test_the_cell_graph_stays_connected_symmetric_and_without_crossings(
    pattern: tuple[Grid, set[CellId]],
) -> None:
    grid, cells = pattern
    joined = {cell: set(edges(grid, cell, cells)) for cell in cells}
    assert all(cell in joined[other] for cell in cells for other in joined[cell])
    found, edge = {min(cells)}, [min(cells)]
    while edge:
        fresh = joined[edge.pop()] - found
        found |= fresh
        edge += sorted(fresh)
    assert found == cells
    for cell in cells:
        column, row = grid.place(cell)
        if column + 1 < grid.columns and row + 1 < grid.rows:
            right, up, across = grid.at(column + 1, row), grid.at(column, row + 1), grid.at(column + 1, row + 1)
            assert not (across in joined[cell] and right in cells and up in joined.get(right, set()))


def test_a_packet_goes_round_a_u_shaped_void() -> None:
    grid = grid_of(5, 5)
    wall = {grid.at(c, r) for c, r in [(0, 0), (0, 1), (0, 2), (0, 3), (0, 4), (1, 4), (2, 4), (3, 4), (4, 4)]}
    wall |= {grid.at(c, r) for c, r in [(4, 3), (4, 2), (4, 1), (4, 0)]}
    end, path = walk(grid, wall, grid.at(0, 0), grid.at(4, 0))
    assert end is End.ARRIVED
    assert grid.at(2, 4) in path


def test_two_clusters_have_a_proxy_each() -> None:
    grid = grid_of(7, 1)
    cells = {CellId(0), CellId(1), CellId(5), CellId(6)}
    assert walk(grid, cells, CellId(0), CellId(3))[1][-1] == 1
    assert walk(grid, cells, CellId(6), CellId(3))[1][-1] == 5
    assert walk(grid, cells, CellId(0), CellId(6)) == (End.PROXIED, [0, 1, 0, 1])


def test_a_node_that_does_not_route_boards_at_the_closest_cell() -> None:
    grid = grid_of(5, 1)
    heading = Heading(CellId(4))
    assert next_step(grid, CellId(2), False, [CellId(1), CellId(2)], heading) == Onward(CellId(2), heading)
    assert next_step(grid, CellId(2), False, [CellId(1), CellId(3)], heading) == Onward(CellId(3), heading)
    assert next_step(grid, CellId(2), False, [CellId(0), CellId(4)], heading) is End.STRANDED


def test_a_tour_ends_even_if_its_entry_empties() -> None:
    grid = grid_of(4, 4)
    cells = {grid.at(c, r) for c, r in [(0, 0), (0, 1), (0, 2), (0, 3), (1, 3), (1, 0)]}
    target = grid.at(3, 0)
    first = next_step(grid, grid.at(1, 0), True, cells, Heading(target))
    assert isinstance(first, Onward)
    cells.remove(grid.at(1, 0))
    here, heading = first.cell, first.heading
    for _ in range(40):
        step = next_step(grid, here, True, cells, heading)
        if isinstance(step, End):
            break
        here, heading = step.cell, step.heading
    assert step is End.PROXIED
    assert here == min(cells, key=lambda cell: grid.rank(cell, target))


def test_a_tour_that_is_given_up_ends_in_its_entry_or_where_nobody_is_closer_to_that() -> None:
    grid = grid_of(9, 1)
    row = {CellId(i) for i in range(7)}
    heading = Heading(CellId(8), detour=Detour(CellId(6), CellId(6), CellId(5), CellId(1), CellId(6)))
    for cells, end in ((row, 6), (row - {CellId(4)}, 3), (row - {CellId(5)}, 4)):
        here, back = CellId(2), turning_back(CellId(2), heading)
        while isinstance(step := next_step(grid, here, True, cells - {here}, back), Onward):
            here, back = step.cell, step.heading
        assert (step, here) == (End.PROXIED, end)


def test_a_lonely_cell_is_the_proxy_of_all() -> None:
    assert walk(grid_of(3, 3), {CellId(4)}, CellId(4), CellId(0)) == (End.PROXIED, [4])


def test_beside_an_empty_cell_of_the_border_no_tour_is_made_around_the_whole_area() -> None:
    grid = grid_of(9, 5)
    everybody = {CellId(cell) for cell in range(grid.size)}
    for empty in sorted(cell for cell in everybody if len(grid.around(cell)) < 8):
        for start in sorted(everybody - {empty}):
            end, path = walk(grid, everybody - {empty}, start, empty)
            assert end is End.PROXIED
            assert len(path) <= grid.steps(start, empty) + 2


def test_the_papers_make_a_tour_wherever_a_cell_is_empty() -> None:
    grid = grid_of(3, 3)
    populated = {CellId(cell) for cell in range(grid.size)} - {grid.at(1, 1)}
    proxy = min(populated, key=lambda cell: grid.rank(cell, grid.at(1, 1)))
    heading = Heading(grid.at(1, 1))
    assert next_step(grid, proxy, True, populated, heading) is End.PROXIED
    assert isinstance(next_step(grid, proxy, True, populated, heading, sure=False), Onward)


@settings(max_examples=60)
@given(patterns(), st.data())
def test_a_step_that_is_remembered_is_the_one_that_would_be_found(
    pattern: tuple[Grid, set[CellId]], data: st.DataObject
) -> None:
    """Whatever cells empty and fill meanwhile, near and far, and wherever the node goes."""
    grid, cells = pattern
    ways, some = Ways(grid), st.integers(0, grid.size - 1).map(CellId)
    for _ in range(data.draw(st.integers(1, 6))):
        populated = frozenset(cells.symmetric_difference({data.draw(some)}))
        here = data.draw(st.sampled_from(sorted(cells)))
        for target in data.draw(st.lists(some, max_size=4)) * 2:
            heading, member = Heading(target), data.draw(st.booleans())
            far = Far(frozenset({data.draw(some)}) - {here, *grid.around(here)})
            expected = next_step(grid, here, member, populated, heading, far)
            assert ways.step(here, member, populated, heading, far, True) == expected


def test_remembered_steps_have_a_maximum() -> None:
    grid = grid_of(50, 50)
    ways, populated = Ways(grid), frozenset(grid.around(CellId(0)))
    for target in range(1, 2 * MAX_WAYS):
        ways.step(CellId(0), True, populated, Heading(CellId(target)), NONE_FAR, True)
        assert len(ways) <= MAX_WAYS
