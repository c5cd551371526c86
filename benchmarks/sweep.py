"""The benchmark of the sweep: the same runs by Spark and by a plain process pool with as many workers, in turns.

Both start from nothing but the scenarios and the trace, and end with every run's events in its folder. The pool's
workers are processes of their own that import the package when they start, as Spark's do; both pay for that in their
first round. Starting the Spark session is shown apart: a study pays it once. The runs are whole ones, of some seconds
each, on the 802.11g radio; before the clock starts, one run makes sure that its compiled parts are on disk.
"""

from __future__ import annotations

import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from statistics import median

import msgspec
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from benchmarks.effort import Effort, measure
from benchmarks.printing import table_console
from thyme.model.ids import NodeId
from thyme.model.operations import Operation
from thyme.model.records import OperationKind
from thyme.pipeline.runs.carried import pack_trace
from thyme.pipeline.runs.run import RunSpec, keep_run, play, run_identity, run_seconds
from thyme.sim.radios.models import WifiModel
from thyme.sim.scenario import Scenario, TimeLine
from thyme.study.wording import duration

RUNS = 16
ROUNDS = 3
NODES = 36
SIMULATED_S = 300.0
FIRST_S = 15.0
SUBSCRIPTIONS = 10


class SweepRow(msgspec.Struct, frozen=True):
    """One way of playing all runs, once."""

    way: str
    effort: Effort
    runs: int
    run_cpu_s: float
    """What the runs themselves took."""


class SweepBench(msgspec.Struct, frozen=True):
    workers: int
    start_s: float
    """Seconds until Spark was there."""
    rows: tuple[SweepRow, ...]
    load: float
    """How many processes wanted to run in the last minute, on average, when it ended; ours included."""

    def overhead(self) -> float:
        """The median over rounds of Spark's wall time over the pool's, less one."""
        pool, spark = ([row.effort.wall_s for row in self.rows if row.way == way] for way in WAYS)
        return median(ours / plain for ours, plain in zip(spark, pool, strict=True)) - 1.0


WAYS = ("process pool", "Spark sweep")


def bench_sweep(
    runs: int = RUNS,
    rounds: int = ROUNDS,
    workers: int = 2,
    nodes: int = NODES,
    simulated_s: float = SIMULATED_S,
    tell: Callable[[str], None] = lambda stage: None,
) -> SweepBench:
    """Play all runs by both ways, `rounds` times in turns."""
    from thyme.pipeline.runs.simulations import sweep_runs
    from thyme.pipeline.spark.session import spark_session, steady_java

    specs = _specs(runs, nodes, simulated_s)
    tell("compiling")
    warm = specs[0]
    play("warm", msgspec.msgpack.encode(warm.scenario), warm.trace.carry())
    tell("starting Spark")
    began_s = time.perf_counter()
    spark = spark_session("bench", f"local[{workers}]", **steady_java())
    start_s = time.perf_counter() - began_s
    rows = []
    with tempfile.TemporaryDirectory(prefix="thyme-bench-") as work:
        for number in range(rounds):
            for way, act in ((WAYS[0], lambda folder: _pool(specs, folder, workers)),
                             (WAYS[1], lambda folder: sweep_runs(lambda: spark, specs, folder))):  # fmt: skip
                tell(f"round {number + 1} of {rounds}: {way}")
                folder = Path(work) / f"{number}-{way}"
                _, effort = measure(lambda act=act, folder=folder: act(folder))  # type: ignore[misc]
                rows.append(SweepRow(way, effort, runs, _check(specs, folder)))
    return SweepBench(workers, start_s, tuple(rows), os.getloadavg()[0])


def render(bench: SweepBench, console: Console | None = None) -> None:
    table = Table(
        title=f"{bench.rows[0].runs} runs by {bench.workers} workers",
        caption=f"Spark started in {duration(bench.start_s)}, once; load at the end {bench.load:.1f}",
        box=SIMPLE_HEAD,
    )
    table.add_column("way")
    for heading in ("seconds", "CPU s", "of these in runs", "seconds per run"):
        table.add_column(heading, justify="right")
    for row in bench.rows:
        each_s = row.run_cpu_s / row.runs
        cells = (row.effort.wall_s, row.effort.cpu_s, row.run_cpu_s, each_s)
        table.add_row(row.way, *(f"{cell:.1f}" for cell in cells))
    console = console or table_console()
    console.print(table)
    console.print(f"Spark's seconds over the pool's, median of rounds: {bench.overhead():+.1%}")


def _specs(runs: int, nodes: int, simulated_s: float) -> list[RunSpec]:
    times = TimeLine(join_from_s=5.0, join_to_s=10.0, until_s=simulated_s)
    scenario = Scenario(nodes=nodes, approach="ls", radio=WifiModel(), time=times)
    trace = pack_trace(_load(nodes, simulated_s))
    return [RunSpec(msgspec.structs.replace(scenario, seed=seed), trace) for seed in range(1, runs + 1)]


def _load(nodes: int, simulated_s: float) -> Iterator[Operation]:
    """Every second one node inserts; the first seconds are for subscriptions."""
    for number in range(int(simulated_s - FIRST_S)):
        at_s, node = FIRST_S + number, NodeId(number * 7 % nodes)
        if number < SUBSCRIPTIONS:
            yield Operation(number, at_s, node, OperationKind.SUBSCRIBE, sid=number, query="goal")
        else:
            yield Operation(number, at_s, node, OperationKind.INSERT, oid=f"o{number}", tags=("goal",), text="now!")


def _pool(specs: Sequence[RunSpec], folder: Path, workers: int) -> None:
    folder.mkdir(parents=True)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context) as pool:
        waiting = [
            (spec, pool.submit(play, run_identity(spec), msgspec.msgpack.encode(spec.scenario), spec.trace.carry()))
            for spec in specs
        ]
        for spec, future in waiting:
            keep_run(folder, spec.scenario, spec.trace.identity, future.result())


def _check(specs: Sequence[RunSpec], folder: Path) -> float:
    """All runs are there; the processor time that they took."""
    return sum(run_seconds(folder, run_identity(spec)) for spec in specs)
