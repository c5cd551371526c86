"""Traces follow the rules of Thyme FGCS §9.2 and do not depend on how the work is split."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from thyme.model.errors import InputError
from thyme.model.operations import Operation
from thyme.model.queries import parse_query
from thyme.model.records import OperationKind
from thyme.pipeline.posts.generate import PostOptions, post_blocks
from thyme.pipeline.schemas import POST_COLUMNS, POSTS, arrow_schema
from thyme.pipeline.spark import dataset
from thyme.pipeline.spark.arrow import from_arrow
from thyme.pipeline.traces.behaviour import Compression, QueryMix, Rates, arrivals
from thyme.pipeline.traces.sizes import ObjectSizes
from thyme.pipeline.traces.trace import TraceOptions, make_trace
from thyme.sim.traces import check_operations, operations_from_table, read_trace


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return pa.concat_tables(post_blocks(PostOptions(posts=3_000)))


@pytest.fixture(scope="module")
def posts(spark: SparkSession, table: pa.Table) -> DataFrame:
    return from_arrow(spark, table, POSTS).persist()


def played(posts: DataFrame, options: TraceOptions) -> list[Operation]:
    return operations_from_table(make_trace(posts, options).toArrow())


@pytest.fixture(scope="module")
def trace(posts: DataFrame) -> list[Operation]:
    return played(posts, TraceOptions(users=60))


def of_kind(trace: list[Operation], kind: OperationKind) -> list[Operation]:
    return [operation for operation in trace if operation.kind is kind]


def test_the_trace_is_valid(trace: list[Operation]) -> None:
    check_operations(trace, "trace")


def test_subscriptions_may_be_on_the_past_or_on_a_frame_around_them(posts: DataFrame, trace: list[Operation]) -> None:
    rates = Rates(always_share=0.4, past_share=0.2, frame_share=0.3, frame_s=1_800.0)
    other = played(posts, TraceOptions(users=60, rates=rates))
    check_operations(other, "trace")
    found = of_kind(other, OperationKind.SUBSCRIBE)
    half_s = 1_800.0 / 18.0 / 2.0
    forms = Counter(
        "always" if (o.start_s, o.end_s) == (None, None)
        else "past" if o.start_s is None and o.end_s == o.at_s
        else "future" if o.start_s == o.at_s and o.end_s is None
        else "frame" if o.end_s == pytest.approx(o.at_s + half_s) and o.start_s == pytest.approx(o.at_s - half_s)
        else "frame from the start" if o.end_s == pytest.approx(o.at_s + half_s) and o.start_s == 0.0
        else "what?"
        for o in found
    )  # fmt: skip
    shares = {form: count / len(found) for form, count in forms.items()}
    assert shares["always"] == pytest.approx(0.4, abs=0.08)
    assert shares["past"] == pytest.approx(0.2, abs=0.08)
    assert shares["frame"] + shares.get("frame from the start", 0.0) == pytest.approx(0.3, abs=0.08)
    assert shares["future"] == pytest.approx(0.1, abs=0.06)
    assert [(o.at_s, o.node, o.query) for o in found] == [
        (o.at_s, o.node, o.query) for o in of_kind(trace, OperationKind.SUBSCRIBE)
    ], "only frames differ"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"always_share": 0.8, "past_share": 0.3}, "0.8, 0.3, 0; expected shares that sum to 1 at most"),
        ({"always_share": float("nan")}, "always_share is nan"),
        ({"subscriptions_first_per_hour": 1e9}, "subscriptions_first_per_hour is 1e"),
        ({"frame_s": float("inf")}, "frame_s is inf"),
    ],
)
def test_rates_out_of_bounds_are_refused(wrong: dict[str, float], said: str) -> None:
    with pytest.raises(InputError, match=said):
        Rates(**wrong)


@pytest.mark.parametrize("wrong", [{"window_s": float("nan")}, {"duration_s": 0.0}, {"first_s": 1e300}])
def test_times_out_of_bounds_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InputError, match=f"{next(iter(wrong))} is .*; expected a number ≥"):
        Compression(**wrong)


def test_posts_of_the_most_active_users_are_inserted_at_compressed_times(
    trace: list[Operation], table: pa.Table
) -> None:
    rows = [row for row in table.to_pylist() if row["tags"]]
    ranked = sorted(Counter(row["author"] for row in rows).items(), key=lambda item: (-item[1], item[0]))
    nodes = {author: node for node, (author, _) in enumerate(ranked[:60])}
    start_s = PostOptions().start_s
    expected = {
        (
            row["id"],
            nodes[row["author"]],
            tuple(sorted(row["tags"])),
            row["text"],
            60 + (row["at"].timestamp() - start_s) / 18,
        )
        for row in rows
        if row["author"] in nodes
    }
    inserts = of_kind(trace, OperationKind.INSERT)
    assert len(inserts) == len(expected)
    times = {oid: at_s for oid, _, _, _, at_s in expected}
    assert {(o.oid, o.node, o.tags, o.text) for o in inserts} == {row[:4] for row in expected}
    assert all(abs(times[o.oid] - o.at_s) < 1e-5 for o in inserts)
    assert all(60 <= operation.at_s < 660 for operation in trace)


def test_posts_may_be_dealt_out_whoever_wrote_them(posts: DataFrame, trace: list[Operation], table: pa.Table) -> None:
    dealt = of_kind(played(posts, TraceOptions(users=60, authors="deal")), OperationKind.INSERT)
    assert len(dealt) == sum(bool(row["tags"]) for row in table.to_pylist()) > len(of_kind(trace, OperationKind.INSERT))
    assert {operation.node for operation in dealt} == set(range(60))


def test_subscriptions_ask_for_one_popular_tag_always_or_in_the_future(trace: list[Operation]) -> None:
    uses = Counter(tag for o in of_kind(trace, OperationKind.INSERT) for tag in o.tags)
    ranked = sorted(uses, key=lambda tag: (-uses[tag], tag))
    popular = set(ranked[: int(np.ceil(0.6 * len(ranked)))])
    subscribes = of_kind(trace, OperationKind.SUBSCRIBE)
    assert {o.query for o in subscribes} <= popular
    assert len({o.query for o in subscribes}) > len(popular) / 2
    assert all(o.start_s in (None, o.at_s) and o.end_s is None for o in subscribes)
    always = np.mean([o.start_s is None for o in subscribes])
    assert 0.5 < always < 0.7


def test_rates_follow_the_phases_of_the_match(trace: list[Operation]) -> None:
    half_time_s, second_half_s = 60 + 6300 / 18, 60 + 7200 / 18
    subscribes = of_kind(trace, OperationKind.SUBSCRIBE)
    first = sum(o.at_s < half_time_s for o in subscribes)
    assert 260 < first < 370  # 60 users, 1.75 hours, 3 per hour: 315
    assert 50 < len(subscribes) - first < 105  # 60 users, 1.25 hours, 1 per hour: 75
    deletes, unsubscribes = of_kind(trace, OperationKind.DELETE), of_kind(trace, OperationKind.UNSUBSCRIBE)
    assert 15 < len(deletes) < 48  # 60 users, 1 hour, 0.5 per hour: 30
    assert 3 < len(unsubscribes) < 25  # 60 users, 1 hour, 0.2 per hour: 12
    assert all(o.at_s >= second_half_s for o in [*deletes, *unsubscribes])


def test_splitting_the_posts_otherwise_changes_nothing(
    spark: SparkSession, posts: DataFrame, trace: list[Operation], tmp_path: Path
) -> None:
    spark.conf.set("spark.sql.shuffle.partitions", "5")
    try:
        other = make_trace(posts.repartition(7, "text"), TraceOptions(users=60))
        dataset.write_once(other, tmp_path / "trace")
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", "2")
    assert read_trace(tmp_path / "trace") == trace


def test_queries_of_several_tags_ask_for_tags_that_stand_together(posts: DataFrame, trace: list[Operation]) -> None:
    mix = QueryMix(single=0.1, conjunction=0.3, disjunction=0.3, negation=0.3, tags=3)
    sizes = ObjectSizes("photos", summary_bytes=2048)
    other = played(posts, TraceOptions(users=60, seed=2, queries=mix, sizes=sizes, publisher_share=0.5))
    check_operations(other, "trace")
    subscribes, inserts = of_kind(other, OperationKind.SUBSCRIBE), of_kind(other, OperationKind.INSERT)
    assert {o.oid for o in inserts} < {o.oid for o in of_kind(trace, OperationKind.INSERT)}
    assert {o.at_s for o in subscribes}.isdisjoint({o.at_s for o in of_kind(trace, OperationKind.SUBSCRIBE)})
    texts = [o.query for o in subscribes]
    for sign in (" & ", " | ", " & !"):
        assert sum(sign in text for text in texts) > len(texts) / 6
    assert max(len(parse_query(text).tags()) for text in texts) == 3
    conjunctions = [parse_query(text) for text in texts if " & " in text and "!" not in text]
    useful = [query for query in conjunctions if any(query.matches(o.tags) for o in inserts)]
    assert len(useful) > len(conjunctions) / 3
    publishers = {o.node for o in inserts}
    assert publishers.isdisjoint({o.node for o in subscribes})
    assert len(publishers) == 30
    assert {o.summary_bytes for o in inserts} == {2048}
    assert 80_000 < np.median([o.size_bytes for o in inserts]) < 120_000
    assert len({o.size_bytes for o in inserts}) > len(inserts) / 2


def test_too_few_users_or_no_tags_are_refused(spark: SparkSession, posts: DataFrame) -> None:
    with pytest.raises(InputError, match="expected at least 100000"):
        make_trace(posts, TraceOptions(users=100_000))
    untagged = pa.Table.from_pylist(
        [{"id": "1", "author": "a", "at": datetime.fromtimestamp(0.0, UTC), "text": "x", "tags": []}],
        arrow_schema(POST_COLUMNS),
    )
    with pytest.raises(InputError, match="no post has a tag"):
        make_trace(from_arrow(spark, untagged, POSTS), TraceOptions(users=1))
    with pytest.raises(InputError, match="always_share"):
        Rates(always_share=2.0)
    with pytest.raises(InputError, match="sum to 1"):
        QueryMix(single=0.5)
    with pytest.raises(InputError, match="expected text, fixed or photos"):
        ObjectSizes("songs")  # type: ignore[arg-type]


def test_arrivals_come_at_their_rate_in_each_phase() -> None:
    nodes = np.arange(2_000)
    who, at_s, index = arrivals(1, "test", nodes, ((0.0, 3600.0, 3.0), (3600.0, 7200.0, 0.0), (7200.0, 10_800.0, 1.0)))
    assert abs((at_s < 3600).sum() / 2_000 - 3.0) < 0.15
    assert not ((at_s >= 3600) & (at_s < 7200)).any()
    assert abs((at_s >= 7200).sum() / 2_000 - 1.0) < 0.1
    assert (np.bincount(who, minlength=2000) > index[np.r_[np.flatnonzero(np.diff(who)), -1]].min()).any()
    alone = arrivals(1, "test", nodes[500:501], ((0.0, 3600.0, 3.0), (3600.0, 7200.0, 0.0), (7200.0, 10_800.0, 1.0)))
    assert (alone[1] == at_s[who == 500]).all()


def test_the_window_is_compressed_as_asked() -> None:
    compression = Compression(window_s=100.0, duration_s=10.0, first_s=5.0)
    assert compression.played_s(np.array([0.0, 50.0, 100.0])).tolist() == [5.0, 10.0, 15.0]
