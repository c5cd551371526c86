"""The sweep and a plain process pool play the same runs, and both are measured."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from benchmarks.sweep import WAYS, bench_sweep, render


@pytest.mark.usefixtures("spark")
def test_both_ways_play_all_runs_and_are_compared(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    bench = bench_sweep(runs=2, rounds=1, workers=1, nodes=4, simulated_s=30.0)
    assert [row.way for row in bench.rows] == list(WAYS)
    assert all(row.run_cpu_s > 0.0 and row.effort.wall_s > 0.0 for row in bench.rows)
    render(bench)
    assert "over the pool's" in capsys.readouterr().out
