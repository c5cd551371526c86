"""The benchmark measures every stage, and three engines agree on the truth."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from benchmarks.pipeline import STAGES, bench_pipeline, render


@pytest.mark.usefixtures("spark")
def test_every_stage_is_measured_and_the_engines_agree(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("duckdb")
    pytest.importorskip("polars")
    rows = bench_pipeline((2_000,), warm_up=False, commands=False)
    assert tuple(row.stage for row in rows) == STAGES
    counts = {row.result for row in rows if row.stage.startswith("oracle")}
    assert len(counts) == 1
    assert counts != {"0 matches"}
    assert rows[0].result == "2,000 posts"
    render(rows)
    assert "× DuckDB's seconds" in capsys.readouterr().out
