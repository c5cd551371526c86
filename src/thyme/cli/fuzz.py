"""`thyme fuzz`: a search of random worlds for broken promises."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from thyme.fuzz.search import BrokenPromise, Verdict

MAX_SEEDS = 100_000
MAX_JOBS = 64
_EVERY = 50
"""Worlds between two lines on progress, where no progress bar is shown."""


def fuzz(
    approaches: Annotated[
        list[str] | None, typer.Option("--approach", help="Approach; repeatable. Default: all.")
    ] = None,
    seeds: Annotated[str, typer.Option("--seeds", help="Number of worlds per approach, or FROM-TO.")] = "20",
    jobs: Annotated[int, typer.Option("--jobs", min=1, max=MAX_JOBS, help="Processes.")] = 2,
    out: Annotated[Path | None, typer.Option("--out", help="Folder for a shrunk world of each broken promise.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print verdicts as JSON instead of a table.")] = False,
    world: Annotated[
        Path | None, typer.Option("--world", help="Judge one world again: a folder that --out wrote.")
    ] = None,
    live: Annotated[
        bool, typer.Option("--live", help="Run histories of live nodes on a virtual clock instead of worlds.")
    ] = False,
) -> None:
    """Run random worlds and look for broken promises; exit code 1 if there are any.

    What is promised, and what a world may hold: docs/explanation/guarantees.md.

    Examples:

      thyme fuzz --approach dcs --seeds 100 --out out/fuzz

      thyme fuzz --world out/fuzz/dcs-once

      thyme fuzz --live --approach ls --seeds 1-20
    """
    from thyme.approaches.registry import APPROACHES, find_approach
    from thyme.fuzz.search import judge_world
    from thyme.fuzz.worlds import read_world

    if live:
        _live(approaches or ["ls", "dcs"], parse_seeds(seeds), jobs)
        return
    if world is not None:
        verdicts = [judge_world(read_world(world))]
    else:
        names = approaches or list(APPROACHES)
        for name in names:
            find_approach(name, "--approach")
        verdicts = search_worlds(names, parse_seeds(seeds), jobs, quiet=as_json)
    if as_json:
        _print_json(verdicts)
    elif world is not None:
        for violation in verdicts[0].violations:
            print(violation)
        print(f"{len(verdicts[0].violations)} violations")
    else:
        _print_table(verdicts)
    if out is not None and world is None:
        _write_smallest(verdicts, out, jobs, quiet=as_json)
    if any(verdict.violations for verdict in verdicts):
        raise typer.Exit(1)


def _live(names: Sequence[str], seeds: range, jobs: int) -> None:
    """Judge histories; the first broken one is made smaller and printed with its timeline."""
    from collections import Counter

    from thyme.approaches.registry import find_approach
    from thyme.fuzz.live.histories import draw_history
    from thyme.fuzz.live.search import search_histories, smaller

    for name in names:
        find_approach(name, "--approach")
    logging.getLogger("thyme.live").setLevel(logging.ERROR)
    states: Counter[str] = Counter()
    broken, notices, played = [], 0, 0
    for verdict in search_histories(names, seeds, jobs):
        played, notices = played + 1, notices + verdict.notices
        states.update(verdict.states)
        if verdict.broken:
            broken.append(verdict)
            print(f"{verdict.approach}, seed {verdict.seed}: {len(verdict.broken)} broken promises, such as:")
            print(f"  {verdict.broken[0]}")
    print(f"{played} histories, {notices} notifications, {len(broken)} histories with broken promises")
    print(", ".join(f"{what}: {count}" for what, count in sorted(states.items())))
    if broken:
        history, verdict = smaller(draw_history(broken[0].approach, broken[0].seed))
        print(f"\n{history.approach}, seed {history.seed}, {len(history.steps)} steps that still break a promise:")
        print("\n".join([*verdict.timeline, *verdict.broken]))
        raise typer.Exit(1)


def parse_seeds(text: str) -> range:
    """`40` means the worlds 1 to 40, `200-300` those from 200 to 300."""
    from thyme.model.errors import InputError

    first, separator, last = text.partition("-")
    try:
        low, high = (int(first), int(last)) if separator else (1, int(first))
    except ValueError as error:
        raise InputError(f"--seeds {text}: expected a number, or a range such as 200-300") from error
    if not 0 <= low <= high or high - low >= MAX_SEEDS:
        raise InputError(f"--seeds {text}: expected 1 to {MAX_SEEDS} worlds, the lower number first")
    return range(low, high + 1)


def search_worlds(names: Sequence[str], seeds: range, jobs: int, *, quiet: bool) -> list[Verdict]:
    """Print each world that breaks a promise when it is found, so that a search that is stopped has results."""
    from rich.console import Console
    from rich.progress import Progress

    from thyme.fuzz.search import search

    verdicts: list[Verdict] = []
    console = Console(stderr=True, soft_wrap=True, highlight=False, markup=False)
    with Progress(console=console, transient=True, disable=quiet) as progress:
        task = progress.add_task("running worlds", total=len(names) * len(seeds))
        for verdict in search(names, seeds, jobs):
            verdicts.append(verdict)
            progress.update(task, advance=1, description=f"running worlds of {verdict.approach}")
            if verdict.violations:
                first = verdict.violations[0].text
                console.print(f"{verdict.approach} {verdict.seed} breaks {', '.join(verdict.breaks())}: {first}")
            if not console.is_terminal and len(verdicts) % _EVERY == 0:
                broken = sum(bool(one.violations) for one in verdicts)
                console.print(f"{len(verdicts)} of {progress.tasks[task].total:g} worlds run, {broken} broken")
    return verdicts


def _write_smallest(verdicts: Sequence[Verdict], out: Path, jobs: int, *, quiet: bool) -> None:
    from rich.progress import Progress

    from thyme.fuzz.search import smallest
    from thyme.fuzz.worlds import write_world

    kinds = {(verdict.approach, promise) for verdict in verdicts for promise in verdict.breaks()}
    findings: list[BrokenPromise] = []
    with Progress(transient=True, disable=quiet) as progress:
        task = progress.add_task("shrinking worlds", total=len(kinds))
        for finding in smallest(verdicts, jobs):
            findings.append(finding)
            write_world(finding.world, out / f"{finding.approach}-{finding.promise}", finding.violations)
            progress.update(task, advance=1)
    if quiet:
        return
    for finding in findings:
        nodes, operations = finding.world.given["nodes"], len(finding.world.operations)
        folder = out / f"{finding.approach}-{finding.promise}"
        print(f"{folder}: seed {finding.seed} shrunk to {nodes} nodes and {operations} operations")
        print(f"  {finding.promise}: {finding.violations[0].text}")


def _print_table(verdicts: Sequence[Verdict]) -> None:
    from rich.console import Console
    from rich.table import Table

    from thyme.fuzz.search import reached_by, table_of

    rows = table_of(verdicts)
    table = Table(title="Worlds in which a promise was broken")
    for column in rows[0]:
        table.add_column(column, justify="left" if column == "approach" else "right")
    for row in rows:
        table.add_row(*(str(value) if value else "." for value in row.values()))
    Console(width=200).print(table)
    for approach, reached in reached_by(verdicts).items():
        if reached:
            states = ", ".join(f"{count} {state}" for state, count in sorted(reached.items()))
            print(f"{approach}: subscriptions and objects judged at the end: {states}")


def _print_json(verdicts: Sequence[Verdict]) -> None:
    import msgspec

    print(msgspec.json.encode(verdicts).decode())
