"""An earlier commit beside this one: the same commands with the same files, in turns, in one run.

The earlier commit is checked out into a folder of its own. The same commands run with its package and with ours: whole
runs of the Thyme papers' static crowds, a large crowd, DSDV alone, and a run without operations. Scenarios and traces
are files that both read; the benchmarks are always those of this commit. What counts is the CPU time of a whole
command, with its start; each side has compiled before. Events of both are compared, as far as runs have any: where no
protocol has changed between the commits, they are the same.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import pyarrow.parquet as pq
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from benchmarks import crowd
from benchmarks.printing import table_console
from benchmarks.radio.beside_ns3 import topology_of
from thyme.model.errors import InputError
from thyme.sim.traces import table_from_operations

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src"
CROWD = 2_000
_THYME = ("-c", "from thyme.cli.main import run; run()")
_NS3_RULES = "settings.dsdv = { broken_after_failures = 0, resends = 0, remember_lost = false }"
_STATIC = """
seed = 1
radio.model = "wifi"
users.ask_more_after_s = 0.2
settings.past_matches = 40
time = { join_from_s = 30.0, join_to_s = 60.0, until_s = 720.0 }
"""
_IDLE = """
seed = 1
radio.model = "wifi"
time = { join_from_s = 10.0, join_to_s = 20.0, until_s = 120.0 }
"""
_CROWD = """
seed = 1
radio.model = "wifi"
time = { join_from_s = 0.0, join_to_s = 15.0, until_s = 120.0 }
"""


class Work(msgspec.Struct, frozen=True):
    """Something to measure: its name, Python's arguments, and those of a small case that compiles."""

    name: str
    arguments: tuple[str, ...]
    small: tuple[str, ...]
    trace: Callable[[], Path] | None = None
    """Makes the trace to play; only called for work that is measured."""


class Spent(msgspec.Struct, frozen=True):
    cpu_s: float
    events: str
    """A digest of the run's events; nothing if it leaves none."""


class BeforeRow(msgspec.Struct, frozen=True):
    name: str
    before: Spent | None
    """None where the earlier commit could not play it."""
    now: Spent


def bench_before(
    commit: str, only: Sequence[str] = (), tell: Callable[[str], None] = lambda name: None
) -> list[BeforeRow]:
    """Measure what is there to measure, or only what has one of these texts in its name."""
    with TemporaryDirectory(prefix="thyme-before-") as scratch, _laid_out(commit, Path(scratch)) as earlier:
        works = [work for work in _works(Path(scratch)) if not only or any(part in work.name for part in only)]
        if not works:
            raise InputError(f"--only {', '.join(only)}: no work is called so")
        rows = []
        for number, work in enumerate(works):
            arguments = (*work.arguments, "--trace", str(work.trace())) if work.trace else work.arguments
            spent: list[Spent | None] = []
            for side, sources in (("before", earlier), ("now", SOURCES)):
                tell(f"{work.name}: {side}")
                _play(sources, work.small, Path(scratch) / f"{number}-{side}-small")
                spent.append(_play(sources, arguments, Path(scratch) / f"{number}-{side}"))
            before, now = spent
            if now is None:
                raise InputError(f"{work.name}: this commit cannot play it")
            rows.append(BeforeRow(work.name, before, now))
    return rows


@contextmanager
def _laid_out(commit: str, scratch: Path) -> Iterator[Path]:
    """The sources of a commit of the repository that this Thyme was installed from."""
    folder = scratch / "earlier"
    added = _git("worktree", "add", "--detach", str(folder), commit)
    if added.returncode != 0:
        raise InputError(
            f"no earlier commit {commit!r} to compare with: {added.stderr.strip().splitlines()[-1]}; "
            "run this in a clone of the repository, and name one of its commits"
        )
    try:
        yield folder / "src"
    finally:
        _git("worktree", "remove", "--force", str(folder))


def _git(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", "-C", str(SOURCES), *arguments], check=False, capture_output=True, text=True)


def _works(folder: Path) -> Iterator[Work]:
    topology = topology_of(64, 1, folder)
    arguments = ("-m", "benchmarks", "radio-case", "dsdv", "--topology", str(topology), "--seconds")
    yield Work("DSDV, 64 nodes, 720 s", (*arguments, "720"), (*arguments, "70"))
    yield _run(folder, "LS, 100 nodes, 120 s, no operations", "ls", 100, _IDLE)
    for nodes in (100, 196):
        trace = cache(partial(_static_trace, folder, nodes))
        for approach in ("es", "ls", "dcs") if nodes == 196 else ("dcs",):
            scenario = _STATIC if approach == "dcs" else _STATIC + _NS3_RULES
            yield _run(folder, f"{approach.upper()}, {nodes} nodes, static preset", approach, nodes, scenario, trace)
    yield _run(folder, f"DCS, crowd of {CROWD:,}, 120 s", "dcs", CROWD, _CROWD, partial(_crowd_trace, folder))


def _run(
    folder: Path, name: str, approach: str, nodes: int, scenario: str, trace: Callable[[], Path] | None = None
) -> Work:
    file = folder / f"{approach}-{nodes}-{len(scenario)}.toml"
    file.write_text(f'nodes = {nodes}\napproach = "{approach}"\n{scenario}')
    play = (*_THYME, "simulate", str(file), "--out", "")
    small = (*play, "--set", "nodes=16", "--set", "time.until_s=62")
    return Work(name, play, small, trace)


def _static_trace(folder: Path, users: int) -> Path:
    posts, trace = folder / "posts", folder / f"trace-{users}"
    if not posts.exists():
        _check(_run_python(SOURCES, (*_THYME, "posts", "generate", "--out", str(posts))))
    _check(_run_python(SOURCES, (*_THYME, "trace", "make", str(posts), "--users", str(users), "--out", str(trace))))
    return next(trace.glob("*.parquet"))


def _crowd_trace(folder: Path) -> Path:
    trace = folder / "crowd.parquet"
    pq.write_table(table_from_operations(crowd.load(CROWD, 1)), trace)
    return trace


def _check(done: subprocess.CompletedProcess[str]) -> None:
    if done.returncode != 0:
        raise InputError(f"the files to play could not be made: {done.stderr.strip()}")


def _run_python(sources: Path, arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(sources), "PYTHONHASHSEED": "0"}
    command = [sys.executable, *arguments]
    return subprocess.run(command, check=False, env=environment, cwd=ROOT, capture_output=True, text=True)


def _play(sources: Path, arguments: Sequence[str], out: Path) -> Spent | None:
    """None if the package in `sources` cannot run it."""
    given = [argument or str(out) for argument in arguments]
    before = os.times()
    done = _run_python(sources, given)
    after = os.times()
    if done.returncode != 0:
        return None
    cpu_s = after.children_user + after.children_system - before.children_user - before.children_system
    return Spent(cpu_s, _digest(out / "events.parquet"))


def _digest(events: Path) -> str:
    if not events.is_file():
        return ""
    columns = pq.read_table(events).to_pydict()
    return hashlib.sha256(repr(columns).encode()).hexdigest()[:12]


def render(commit: str, rows: Sequence[BeforeRow], console: Console | None = None) -> None:
    table = Table(
        title=f"{commit} and this commit, in turns",
        caption="CPU seconds of the whole command, compiled before",
        box=SIMPLE_HEAD,
    )
    table.add_column("work", no_wrap=True)
    for heading in ("before", "now", "times as fast"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("events", no_wrap=True)
    for row in rows:
        before = row.before
        if before is None:
            table.add_row(row.name, "cannot", f"{row.now.cpu_s:.1f}", "", "")
            continue
        alike = "" if not row.now.events else "equal" if row.now.events == before.events else "differ"
        ratio = f"{before.cpu_s / row.now.cpu_s:.1f}"
        table.add_row(row.name, f"{before.cpu_s:.1f}", f"{row.now.cpu_s:.1f}", ratio, alike)
    (console or table_console()).print(table)
