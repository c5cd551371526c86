"""An earlier commit is laid out beside this one and plays the same; what it cannot play is said."""

from __future__ import annotations

import io
import subprocess

import pytest
from rich.console import Console

from benchmarks.before import SOURCES, BeforeRow, Spent, bench_before, render
from thyme.model.errors import InputError

IN_A_CLONE = subprocess.run(["git", "-C", str(SOURCES), "rev-parse", "HEAD"], check=False, capture_output=True)
needs_a_clone = pytest.mark.skipif(IN_A_CLONE.returncode != 0, reason="these sources are not in a git repository")


def worktrees() -> set[str]:
    """Folders, also those that a run that was killed has left."""
    listing = ["git", "-C", str(SOURCES), "worktree", "list", "--porcelain"]
    told = subprocess.run(listing, check=True, capture_output=True, text=True).stdout
    return {line for line in told.splitlines() if line.startswith("worktree ")}


@needs_a_clone
@pytest.mark.compiled
def test_a_commit_beside_itself_plays_the_same_and_leaves_nothing_behind() -> None:
    there = worktrees()
    (row,) = bench_before("HEAD", ["no operations"])
    assert row.before is not None
    assert row.before.events == row.now.events != ""
    assert min(row.before.cpu_s, row.now.cpu_s) > 0.1
    assert worktrees() <= there


@needs_a_clone
def test_what_is_no_commit_is_told() -> None:
    with pytest.raises(InputError, match="no earlier commit 'yesterday'"):
        bench_before("yesterday")


def test_the_table_says_what_was_played_and_whether_events_are_equal() -> None:
    rows = [
        BeforeRow("LS", Spent(12.0, "a"), Spent(3.0, "a")),
        BeforeRow("DCS", Spent(12.0, "a"), Spent(6.0, "b")),
        BeforeRow("stadium", None, Spent(5.0, "b")),
    ]
    output = io.StringIO()
    render("abc", rows, Console(file=output, width=100))
    lines = [line.split() for line in output.getvalue().splitlines()]
    assert ["LS", "12.0", "3.0", "4.0", "equal"] in lines
    assert ["DCS", "12.0", "6.0", "2.0", "differ"] in lines
    assert ["stadium", "cannot", "5.0"] in lines
