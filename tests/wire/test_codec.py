"""The codec: every message survives the wire, and nothing else gets in."""

from __future__ import annotations

import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thyme.model.frames import TimeFrame
from thyme.model.ids import CellId, NodeId, ObjectKey, SubscriptionKey
from thyme.model.matching import Cursor
from thyme.model.objects import Metadata
from thyme.model.queries import parse_query
from thyme.model.subscriptions import Subscription
from thyme.wire.codec import (
    MAX_FRAME_BYTES,
    MESSAGES,
    MODULES,
    VERSION,
    DecodeError,
    FrameTooLarge,
    decode,
    encode,
    is_bulk,
)
from thyme.wire.geographic import CellPacket, Heading
from thyme.wire.message import Message
from thyme.wire.routing import Flooded, RouteError
from thyme.wire.storage import JoinReply, MoreRequest, Notification, PartReply, PastMatches, Subscribed, Unsubscribed

KEY = SubscriptionKey(3, NodeId(7))
SUBSCRIPTION = Subscription(KEY, parse_query("goal & !replay | final").dnf(), TimeFrame(None, 12.5))
METADATA = Metadata(ObjectKey("münchen.jpg", NodeId(2)), ("goal", "tor"), b"\x00\xff", 1.25, 900)
EXAMPLES: list[Message] = [
    Flooded(NodeId(1), 1 << 60, 3, b"payload"),
    RouteError(((NodeId(3), 9), (NodeId(4), 10))),
    Subscribed(SUBSCRIPTION, 10),
    Notification(KEY, (METADATA, METADATA)),
    MoreRequest(9, SUBSCRIPTION, None, 10),
    PastMatches(KEY, (METADATA,), Cursor(2.5, METADATA.key), 7, 9, False),
    PartReply(5, METADATA.key, True, 1200, 2400, bytes(range(256))),
    JoinReply(1, (SUBSCRIPTION,), 2, ((KEY, 4.5),)),
]


@pytest.mark.parametrize("message", EXAMPLES, ids=lambda m: type(m).__name__)
def test_a_message_survives_the_wire(message: Message) -> None:
    assert decode(encode(message)) == message


def test_each_module_states_ranges_of_tags_of_its_own_and_stays_in_them() -> None:
    stated = {}
    for module in MODULES:
        ranges = re.findall(r"tags (\d+)–(\d+)", module.__doc__ or "")
        assert ranges, f"{module.__name__} states no range"
        stated[module.__name__] = [tag for first, last in ranges for tag in range(int(first), int(last) + 1)]
    assert sum(map(len, stated.values())) == len(set().union(*stated.values())), "two ranges overlap"
    for message in MESSAGES:
        assert message.__struct_config__.tag in stated[message.__module__], message.__name__


def test_no_two_messages_share_a_tag() -> None:
    tags = [cls.__struct_config__.tag for cls in MESSAGES]
    assert len(set(tags)) == len(tags)


@given(st.binary(max_size=200))
def test_random_bytes_are_refused_with_one_error(junk: bytes) -> None:
    try:
        message = decode(junk)
    except DecodeError:
        return
    assert isinstance(message, Message)


@given(st.sampled_from(EXAMPLES), st.data())
def test_damaged_frames_are_refused_or_read_as_messages(message: Message, data: st.DataObject) -> None:
    frame = bytearray(encode(message))
    for _ in range(data.draw(st.integers(1, 4))):
        frame[data.draw(st.integers(0, len(frame) - 1))] = data.draw(st.integers(0, 255))
    del frame[data.draw(st.integers(0, len(frame))) :]
    try:
        read = decode(bytes(frame))
    except DecodeError:
        return
    assert isinstance(read, Message)


def test_deep_nesting_is_refused() -> None:
    with pytest.raises(DecodeError):
        decode(bytes([VERSION]) + b"\x91" * 50_000)


def test_another_version_is_refused_by_name() -> None:
    with pytest.raises(DecodeError, match="wire version 2"):
        decode(b"\x02" + encode(EXAMPLES[0])[1:])


def test_an_oversized_frame_is_refused_on_both_sides() -> None:
    with pytest.raises(FrameTooLarge, match="at most 60000"):
        encode(Flooded(NodeId(1), 1, 0, bytes(MAX_FRAME_BYTES)))
    with pytest.raises(DecodeError, match="at most"):
        decode(bytes([VERSION]) + msgspec.msgpack.encode(bytes(MAX_FRAME_BYTES)))


def test_large_parts_of_contents_are_bulk_also_within_packets() -> None:
    key = ObjectKey("photo", NodeId(1))
    for size, bulk in ((1_200, True), (100, False)):
        reply, state = PartReply(1, key, True, 0, size, bytes(size)), Unsubscribed(SubscriptionKey(1, NodeId(2)), 1.0)
        for message, expected in ((reply, bulk), (state, False)):
            packet = CellPacket(NodeId(1), CellId(2), 3, (Heading(CellId(4)),), 0, True, encode(message))
            for sent in (message, packet):
                assert is_bulk(sent, len(encode(sent))) is expected
