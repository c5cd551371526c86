"""The benchmark of the pipeline: ingestion, trace, ground truth and metrics as posts grow, on this machine.

Posts are generated, written as JSON lines, and read back. All their users become nodes, so nearly every post is
inserted, and there is one subscription per 25 posts. Ingestion and trace are measured as a person has them: by the
commands, with Spark's start. DuckDB and Polars ingest the same file, and count the ground truth from the same trace by
the same rule (running counts per tag), each in a process of its own; all three have to give the same posts and counts.
Ground truth and metrics have no command of their own and are measured within one session. Metrics are those of a
made-up run in which every operation succeeds and every object is notified once. Before the clock starts, all stages run
once on few posts, so that what Java compiles on first use does not make the smallest size look slow and the growth
small.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table

from benchmarks.effort import Effort, ResultT, measure
from benchmarks.ingestion import content_of, ingest_with_duckdb, ingest_with_polars
from benchmarks.printing import table_console
from benchmarks.truth import count_with_duckdb, count_with_polars

SIZES = (500_000, 1_000_000, 2_000_000, 5_000_000)
WARM_UP_POSTS = 20_000
POSTS_PER_SUBSCRIPTION = 25
WANTED_OVER_DUCKDB = 4.0
STAGES = (
    "posts ingest",
    "ingest, DuckDB",
    "ingest, Polars",
    "trace make",
    "oracle",
    "oracle, DuckDB",
    "oracle, Polars",
    "metrics",
)
_RUN_COMMAND = "from thyme.cli.main import run; run()"


class PipelineRow(msgspec.Struct, frozen=True):
    """One stage at one size."""

    posts: int
    stage: str
    wall_s: float
    cpu_s: float
    peak_mb: float
    result: str


def bench_pipeline(
    sizes: tuple[int, ...] = SIZES,
    cores: int = 2,
    tell: Callable[[str], None] = lambda stage: None,
    warm_up: bool = True,
    measured: Callable[[list[PipelineRow]], None] = lambda rows: None,
    commands: bool = True,
) -> list[PipelineRow]:
    """Measure every stage at every size; `tell` is called with the current step, `measured` with the rows of each size.
    Without `commands`, all stages share one session.
    """
    from thyme.pipeline.spark.session import spark_session, steady_java

    rows: list[PipelineRow] = []
    folder = Path(tempfile.mkdtemp(prefix="thyme-bench-"))
    try:
        tell("starting Spark")
        spark_session("bench", f"local[{cores}]", **steady_java())
        if warm_up:
            _bench_size(folder / "warm", WARM_UP_POSTS, cores, lambda stage: tell(f"warming up: {stage}"), False)
        for posts in sizes:
            of_size = _bench_size(folder / str(posts), posts, cores, tell, commands)
            measured(of_size)
            rows.extend(of_size)
            shutil.rmtree(folder / str(posts))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return rows


def render(rows: Sequence[PipelineRow], console: Console | None = None) -> None:
    """The table, with growth against the size before."""
    table = Table("posts", "stage", "seconds", "posts/s", "CPU s", "growth", "peak MB", "result")
    before: dict[str, PipelineRow] = {}
    for row in rows:
        last = before.get(row.stage)
        growth = f"{(row.cpu_s / last.cpu_s) / (row.posts / last.posts):.2f}" if last else ""
        table.add_row(
            f"{row.posts:,}",
            row.stage,
            f"{row.wall_s:.1f}",
            f"{row.posts / row.wall_s:,.0f}",
            f"{row.cpu_s:.1f}",
            growth,
            f"{row.peak_mb:,.0f}",
            row.result,
            end_section=row.stage == STAGES[-1],
        )
        before[row.stage] = row
    console = console or table_console()
    console.print(table)
    console.print("growth: CPU time over that of the size before, relative to the number of posts; 1 is linear")
    for told in over_duckdb(rows):
        console.print(told)
    console.print(f"load in the last minute, this included: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


def over_duckdb(rows: Sequence[PipelineRow]) -> Iterator[str]:
    """How Spark's stages compare with DuckDB's at each size."""
    for row in rows:
        name = row.stage.rpartition(" ")[2]
        other = next((one for one in rows if one.posts == row.posts and one.stage == f"{name}, DuckDB"), None)
        if row.stage in ("posts ingest", "oracle") and other is not None:
            yield (
                f"{row.stage} at {row.posts:,} posts: {row.wall_s / other.wall_s:.1f} × DuckDB's seconds, "
                f"{row.cpu_s / other.cpu_s:.1f} × its CPU time (wanted: at most {WANTED_OVER_DUCKDB:g} ×)"
            )


def _bench_size(folder: Path, posts: int, cores: int, tell: Callable[[str], None], commands: bool) -> list[PipelineRow]:
    from benchmarks.stages import (
        bench_options,
        count_truth,
        ingest_lines,
        make_bench_events,
        make_bench_trace,
        run_bench_metrics,
        trace_words,
    )
    from thyme.pipeline.manifest import read_manifest

    rows: list[PipelineRow] = []

    def add(stage: str, effort: Effort, result: str) -> None:
        rows.append(PipelineRow(posts, stage, effort.wall_s, effort.cpu_s, effort.peak_mb, result))

    folder.mkdir(parents=True)
    tell(f"{posts:,} posts: generating")
    write_lines(folder / "posts.jsonl", posts)
    given, read, trace = folder / "posts.jsonl", folder / "posts", folder / "trace"
    tell(f"{posts:,} posts: ingesting")
    if commands:
        _, effort = measure(lambda: _command("posts", "ingest", str(given), "--out", str(read), cores=cores))
    else:
        _, effort = measure(lambda: ingest_lines(given, read))
    content = content_of(read)
    add("posts ingest", effort, f"{content.posts:,} posts")
    for name, ingestion in (("DuckDB", ingest_with_duckdb), ("Polars", ingest_with_polars)):
        tell(f"{posts:,} posts: ingesting with {name}")
        other = folder / f"{name}.parquet"
        _, effort = _apart(partial(ingestion, given, other, cores))
        if (found := content_of(other)) != content:
            raise AssertionError(f"{name} reads {found}, Spark {content}")
        add(f"ingest, {name}", effort, f"{found.posts:,} posts")
        other.unlink()
    tell(f"{posts:,} posts: making the trace")
    options = bench_options(read, posts // POSTS_PER_SUBSCRIPTION)
    if commands:
        words = ["trace", "make", str(read), "--out", str(trace), *trace_words(options)]
        _, effort = measure(lambda: _command(*words, cores=cores))
    else:
        _, effort = measure(lambda: make_bench_trace(read, trace, options))
    add("trace make", effort, f"{read_manifest(trace).rows:,} operations")
    tell(f"{posts:,} posts: counting the truth")
    truth, effort = measure(lambda: count_truth(folder / "trace", folder / "expected"))
    add("oracle", effort, f"{truth:,} matches")
    for name, function in (("DuckDB", count_with_duckdb), ("Polars", count_with_polars)):
        tell(f"{posts:,} posts: counting the truth with {name}")
        total, effort = _apart(partial(function, folder / "trace", cores))
        if total != truth:
            raise AssertionError(f"{name} counts {total} matches, Spark {truth}")
        add(f"oracle, {name}", effort, f"{total:,} matches")
    tell(f"{posts:,} posts: making events up")
    make_bench_events(folder / "trace", folder / "events")
    tell(f"{posts:,} posts: metrics")
    metrics, effort = measure(lambda: run_bench_metrics(folder / "trace", folder / "events"))
    add("metrics", effort, f"{metrics} metrics")
    return rows


def write_lines(path: Path, posts: int) -> None:
    """Generated posts as JSON lines of Twitter's v1.1 form."""
    from thyme.pipeline.posts.generate import PostOptions, post_blocks

    with path.open("w", encoding="utf-8") as file:
        for block in post_blocks(PostOptions(posts=posts)):
            for row in block.to_pylist():
                status = {
                    "id_str": row["id"],
                    "created_at": row["at"].timestamp(),
                    "text": row["text"],
                    "user": {"screen_name": row["author"]},
                    "entities": {"hashtags": [{"text": tag} for tag in row["tags"]]},
                }
                file.write(json.dumps(status) + "\n")


def _command(*words: str, cores: int) -> None:
    """The command, as a person calls it."""
    given = [sys.executable, "-c", _RUN_COMMAND, *words, "--master", f"local[{cores}]"]
    subprocess.run(given, check=True, stdout=subprocess.DEVNULL)


def _apart(work: Callable[[], ResultT]) -> tuple[ResultT, Effort]:
    """Run in a process of its own, so that its memory is its own."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(_measured, work).result()


def _measured(work: Callable[[], ResultT]) -> tuple[ResultT, Effort]:
    return measure(work)
