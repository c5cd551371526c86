"""The truth of a trace that is one table is that of the matching index, and what is written of it that of Spark."""

from __future__ import annotations

from collections import Counter
from itertools import product
from pathlib import Path

import pyarrow as pa
import pytest
from oracle_worlds import notified, random_world
from pyspark.sql import SparkSession

from thyme.pipeline.schemas import TRACE
from thyme.pipeline.spark import dataset
from thyme.pipeline.spark.stored_rows import open_rows
from thyme.pipeline.truth import written
from thyme.pipeline.truth.whole import WholeTruth
from thyme.pipeline.truth.written import write_expected
from thyme.sim.traces import table_from_operations

WORLDS = 200


def test_the_counts_are_those_of_the_matching_index() -> None:
    told = 0
    for seed in range(WORLDS):
        world = random_world(seed, 24 if seed % 2 else 70)
        truth = WholeTruth(table_from_operations(world))
        numbers = Counter(subscription for subscription, _ in notified(world))
        counts = dict(zip(truth.subscriptions.keys.to_pylist(), truth.counts().tolist(), strict=True))
        assert counts == {str(o.subscription_key): numbers[str(o.subscription_key)] for o in world if o.query}, seed
        told += sum(counts.values())
    assert told > 5 * WORLDS


def test_pairs_are_judged_one_by_one() -> None:
    for seed in range(WORLDS):
        world = random_world(seed)
        truth = WholeTruth(table_from_operations(world))
        keys = [*truth.subscriptions.keys.to_pylist(), "99@9"], [*truth.objects.keys.to_pylist(), "x@9"]
        pairs = list(product(*keys))
        asking, found = (pa.array(column) for column in zip(*pairs, strict=True))
        right = truth.judge(truth.asking(asking), truth.found(found))
        assert {pair for pair, is_right in zip(pairs, right, strict=True) if is_right} == notified(world), seed


def test_the_order_of_rows_does_not_matter() -> None:
    table = table_from_operations(random_world(3, 70))
    backwards = table.sort_by([("operation", "descending")])
    one, other = WholeTruth(table), WholeTruth(backwards)
    assert dict(zip(one.subscriptions.keys.to_pylist(), one.counts().tolist(), strict=True)) == dict(
        zip(other.subscriptions.keys.to_pylist(), other.counts().tolist(), strict=True)
    )


def test_a_trace_in_which_nobody_asks_or_inserts_has_an_empty_truth() -> None:
    nothing = WholeTruth(table_from_operations([]))
    assert nothing.counts().tolist() == []
    asked = WholeTruth(table_from_operations([o for o in random_world(1) if o.query]))
    assert set(asked.counts().tolist()) == {0}


def test_what_is_written_is_the_same_by_spark(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset.write_table_once(table_from_operations(random_world(8, 90)), tmp_path / "trace")
    trace = open_rows(lambda: spark, tmp_path / "trace", TRACE)
    write_expected(trace, tmp_path / "here")
    monkeypatch.setattr(written, "LIGHT_OPERATIONS", 0)
    write_expected(trace, tmp_path / "by_spark")
    here, by_spark = (dataset.read_table(tmp_path / name).sort_by("subscription") for name in ("here", "by_spark"))
    assert here.to_pylist() == by_spark.to_pylist()
    assert here.num_rows > 10
