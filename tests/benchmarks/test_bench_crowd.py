"""The crowd benchmark counts what nodes sent and holds recall against the index."""

from __future__ import annotations

import io

from rich.console import Console

from benchmarks.crowd import CrowdRow, measure, render


def test_a_small_crowd_is_measured_whole() -> None:
    row = measure(16, seed=1)
    assert row.nodes == 16
    assert row.operations > 16
    assert row.recall > 0.9
    assert 0.9 < row.succeeded <= 1.0
    assert row.frames > 16 * 100, "a beacon a second alone makes more"
    assert row.busiest > 1.0
    assert row.busiest_cell > 1.0
    assert row.peak_mb > 50.0


def test_a_crowd_that_walks_sends_more() -> None:
    standing, walking = (measure(16, seed=1, walking=walking) for walking in (False, True))
    assert walking.recall > 0.9
    assert walking.frames > standing.frames


def test_table_of_the_largest_crowd_fits_a_terminal() -> None:
    output = io.StringIO()
    render(
        [CrowdRow(2_000, 120.0, 12_345, 0.9987, 0.9991, 1_234_567, 4_321.0, 9.9, 8.8, 1_234.0, 2_345.0)],
        Console(file=output, width=80),
    )
    lines = output.getvalue().splitlines()
    assert any("1,234,567" in line and "2,345" in line for line in lines)
    assert all(len(line) <= 80 and "…" not in line for line in lines)
