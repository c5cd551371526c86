"""The benchmark of the pipeline: ingestion, trace, ground truth and metrics as posts grow, on this machine.

Posts are generated, written as JSON lines, and read back. All their users become nodes, so nearly every post is
inserted, and there is one subscription per 25 posts. The ground truth is counted by Spark and, from the same file and
by the same rule (running counts per tag), by DuckDB and by Polars, each in a process of its own; all three have to give
the same counts. Metrics are those of a made-up run in which every operation succeeds and every object is notified once.
"""

from __future__ import annotations

import json
import multiprocessing
import shutil
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table

from thyme.pipeline.effort import Effort, measure

SIZES = (500_000, 1_000_000, 2_000_000, 5_000_000)
POSTS_PER_SUBSCRIPTION = 25
_STAGES = ("ingest", "trace", "oracle", "oracle, DuckDB", "oracle, Polars", "metrics")


class PipelineRow(msgspec.Struct, frozen=True):
    """One stage at one size."""

    posts: int
    stage: str
    wall_s: float
    cpu_s: float
    peak_mb: float
    result: str


def bench_pipeline(
    sizes: tuple[int, ...] = SIZES, cores: int = 2, tell: Callable[[str], None] = lambda stage: None
) -> list[PipelineRow]:
    """Measure every stage at every size; `tell` hears what is being done."""
    from thyme.pipeline.session import spark_session, steady_java

    rows: list[PipelineRow] = []
    folder = Path(tempfile.mkdtemp(prefix="thyme-bench-"))
    try:
        tell("starting Spark")
        spark_session("bench", f"local[{cores}]", **steady_java())
        for posts in sizes:
            rows.extend(_bench_size(folder / str(posts), posts, cores, tell))
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
            end_section=row.stage == _STAGES[-1],
        )
        before[row.stage] = row
    console = console or Console()
    console.print(table)
    console.print("growth: CPU time over that of the size before, relative to the number of posts; 1 is linear")


def _bench_size(folder: Path, posts: int, cores: int, tell: Callable[[str], None]) -> list[PipelineRow]:
    from thyme.pipeline.bench_stages import count_truth, ingest_lines, make_bench_trace, run_bench_metrics

    rows: list[PipelineRow] = []

    def add(stage: str, effort: Effort, result: str) -> None:
        rows.append(PipelineRow(posts, stage, effort.wall_s, effort.cpu_s, effort.peak_mb, result))

    folder.mkdir(parents=True)
    tell(f"{posts:,} posts: generating")
    write_lines(folder / "posts.jsonl", posts)
    tell(f"{posts:,} posts: ingesting")
    read, effort = measure(lambda: ingest_lines(folder / "posts.jsonl", folder / "posts"))
    add("ingest", effort, f"{read:,} posts")
    tell(f"{posts:,} posts: making the trace")
    operations, effort = measure(
        lambda: make_bench_trace(folder / "posts", folder / "trace", posts // POSTS_PER_SUBSCRIPTION)
    )
    add("trace", effort, f"{operations:,} operations")
    tell(f"{posts:,} posts: counting the truth")
    truth, effort = measure(lambda: count_truth(folder / "trace", folder / "expected"))
    add("oracle", effort, f"{truth:,} matches")
    for name, function in (("DuckDB", count_with_duckdb), ("Polars", count_with_polars)):
        tell(f"{posts:,} posts: counting the truth with {name}")
        total, effort = _apart(function, folder / "trace", cores)
        if total != truth:
            raise AssertionError(f"{name} counts {total} matches, Spark {truth}")
        add(f"oracle, {name}", effort, f"{total:,} matches")
    tell(f"{posts:,} posts: metrics")
    metrics, effort = measure(lambda: run_bench_metrics(folder / "trace", folder / "expected", folder / "events"))
    add("metrics", effort, f"{metrics} metrics")
    return rows


def write_lines(path: Path, posts: int) -> None:
    """Generated posts as JSON lines of Twitter's v1.1 form."""
    from thyme.pipeline.generate import PostOptions, generate_posts

    with path.open("w", encoding="utf-8") as file:
        for block in generate_posts(PostOptions(posts=posts)):
            for row in block.to_pylist():
                status = {
                    "id_str": row["id"],
                    "created_at": row["at_s"],
                    "text": row["text"],
                    "user": {"screen_name": row["author"]},
                    "entities": {"hashtags": [{"text": tag} for tag in row["tags"]]},
                }
                file.write(json.dumps(status) + "\n")


def _apart(function: Callable[[Path, int], int], trace: Path, cores: int) -> tuple[int, Effort]:
    """Run in a process of its own, so that its memory is its own."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(_measured, function, trace, cores).result()


def _measured(function: Callable[[Path, int], int], trace: Path, cores: int) -> tuple[int, Effort]:
    return measure(lambda: function(trace, cores))


_RUNNING_COUNT = """
WITH inserts AS (SELECT operation, at_s, node, oid, unnest(tags) AS tag FROM trace WHERE kind = 'insert'),
deletes AS (
    SELECT d.operation, d.at_s, i.tag FROM trace d JOIN inserts i USING (node, oid) WHERE d.kind = 'delete'
),
subscriptions AS (
    SELECT s.operation, s.at_s, s.query AS tag, s.start_s IS NULL AS always,
           coalesce(u.at_s, 'infinity'::DOUBLE) AS end_s, coalesce(u.operation, -1) AS end_operation
    FROM trace s LEFT JOIN trace u ON u.kind = 'unsubscribe' AND u.node = s.node AND u.sid = s.sid
    WHERE s.kind = 'subscribe'
),
events AS (
    SELECT tag, at_s, operation, 1 AS insertion, 0 AS deletion, NULL::BIGINT AS subscription, '' AS probe,
           false AS always FROM inserts
    UNION ALL SELECT tag, at_s, operation, 0, 1, NULL, '', false FROM deletes
    UNION ALL SELECT tag, at_s, operation, 0, 0, operation, 'now', always FROM subscriptions
    UNION ALL SELECT tag, at_s, -1, 0, 0, operation, 'start', always FROM subscriptions
    UNION ALL SELECT tag, end_s, end_operation, 0, 0, operation, 'end', always FROM subscriptions
),
counted AS (
    SELECT subscription, probe, always, sum(insertion) OVER line AS inserted, sum(deletion) OVER line AS deleted
    FROM events WHERE tag IN (SELECT DISTINCT tag FROM subscriptions)
    WINDOW line AS (PARTITION BY tag ORDER BY at_s, operation ROWS UNBOUNDED PRECEDING)
),
totals AS (
    SELECT max(CASE WHEN probe = 'end' THEN inserted END)
           - CASE WHEN always THEN max(CASE WHEN probe = 'now' THEN deleted END)
                  ELSE max(CASE WHEN probe = 'start' THEN inserted END) END AS expected
    FROM counted WHERE subscription IS NOT NULL GROUP BY subscription, always
)
SELECT sum(expected) FROM totals
"""


def count_with_duckdb(trace: Path, cores: int) -> int:
    import duckdb

    with duckdb.connect(config={"threads": cores}) as connection:
        connection.execute("SET enable_progress_bar = false")
        connection.execute(f"CREATE VIEW trace AS SELECT * FROM read_parquet('{trace}/*.parquet')")
        row = connection.execute(_RUNNING_COUNT).fetchone()
    return int(row[0]) if row else 0


def count_with_polars(trace: Path, cores: int) -> int:
    import os

    os.environ["POLARS_MAX_THREADS"] = str(cores)
    import polars as pl

    rows = pl.scan_parquet(f"{trace}/*.parquet")
    inserts = (
        rows.filter(pl.col("kind") == "insert").select("operation", "at_s", "node", "oid", tag="tags").explode("tag")
    )
    deletes = rows.filter(pl.col("kind") == "delete").select("operation", "at_s", "node", "oid")
    deleted = deletes.join(inserts.select("node", "oid", "tag"), on=["node", "oid"], how="inner")
    cancels = rows.filter(pl.col("kind") == "unsubscribe").select(
        "node", "sid", end_s="at_s", end_operation="operation"
    )
    asked = (
        rows.filter(pl.col("kind") == "subscribe")
        .select("operation", "at_s", "node", "sid", tag="query", always=pl.col("start_s").is_null())
        .join(cancels, on=["node", "sid"], how="left")
        .with_columns(pl.col("end_s").fill_null(float("inf")), pl.col("end_operation").fill_null(-1))
    )
    none = pl.lit(None, dtype=pl.Int64)
    no = pl.lit(False)
    names = ["tag", "at_s", "operation", "insertion", "deletion", "subscription", "probe", "always"]
    places = {
        "now": {"at_s": pl.col("at_s"), "operation": pl.col("operation")},
        "start": {"at_s": pl.col("at_s"), "operation": pl.lit(-1, dtype=pl.Int64)},
        "end": {"at_s": pl.col("end_s"), "operation": pl.col("end_operation")},
    }
    parts = [
        inserts.with_columns(insertion=1, deletion=0, subscription=none, probe=pl.lit(""), always=no).select(names),
        deleted.with_columns(insertion=0, deletion=1, subscription=none, probe=pl.lit(""), always=no).select(names),
        *[
            asked.with_columns(insertion=0, deletion=0, subscription="operation", probe=pl.lit(probe), **place).select(
                names
            )
            for probe, place in places.items()
        ],
    ]
    events = pl.concat(parts).join(asked.select("tag").unique(), on="tag", how="semi").sort("tag", "at_s", "operation")
    counted = events.with_columns(
        inserted=pl.col("insertion").cum_sum().over("tag"), deleted=pl.col("deletion").cum_sum().over("tag")
    ).filter(pl.col("subscription").is_not_null())

    def at(probe: str, count: str) -> pl.Expr:
        return pl.col(count).filter(pl.col("probe") == probe).max()

    seen_before = pl.when(pl.col("always").first()).then(at("now", "deleted")).otherwise(at("start", "inserted"))
    expected = at("end", "inserted") - seen_before
    total = counted.group_by("subscription").agg(expected=expected).select(pl.col("expected").sum()).collect()
    return int(total.item())
