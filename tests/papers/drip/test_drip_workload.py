"""The number-interval workload of DRIP §VI-A."""

from __future__ import annotations

from collections import Counter

import pytest

from thyme.approaches.drip.election import detecting_ability
from thyme.model.errors import InputError
from thyme.model.queries import parse_query
from thyme.model.records import OperationKind
from thyme.papers.drip.workload import NumberIntervals, number_intervals, range_query


def test_the_same_options_give_the_same_operations_in_order_of_time() -> None:
    operations = number_intervals(NumberIntervals())
    assert operations == number_intervals(NumberIntervals())
    assert operations != number_intervals(NumberIntervals(seed=2))
    assert [operation.operation for operation in operations] == list(range(len(operations)))
    assert [operation.at_s for operation in operations] == sorted(operation.at_s for operation in operations)


def test_events_are_numbers_at_the_rate_of_the_paper() -> None:
    events = [o for o in number_intervals(NumberIntervals(events_to_s=5_030.0)) if o.kind is OperationKind.INSERT]
    assert len(events) == pytest.approx(0.8 * 5_000, rel=0.1)
    numbers = Counter(event.tags for event in events)
    assert set(numbers) == {(f"n{i}",) for i in range(1, 101)}
    assert len({(event.oid, event.node) for event in events}) == len(events)


def test_able_nodes_detect_more() -> None:
    events = [o for o in number_intervals(NumberIntervals(events_to_s=5_030.0)) if o.kind is OperationKind.INSERT]
    by_ability = sorted(range(200), key=lambda node: -detecting_ability(0, node, 2.0))
    share = sum(event.node in by_ability[:20] for event in events) / len(events)
    total = sum(detecting_ability(0, node, 2.0) for node in range(200))
    assert share == pytest.approx(sum(detecting_ability(0, node, 2.0) for node in by_ability[:20]) / total, abs=0.03)
    assert share > 0.5


def test_half_of_the_nodes_subscribe_to_ranges_of_about_five_numbers() -> None:
    options = NumberIntervals(nodes=2_000)
    ranges = [o for o in number_intervals(options) if o.kind is OperationKind.SUBSCRIBE]
    assert len(ranges) == pytest.approx(1_000, rel=0.1)
    lengths = [len(parse_query(subscription.query).tags()) for subscription in ranges]
    assert sum(lengths) / len(lengths) == pytest.approx(5.0, abs=0.3)
    assert all(subscription.start_s == subscription.at_s for subscription in ranges)


def test_a_range_matches_its_numbers_and_no_others() -> None:
    query = parse_query(range_query(97, 100))
    assert [number for number in range(1, 101) if query.matches((f"n{number}",))] == [97, 98, 99, 100]


def test_several_nodes_may_detect_an_event_and_publish_it_under_its_name() -> None:
    options = NumberIntervals(events_to_s=1_030.0, detectors=3.0)
    events = [o for o in number_intervals(options) if o.kind is OperationKind.INSERT]
    detectors = Counter(event.oid for event in events)
    assert len(events) / len(detectors) == pytest.approx(3.0, rel=0.2), "the ablest detect everything at most once"
    assert min(detectors.values()) == 1
    assert len({(event.oid, event.tags, event.at_s) for event in events}) == len(detectors)
    assert len({(event.oid, event.node) for event in events}) == len(events)
    with pytest.raises(InputError, match="expected 1 to as many as there are nodes"):
        NumberIntervals(detectors=0.5)
