"""Parcels and pieces: many small messages in one datagram, and a large one in many."""

from __future__ import annotations

import asyncio
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from taps import Tap, kind_of
from test_live_link import End, acquaint, closed, opened, until

from thyme.live.link.addresses import Address
from thyme.live.link.frames import Kind
from thyme.live.link.link import LinkOptions
from thyme.live.link.parcels import (
    MAX_ACKNOWLEDGED,
    MAX_INCOMPLETE,
    MAX_MESSAGES,
    MessagePart,
    Pieces,
    pack_messages,
    pack_numbers,
    split,
    unpack_messages,
    unpack_numbers,
    unpack_piece,
)
from thyme.live.link.paths import PathOptions, Paths
from thyme.live.link.sealing import FrameError
from thyme.live.link.unicasts import UnicastOptions
from thyme.model.ids import NodeId, ObjectKey
from thyme.model.records import TrafficKind
from thyme.wire.storage import JoinRequest, PartReply

NARROW = LinkOptions(paths=PathOptions(loopback_bytes=1_400))
LARGE = PartReply(1, ObjectKey("photo", NodeId(1)), True, 0, 20_000, bytes(i % 251 for i in range(20_000)))


def phy(end: End, name: str) -> int:
    """Datagrams of this name that left."""
    return sum(n for (traffic, what, _), n in end.counts.items() if traffic == TrafficKind.PHY_SENT and what == name)


def test_the_first_message_of_a_turn_leaves_at_once_and_the_others_in_one_datagram() -> None:
    async def scene() -> None:
        sender, receiver = End(1), End(2)
        await opened(sender, receiver)
        await acquaint(sender, receiver)
        for i in range(60):
            sender.link.unicast(NodeId(2), JoinRequest(i), None)
        assert [await receiver.next() for _ in range(60)] == [(1, JoinRequest(i)) for i in range(60)]
        await until(lambda: sender.link.unacknowledged == 0)
        assert phy(sender, "unicast") == 2
        assert phy(receiver, "ack") <= 2
        await closed(sender, receiver)

    asyncio.run(scene())


def test_a_message_larger_than_the_path_arrives_whole_though_pieces_are_lost() -> None:
    async def scene() -> None:
        sender, receiver = End(1, NARROW), End(2, NARROW)
        await opened(sender, receiver)
        await acquaint(sender, receiver)
        lose_every_third(sender)
        failed: list[int] = []
        sender.link.unicast(NodeId(2), LARGE, lambda: failed.append(1))
        sender.link.unicast(NodeId(2), JoinRequest(5), None)
        heard = [await receiver.next() for _ in range(2)]
        assert (1, LARGE) in heard
        assert (1, JoinRequest(5)) in heard
        await until(lambda: sender.link.unacknowledged == 0)
        assert failed == []
        assert phy(sender, "unicast") >= 15
        await closed(sender, receiver)

    asyncio.run(scene())


def lose_every_third(end: End) -> None:
    """Of the unicasts that this end sends."""
    sent = 0

    def passes(datagram: bytes, address: Address) -> bool:
        nonlocal sent
        unicast = kind_of(datagram) in (Kind.PARCEL, Kind.PIECE)
        sent += unicast
        return not unicast or sent % 3 > 0

    Tap(end.link).sends = passes


def test_a_broadcast_larger_than_the_path_arrives_whole() -> None:
    async def scene() -> None:
        sender, receiver = End(1, NARROW), End(2)
        await opened(sender, receiver)
        await acquaint(sender, receiver)
        sender.link.broadcast(LARGE)
        assert await receiver.next() == (1, LARGE)
        assert phy(sender, "broadcast") == 16
        await closed(sender, receiver)

    asyncio.run(scene())


def test_a_message_in_pieces_to_somebody_who_is_silent_fails_once() -> None:
    async def scene() -> None:
        options = LinkOptions(
            paths=PathOptions(loopback_bytes=1_400), unicasts=UnicastOptions(ack_wait_s=0.01, retries=2)
        )
        sender, receiver = End(1, options), End(2)
        await opened(sender, receiver)
        await acquaint(sender, receiver)
        Tap(receiver.link, sends=False)
        failed: list[int] = []
        sender.link.unicast(NodeId(2), LARGE, lambda: failed.append(1))
        await until(lambda: bool(failed))
        await until(lambda: sender.link.unacknowledged == 0)
        await asyncio.sleep(0.05)
        assert failed == [1]
        await closed(sender, receiver)

    asyncio.run(scene())


def test_what_later_parcels_have_overtaken_is_sent_again_at_once() -> None:
    async def scene() -> None:
        patient = UnicastOptions(ack_wait_s=60.0, together=1)
        sender, receiver = End(1, LinkOptions(unicasts=patient)), End(2)
        await opened(sender, receiver)
        await acquaint(sender, receiver)
        lose_every_third(sender)
        for i in range(20):
            sender.link.unicast(NodeId(2), JoinRequest(i), None)
        heard = {(await receiver.next())[1] for _ in range(17)}  # the last ones are overtaken by nobody
        assert len(heard) == 17
        await closed(sender, receiver)

    asyncio.run(scene())


@given(st.lists(st.binary(min_size=1, max_size=300), min_size=1, max_size=MAX_MESSAGES))
def test_the_messages_of_a_parcel_read_back(messages: list[bytes]) -> None:
    assert unpack_messages(pack_messages(messages)) == messages


@given(st.binary(min_size=1, max_size=200))
def test_other_bytes_are_a_parcel_that_packs_the_same_or_refused(body: bytes) -> None:
    try:
        messages = unpack_messages(body)
    except FrameError:
        return
    assert pack_messages(messages) == body


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=MAX_ACKNOWLEDGED))
def test_acknowledged_numbers_read_back(numbers: list[int]) -> None:
    assert list(unpack_numbers(pack_numbers(numbers))) == numbers


@given(st.binary(min_size=1, max_size=5_000), st.integers(100, 1_000), st.randoms(use_true_random=False))
def test_pieces_give_the_message_in_any_order_and_though_some_come_twice(
    message: bytes, room: int, random: Random
) -> None:
    bodies = split(7, message, room)
    assert all(len(body) <= room for body in bodies)
    pieces, order = Pieces(), [unpack_piece(body) for body in bodies]
    random.shuffle(order)
    whole = [pieces.add(NodeId(1), piece) for piece in (*order[:-1], *order)]
    assert [found for found in whole if found is not None] == [message]


def test_who_begins_many_messages_and_ends_none_takes_no_more_room() -> None:
    pieces = Pieces()
    for number in range(10 * MAX_INCOMPLETE):
        assert pieces.add(NodeId(1), MessagePart(number, 0, 2, b"x")) is None
    assert pieces.add(NodeId(1), MessagePart(0, 1, 2, b"y")) is None
    assert pieces.add(NodeId(1), MessagePart(10 * MAX_INCOMPLETE - 1, 1, 2, b"y")) == b"xy"


@pytest.mark.parametrize("body", [b"", b"x", bytes(12), bytes(11) + b"\x01", b"\x00" * 8 + b"\x00\x01\x00\x01x"])
def test_pieces_that_cannot_be_are_refused(body: bytes) -> None:
    with pytest.raises(FrameError):
        unpack_piece(body)


def test_datagrams_are_small_anywhere_but_within_the_machine() -> None:
    paths = Paths(PathOptions())
    assert paths.datagram_bytes(("192.168.1.7", 9001)) == 1_400
    assert paths.datagram_bytes(("fe80::1%eth0", 9001)) == 1_400
    assert paths.datagram_bytes(("127.0.0.1", 9001)) > 60_000
    assert paths.datagram_bytes(("::1", 9001)) > 60_000
