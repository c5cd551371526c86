"""A study whose posts, traces, runs, metrics and report are objects of a store on loopback."""

from __future__ import annotations

from pyspark.sql import SparkSession
from small_study import Finished

from thyme.places import Remote
from thyme.study.definition import load_study
from thyme.study.study import run_study


def test_a_study_in_a_store_gives_the_same_and_goes_on_where_it_stopped(
    spark: SparkSession, store: str, finished: Finished
) -> None:
    out, definition = Remote(f"{store}/studies/small"), load_study(finished.file)
    result = run_study(definition, str(out))
    assert result.metrics.read_bytes() == (finished.out / "metrics.csv").read_bytes()
    events = {name: size for name, size in out.sizes().items() if name.endswith("events.parquet")}
    assert len(events) == len(result.outcomes)
    for name in events:
        assert (out / name).read_bytes() == (finished.out / name).read_bytes()
    assert (out / "report.html").is_file()
    assert run_study(definition, out).all_reused
    cut, lost = sorted(events)[:2]
    (out / cut).write_bytes((out / cut).read_bytes()[:100])
    (out / lost).remove()
    again = run_study(definition, out)
    assert sorted(outcome.status for outcome in again.outcomes).count("done") == 2
    assert (out / cut).read_bytes() == (finished.out / cut).read_bytes()
    assert again.metrics.read_bytes() == (finished.out / "metrics.csv").read_bytes()
