"""The contest as two tables: the measurements of each contender, and which targets were reached."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from benchmarks.live.contest.measuring import Plan
from benchmarks.live.contest.rounds import Round, Spread, of, spread
from benchmarks.live.contest.wanted import Bound, judge

Write = Callable[[float], str]


def microseconds(value_s: float) -> str:
    return f"{value_s * 1e6:,.0f} µs"


def number(value: float) -> str:
    return f"{value:,.0f}"


def times(value: float) -> str:
    return f"{value:.1f}"


def seconds(value_s: float) -> str:
    return f"{value_s:.2f} s"


WRITING: dict[str, tuple[str, Write]] = {
    "p50_times": ("a single notification, × Zenoh", times),
    "signing_s": ("signed, longer than unsigned by", microseconds),
    "per_s": ("notifications a second", number),
    "cpu_s": ("CPU time for each", microseconds),
    "kept_per_s": ("kept a second", number),
    "past_times": ("the past, × JetStream", times),
}
"""What is wanted of, and how it is written."""


def render(rounds: Sequence[Round], plan: Plan, console: Console) -> None:
    table = Table(box=SIMPLE_HEAD)
    table.add_column("two processes on loopback")
    past = f"{plan.past:,} past"
    for column in (
        "p50",
        "p99",
        "× Zenoh",
        "a second",
        "lost",
        "CPU each",
        "kept a second",
        past,
        "× JetStream",
        "idle",
    ):
        table.add_column(column, justify="right")
    for figures in rounds[0]:
        found = of(figures.name, rounds)
        played = [figures for figures in found if not figures.missing]
        name = figures.name
        if len(played) < len(found):
            name += f" ({len(played)} of {len(found)} rounds)"
        if played:
            table.add_row(name, *_cells(played))
        else:
            table.add_row(figures.name, f"not there: {found[0].missing}")
    console.print(table)
    console.print(
        "  p50, p99: a single notification of 100 bytes. a second, CPU each: as many as there can be, all processes. "
        "kept a second: acknowledged; in brackets: before the disk has it. past: to a subscriber who comes late."
    )
    if len(rounds) > 1:
        console.print(
            f"  Medians of {len(rounds)} rounds, of ratios within each round; below them the least and the most; "
            "lost: of all rounds."
        )
    _render_wanted(rounds, console)


def _render_wanted(rounds: Sequence[Round], console: Console) -> None:
    verdicts = judge(rounds)
    if not verdicts:
        return
    table = Table(box=SIMPLE_HEAD)
    table.add_column("wanted")
    table.add_column("of")
    for column in ("bound", "median", "least–most", "reached in rounds"):
        table.add_column(column, justify="right")
    for verdict in verdicts:
        bound = verdict.bound
        what, write = WRITING[bound.measured]
        found = spread(of(bound.name, rounds), bound.measured)
        assert found is not None, "judged, so it was measured"
        reached = f"{verdict.reached} of {verdict.rounds}"
        table.add_row(what, bound.name, _bound(bound, write), write(found.median), _range(found, write), reached)
    console.print(table)


def _bound(bound: Bound, write: Write) -> str:
    return f"≤ {write(bound.most)}" if bound.most is not None else f"≥ {write(bound.least or 0.0)}"


def _cells(found: Round) -> list[str]:
    lost = sum(figures.lost for figures in found)
    kept, _, kept_range = _cell(found, "kept_per_s", number).partition("\n")
    if kept and not all(figures.synced for figures in found):
        kept = f"({kept})"
    return [
        _cell(found, "p50_s", microseconds),
        _cell(found, "p99_s", microseconds, ranged=False),
        _cell(found, "p50_times", times),
        _cell(found, "per_s", number),
        f"{lost:,}" if spread(found, "per_s") else "",
        _cell(found, "cpu_s", microseconds),
        f"{kept}\n{kept_range}".rstrip(),
        _past(found),
        _cell(found, "past_times", times),
        _cell(found, "idle", "{:.1%}".format, ranged=False),
    ]


def _past(found: Round) -> str:
    lost = sum(figures.past_lost for figures in found)
    told = _cell(found, "past_s", seconds)
    if not told:
        return "all lost" if lost else ""
    return f"{told}\n{lost:,} lost" if lost else told


def _cell(found: Round, measured: str, write: Write, *, ranged: bool = True) -> str:
    """The median, and below it the range if there is one."""
    figure = spread(found, measured)
    if figure is None:
        return ""
    return f"{write(figure.median)}\n{_range(figure, write)}" if ranged and figure.rounds > 1 else write(figure.median)


def _range(figure: Spread, write: Write) -> str:
    least, most = write(figure.least), write(figure.most)
    unit = least.partition(" ")[2]
    return f"{least.removesuffix(' ' + unit)}–{most}" if unit else f"{least}–{most}"
