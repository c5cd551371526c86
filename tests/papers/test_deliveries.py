"""The ground truth of the evaluations: who should get what, where queries ask for any of some tags."""

from __future__ import annotations

from thyme.model.ids import NodeId, ObjectKey, SubscriptionKey
from thyme.model.operations import Operation
from thyme.model.records import Notified, OperationKind
from thyme.papers.deliveries import deliveries, expected_pairs
from thyme.sim.recorder import Recorder


def subscribed(node: int, query: str, sid: int = 0) -> Operation:
    return Operation(0, 1.0, NodeId(node), OperationKind.SUBSCRIBE, sid=sid, query=query)


def published(node: int, tag: str) -> Operation:
    return Operation(9, 2.0, NodeId(node), OperationKind.INSERT, oid="a", tags=(tag,))


def test_each_subscriber_but_the_publisher_is_expected_to_get_what_has_one_of_its_tags() -> None:
    subscriptions = [subscribed(1, "n5 | n6"), subscribed(2, "n6"), subscribed(3, "n7")]
    assert len(expected_pairs([*subscriptions, published(9, "n6")])) == 2
    assert len(expected_pairs([*subscriptions, published(1, "n6")])) == 1
    assert len(expected_pairs([*subscriptions, published(9, "n8")])) == 0
    assert len(expected_pairs([subscribed(1, "n5"), subscribed(1, "n5 | n6", 1), published(9, "n5")])) == 1


def test_what_a_publisher_hears_of_itself_is_not_delivered() -> None:
    recorder = Recorder()
    for node in (1, 2):
        key = SubscriptionKey(0, NodeId(node))
        recorder.record(3.0, node, Notified(key, ObjectKey("a", NodeId(1)), 1.5))
    assert [row["value"] for row in deliveries(recorder.table(9.0), ["value"])] == [1.5]
