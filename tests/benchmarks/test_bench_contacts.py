"""The contacts benchmark measures every crowd and prints one table."""

from __future__ import annotations

import io

from rich.console import Console

from benchmarks.contacts import ContactsRow, bench_contacts, render


def test_rows_cover_every_size_and_the_community() -> None:
    rows = bench_contacts(sizes=(40, 20), duration_s=600.0)
    assert [(row.mobility, row.nodes) for row in rows] == [("waypoint", 20), ("waypoint", 40), ("community", 20)]
    assert all(row.contacts > 0 and row.legs >= row.nodes for row in rows)
    assert all(row.rate > row.rate_with_messages > 0.0 for row in rows)


def test_table_of_the_largest_figures_fits_a_terminal() -> None:
    output = io.StringIO()
    largest = ContactsRow("community", 1_000, 28_800.0, 1_000_000, 2_400_000, 0.05, 0.05, 0.1, 0.95)
    render([largest], Console(file=output, width=80))
    lines = output.getvalue().splitlines()
    assert any("2,400,000" in line and "288,000" in line and "144,000" in line for line in lines)
    assert all(len(line) <= 80 and "…" not in line for line in lines)
