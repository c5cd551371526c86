"""Objects are bounded, and their records survive encoding."""

from __future__ import annotations

import msgspec
import pytest

from thyme.model.errors import InputError
from thyme.model.frames import TimeFrame
from thyme.model.ids import CellId, NodeId, ObjectKey, SubscriptionKey
from thyme.model.objects import DataObject, Metadata, ObjectLimits, Replica, check_object
from thyme.model.queries import Conjunction, QueryError, parse_query
from thyme.model.subscriptions import Subscription

KEY = ObjectKey("photo", NodeId(7))
METADATA = Metadata(KEY, ("goal", "portugal"), b"thumbnail", 12.5, 3, (Replica(NodeId(7), CellId(2)),))


def test_tags_of_an_accepted_object_come_back_normalised() -> None:
    assert check_object(b"data", ["#Portugal", "goal", "GOAL"], b"") == ("goal", "portugal")


@pytest.mark.parametrize(
    ("data", "tags", "summary", "message"),
    [
        (b"12345", ["a"], b"", "5 bytes: at most 4"),
        (b"", ["a"], b"123", "3 bytes: at most 2"),
        (b"", [], b"", "no tags"),
        (b"", ["a", "b", "c"], b"", "3 tags: at most 2"),
        (b"", ["#"], b"", "empty"),
    ],
)
def test_objects_beyond_a_limit_are_refused_with_figures(
    data: bytes, tags: list[str], summary: bytes, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        check_object(data, tags, summary, ObjectLimits(data_bytes=4, summary_bytes=2, tags=2))


def test_objects_exactly_at_the_limits_are_accepted() -> None:
    limits = ObjectLimits(data_bytes=4, summary_bytes=2, tags=2)
    assert check_object(b"1234", ["a", "b", "#A"], b"12", limits) == ("a", "b")


def test_objects_survive_encoding() -> None:
    thing = DataObject(METADATA, b"abc")
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(thing), type=DataObject) == thing


@pytest.mark.parametrize("published_s", [float("nan"), float("inf")])
def test_objects_are_published_at_some_time(published_s: float) -> None:
    with pytest.raises(InputError, match="photo@7"):
        Metadata(KEY, ("goal",), b"", published_s, 1)


def test_subscription_needs_tags_and_frame_to_match() -> None:
    subscription = Subscription.to_query(
        SubscriptionKey(1, NodeId(2)), parse_query("goal & !replay | final"), TimeFrame(10.0, 20.0)
    )
    assert subscription.matches(METADATA)
    assert not subscription.matches(msgspec.structs.replace(METADATA, published_s=20.0))
    assert not subscription.matches(msgspec.structs.replace(METADATA, tags=("goal", "replay")))
    assert subscription.matches(msgspec.structs.replace(METADATA, tags=("final", "replay")))


def test_query_that_contradicts_itself_cannot_be_subscribed_to() -> None:
    with pytest.raises(QueryError, match="can never match"):
        Subscription.to_query(SubscriptionKey(1, NodeId(2)), parse_query("a & !a"), TimeFrame.always())
    with pytest.raises(QueryError, match="can never match"):
        Subscription(SubscriptionKey(1, NodeId(2)), (), TimeFrame.always())


def test_subscriptions_survive_encoding() -> None:
    subscription = Subscription(
        SubscriptionKey(1, NodeId(2)), (Conjunction(("a",), ("b",)), Conjunction(("c",))), TimeFrame.future(3.0)
    )
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(subscription), type=Subscription) == subscription
