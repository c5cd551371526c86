"""The ground truth counted by other engines, for the benchmark: running counts per tag, as in the oracle.

Both read the trace's Parquet files and give the number of notifications of a perfect execution. They know the traces
of the benchmark only: queries of one tag, and frames that start at ⊥ or with the subscription and never end.
"""

from __future__ import annotations

import os
from pathlib import Path

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
