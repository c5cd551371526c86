"""The ground truth says what a perfect execution would notify: as brute force and the matching index do."""

from __future__ import annotations

import re
from collections import Counter
from itertools import product

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from truth_worlds import notified, random_world

from thyme.model.ids import NodeId
from thyme.model.operations import TRACE_COLUMNS, Operation
from thyme.model.records import OperationKind
from thyme.pipeline.schemas import spark_schema
from thyme.pipeline.spark.arrow import from_arrow
from thyme.pipeline.truth.expected import Truth, expected_notifications
from thyme.sim.traces import check_operations, table_from_operations

WORLDS = 120
NAMED = spark_schema((*TRACE_COLUMNS, ("trace", "string")))
_WORDS = {"&": " and ", "|": " or ", "!": " not "}


def brute_force(world: list[Operation]) -> set[tuple[str, str]]:
    """Each subscription with each object, judged by the definition alone."""
    ends = {
        (one.kind, one.oid, one.sid, one.node): number
        for number, one in enumerate(world)
        if one.kind in (OperationKind.DELETE, OperationKind.UNSUBSCRIBE)
    }
    pairs = set()
    for (issued, asking), (inserted, found) in product(enumerate(world), enumerate(world)):
        if asking.kind != OperationKind.SUBSCRIBE or found.kind != OperationKind.INSERT:
            continue
        deleted = ends.get((OperationKind.DELETE, found.oid, found.sid, found.node), len(world))
        cancelled = ends.get((OperationKind.UNSUBSCRIBE, asking.oid, asking.sid, asking.node), len(world))
        in_frame = (asking.start_s is None or asking.start_s <= found.at_s) and (
            asking.end_s is None or found.at_s < asking.end_s
        )
        exists = deleted > issued if inserted < issued else cancelled > inserted
        formula = "".join(_WORDS.get(sign, sign) for sign in asking.query)
        matches = eval(re.sub(r"\b[a-d]\b", lambda tag: str(tag[0] in found.tags), formula))  # noqa: B023
        if in_frame and exists and matches:
            pairs.add((str(asking.subscription_key), str(found.object_key)))
    return pairs


def counts_of(world: list[Operation], pairs: set[tuple[str, str]]) -> dict[str, int]:
    numbers = Counter(subscription for subscription, _ in pairs)
    return {str(one.subscription_key): numbers[str(one.subscription_key)] for one in world if one.query}


@pytest.fixture(scope="module")
def worlds() -> dict[str, list[Operation]]:
    return {f"world {seed}": random_world(seed, 24 if seed % 2 else 70) for seed in range(WORLDS)}


def test_brute_force_and_the_matching_index_notify_the_same(worlds: dict[str, list[Operation]]) -> None:
    for name, world in worlds.items():
        assert brute_force(world) == notified(world), name


def test_the_counts_are_those_of_brute_force(spark: SparkSession, worlds: dict[str, list[Operation]]) -> None:
    tables = []
    for name, world in worlds.items():
        check_operations(world, name)
        table = table_from_operations(world).sort_by([("operation", "descending")])
        tables.append(table.append_column("trace", pa.array([name] * table.num_rows, pa.string())))
    rows = expected_notifications(from_arrow(spark, pa.concat_tables(tables), NAMED)).collect()
    found = {(row.trace, row.subscription): row.expected for row in rows}
    assert len(found) == len(rows)
    assert sum(found.values()) > 5 * WORLDS
    assert found == {
        (name, subscription): number
        for name, world in worlds.items()
        for subscription, number in counts_of(world, brute_force(world)).items()
    }


def test_an_object_that_expired_is_not_expected_any_more() -> None:
    def subscribe(number: int, at_s: float, node: int) -> Operation:
        return Operation(number, at_s, NodeId(node), OperationKind.SUBSCRIBE, sid=0, query="a")

    def insert(number: int, at_s: float, oid: str, end_s: float | None) -> Operation:
        return Operation(number, at_s, NodeId(1), OperationKind.INSERT, oid=oid, tags=("a",), text=oid, end_s=end_s)

    world = [
        subscribe(0, 1.0, 2),
        insert(1, 2.0, "brief", 10.0),
        insert(2, 2.0, "lasting", None),
        subscribe(3, 9.0, 3),
        subscribe(4, 10.0, 4),
        subscribe(5, 11.0, 5),
    ]
    check_operations(world, "a world")
    truth = Truth(table_from_operations(world))
    assert truth.counts().tolist() == [2, 2, 1, 1]


def test_pairs_are_judged_one_by_one(worlds: dict[str, list[Operation]]) -> None:
    for name, world in worlds.items():
        truth = Truth(table_from_operations(world))
        keys = [*truth.subscriptions.keys.to_pylist(), "99@9"], [*truth.objects.keys.to_pylist(), "x@9"]
        pairs = list(product(*keys))
        asking, found = (pa.array(column) for column in zip(*pairs, strict=True))
        right = truth.judge(truth.asking(asking), truth.found(found))
        assert {pair for pair, is_right in zip(pairs, right, strict=True) if is_right} == brute_force(world), name


def test_a_trace_in_which_nobody_asks_or_inserts_has_an_empty_truth() -> None:
    assert Truth(table_from_operations([])).counts().tolist() == []
    asked = Truth(table_from_operations([one for one in random_world(1) if one.query]))
    assert set(asked.counts().tolist()) == {0}
