"""The matching benchmark measures both sides on the same insertions and prints one table."""

from __future__ import annotations

import io

import msgspec
from rich.console import Console

from benchmarks.matching import MatchingRow, Subscribed, bench_matching, render


def test_rows_cover_every_size_and_way_of_drawing_in_one_table() -> None:
    rows = bench_matching(sizes=(40, 20), max_insertions=30)
    assert [(row.subscribed, row.subscriptions) for row in rows] == [
        (way, size) for way in Subscribed for size in (20, 40)
    ]
    assert all(row.naive_insertions_per_s > 0 and row.index_insertions_per_s > 0 for row in rows)
    assert all(row.memory_mb > 0 for row in rows)


def test_table_of_the_largest_figures_fits_a_terminal() -> None:
    output = io.StringIO()
    largest = MatchingRow("random", 1_000_000, 25_000.0, 100_000.0, 10_000.0, 250_000.0, 250_000.0, 1_000.0)
    render([largest, msgspec.structs.replace(largest, subscribed="by use")], Console(file=output, width=80))
    lines = output.getvalue().splitlines()
    assert sum("1,000,000" in line and "10,000×" in line for line in lines) == 2
    assert all(len(line) <= 80 and "…" not in line for line in lines)


def test_head_tags_make_more_subscriptions_match_than_random_ones() -> None:
    rows = {row.subscribed: row for row in bench_matching(sizes=(200,), max_insertions=50)}
    assert rows[Subscribed.BY_USE].matches_per_insertion > rows[Subscribed.AT_RANDOM].matches_per_insertion
