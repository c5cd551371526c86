"""The UDP link: who hears what, what is repeated, and what is dropped."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from taps import Tap, kind_of

from thyme.live.link.addresses import Address, address_text, parse_address
from thyme.live.link.frames import HEADER_BYTES, MARK_BYTES, Frame, Kind, pack, unpack
from thyme.live.link.lanes import Lane, Unacknowledged
from thyme.live.link.link import LinkOptions
from thyme.live.link.sealing import FrameError, Seal
from thyme.live.link.udp import UdpLink
from thyme.live.link.unicasts import UnicastOptions
from thyme.live.trust.namespaces import Namespace
from thyme.model.errors import InputError
from thyme.model.ids import NodeId, ObjectKey
from thyme.model.records import TrafficKind
from thyme.wire.message import Message
from thyme.wire.storage import JoinRequest, PartReply

PATIENCE_S = 30.0
QUICK = LinkOptions(unicasts=UnicastOptions(ack_wait_s=0.01, retries=2))
LOOPBACK: Address = ("127.0.0.1", 0)


class End:
    """One end of the link, with what it heard."""

    def __init__(
        self,
        node: int,
        options: LinkOptions | None = None,
        *,
        only_listed: bool = False,
        namespace: Namespace | None = None,
    ) -> None:
        self.heard: asyncio.Queue[tuple[int, Message]] = asyncio.Queue()
        self.counts: Counter[tuple[str, str, str]] = Counter()
        self.link = UdpLink(
            NodeId(node),
            Random(node),
            self._deliver,
            self._count,
            options,
            only_listed=only_listed,
            namespace=namespace,
        )

    def _deliver(self, sender: NodeId, message: Message, size_bytes: int) -> None:
        self.heard.put_nowait((sender, message))

    def _count(self, traffic: TrafficKind, name: str, size_bytes: int, reason: str) -> None:
        self.counts[(traffic.value, name, reason)] += 1

    async def next(self) -> tuple[int, Message]:
        return await asyncio.wait_for(self.heard.get(), PATIENCE_S)

    def dropped(self, reason: str) -> int:
        return sum(n for (traffic, _, why), n in self.counts.items() if traffic == "dropped" and why == reason)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not condition():
            await asyncio.sleep(0.005)


async def opened(*ends: End) -> None:
    for end in ends:
        await end.link.open(LOOPBACK)


async def closed(*ends: End) -> None:
    for end in ends:
        await end.link.close()


async def acquaint(one: End, other: End) -> None:
    one.link.greet([other.link.address])
    other.link.greet([one.link.address])
    async with asyncio.timeout(PATIENCE_S):
        await one.link.wait_for_listed()
        await other.link.wait_for_listed()


def test_greeting_one_address_is_enough_for_both_to_know_each_other() -> None:
    async def scene() -> None:
        one, other = End(1), End(2)
        await opened(one, other)
        one.link.greet([other.link.address])
        await one.link.wait_for_listed(PATIENCE_S)
        assert one.link.peers.nodes() == {2: other.link.address}
        await until(lambda: other.link.peers.nodes() == {1: one.link.address})
        await closed(one, other)

    asyncio.run(scene())


def test_a_broadcast_reaches_every_peer_and_nobody_else() -> None:
    async def scene() -> None:
        middle, left, right, far = End(0), End(1), End(2), End(3)
        await opened(middle, left, right, far)
        await acquaint(middle, left)
        await acquaint(middle, right)
        await acquaint(right, far)
        middle.link.broadcast(JoinRequest(7))
        assert await left.next() == (0, JoinRequest(7))
        assert await right.next() == (0, JoinRequest(7))
        right.link.broadcast(JoinRequest(8))
        assert await far.next() == (2, JoinRequest(8))
        assert left.heard.empty()
        await closed(middle, left, right, far)

    asyncio.run(scene())


@pytest.mark.parametrize(("size_bytes", "told"), [(10, 1), (3_000, 0)])
def test_much_is_acknowledged_before_it_is_worked_on_and_a_little_after(size_bytes: int, told: int) -> None:
    async def scene() -> None:
        sender, receiver = End(1), End(2)
        await opened(sender, receiver)
        await acquaint(sender, receiver)
        tap, told_after = Tap(receiver.link), []

        def watched(datagram: bytes, address: Address) -> bool:
            if kind_of(datagram) is Kind.ACK:
                told_after.append(receiver.heard.qsize())
            return True

        tap.sends = watched
        part = PartReply(1, ObjectKey("o", NodeId(1)), True, 0, size_bytes, bytes(size_bytes))
        sender.link.unicast(NodeId(2), part, None)
        await until(lambda: sender.link.unacknowledged == 0)
        assert told_after == [told]
        await closed(sender, receiver)

    asyncio.run(scene())


def test_a_unicast_is_heard_once_though_its_acknowledgements_are_lost() -> None:
    async def scene() -> None:
        sender, receiver = End(1, QUICK), End(2)
        await opened(sender, receiver)
        await acquaint(sender, receiver)
        failed = asyncio.Event()
        tap = Tap(receiver.link, sends=False)
        sender.link.unicast(NodeId(2), JoinRequest(1), failed.set)
        await asyncio.wait_for(failed.wait(), PATIENCE_S)
        assert sender.counts[("retransmitted", "unicast", "")] == 2
        assert sender.counts[("given up", "unicast", "retry limit")] == 1
        await until(lambda: receiver.dropped("repeated") == 2)
        assert receiver.heard.qsize() == 1
        tap.remove()
        sender.link.unicast(NodeId(2), JoinRequest(2), None)
        await receiver.next()
        assert await receiver.next() == (1, JoinRequest(2))
        await until(lambda: sender.link.unacknowledged == 0)
        await closed(sender, receiver)

    asyncio.run(scene())


def test_a_unicast_to_somebody_who_left_fails() -> None:
    async def scene() -> None:
        sender, receiver = End(1, QUICK), End(2)
        await opened(sender, receiver)
        await acquaint(sender, receiver)
        await closed(receiver)
        failed = asyncio.Event()
        sender.link.unicast(NodeId(2), JoinRequest(1), failed.set)
        await asyncio.wait_for(failed.wait(), PATIENCE_S)
        assert sender.link.unacknowledged == 0
        await closed(sender)

    asyncio.run(scene())


def test_a_unicast_to_an_unknown_node_fails_at_once() -> None:
    async def scene() -> None:
        sender = End(1)
        await opened(sender)
        unknown = asyncio.Event()
        sender.link.unicast(NodeId(9), JoinRequest(1), unknown.set)
        await asyncio.wait_for(unknown.wait(), PATIENCE_S)
        assert sender.dropped("unknown neighbour") == 1
        await closed(sender)

    asyncio.run(scene())


def test_unicasts_beyond_the_window_wait_their_turn_and_beyond_the_queue_are_dropped_and_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def scene() -> None:
        narrow = UnicastOptions(window=1, waiting=2, room=1, together=1)
        sender, receiver = End(1, LinkOptions(unicasts=narrow)), End(2)
        await opened(sender, receiver)
        await acquaint(sender, receiver)
        failed: list[int] = []
        for i in range(4):
            sender.link.unicast(NodeId(2), JoinRequest(i), lambda i=i: failed.append(i))  # type: ignore[misc]
        assert sender.dropped("link queue full") == 1
        assert [await receiver.next() for _ in range(3)] == [(1, JoinRequest(i)) for i in range(3)]
        await asyncio.wait_for(sender.link.room(), PATIENCE_S)
        sender.link.unicast(NodeId(2), JoinRequest(4), None)
        assert await receiver.next() == (1, JoinRequest(4))
        assert failed == []
        await closed(sender, receiver)

    asyncio.run(scene())
    assert "the send queue of the link is full" in caplog.text


def test_a_peer_that_does_not_answer_keeps_nobody_waiting() -> None:
    async def scene() -> None:
        narrow = UnicastOptions(ack_wait_s=0.05, retries=10, window=2, room=10, together=1)
        sender, receiver, silent = End(1, LinkOptions(unicasts=narrow)), End(2), End(3)
        await opened(sender, receiver, silent)
        await acquaint(sender, receiver)
        await acquaint(sender, silent)
        Tap(silent.link, sends=False)
        for i in range(100):
            sender.link.unicast(NodeId(3), JoinRequest(i), None)
        await asyncio.wait_for(sender.link.room(), 1.0)
        assert sender.link.unacknowledged == 100
        sender.link.unicast(NodeId(2), JoinRequest(7), None)
        assert await receiver.next() == (1, JoinRequest(7))
        await closed(sender, receiver, silent)

    asyncio.run(scene())


def test_when_a_link_is_broken_all_that_waits_for_it_fails_together() -> None:
    async def scene() -> None:
        narrow = UnicastOptions(ack_wait_s=0.02, retries=2, window=2, together=1)
        sender, receiver = End(1, LinkOptions(unicasts=narrow)), End(2)
        await opened(sender, receiver)
        await acquaint(sender, receiver)
        Tap(receiver.link, sends=False)
        failed: list[int] = []
        for i in range(200):
            sender.link.unicast(NodeId(2), JoinRequest(i), lambda i=i: failed.append(i))  # type: ignore[misc]
        async with asyncio.timeout(2.0):
            while len(failed) < 200:
                await asyncio.sleep(0.005)
        assert sorted(failed) == list(range(200))
        assert sender.link.unacknowledged == 0
        await closed(sender, receiver)

    asyncio.run(scene())


def test_a_restricted_node_hears_only_its_listed_peers() -> None:
    async def scene() -> None:
        node, friend, stranger = End(1, only_listed=True), End(2), End(3)
        await opened(node, friend, stranger)
        await acquaint(node, friend)
        stranger.link.greet([node.link.address])
        stranger.link.broadcast(JoinRequest(1))
        await until(lambda: node.dropped("not from a peer") >= 2)
        friend.link.broadcast(JoinRequest(2))
        assert await node.next() == (2, JoinRequest(2))
        assert node.heard.empty()
        assert set(node.link.peers.nodes()) == {2}
        await closed(node, friend, stranger)

    asyncio.run(scene())


def test_a_node_that_comes_back_elsewhere_is_found_there() -> None:
    async def scene() -> None:
        stays, goes, returns = End(1), End(2), End(2)
        await opened(stays, goes, returns)
        goes.link.greet([stays.link.address])
        await until(lambda: stays.link.peers.nodes() == {2: goes.link.address})
        await closed(goes)
        returns.link.greet([stays.link.address])
        await until(lambda: stays.link.peers.nodes() == {2: returns.link.address})
        stays.link.unicast(NodeId(2), JoinRequest(5), None)
        assert await returns.next() == (1, JoinRequest(5))
        await closed(stays, returns)

    asyncio.run(scene())


def test_another_node_with_the_same_id_is_not_heard(caplog: pytest.LogCaptureFixture) -> None:
    async def scene() -> None:
        one, twin = End(1), End(1)
        await opened(one, twin)
        twin.link.greet([one.link.address])
        await until(lambda: one.dropped("another node with this node's id") > 0)
        assert one.link.peers.nodes() == {}
        await closed(one, twin)

    asyncio.run(scene())
    assert "also uses id 1" in caplog.text


def test_a_port_in_use_and_an_own_address_as_peer_are_explained() -> None:
    async def scene() -> None:
        one, other = End(1), End(2)
        await opened(one)
        with pytest.raises(InputError, match="the port is in use"):
            await other.link.open(one.link.address)
        with pytest.raises(InputError, match="own address"):
            one.link.greet([one.link.address])
        await closed(one)

    asyncio.run(scene())


frames = st.builds(
    Frame,
    st.sampled_from([Kind.BROADCAST, Kind.PARCEL]),
    st.integers(0, 2**63 - 1).map(NodeId),
    st.integers(-1, 2**63 - 1).map(NodeId),
    st.integers(0, 2**64 - 1),
    st.binary(min_size=1, max_size=200),
    st.binary(min_size=MARK_BYTES, max_size=MARK_BYTES),
)
SEAL = Seal(5, bytes(32))


@given(frames)
def test_a_frame_reads_back_as_it_was_written(frame: Frame) -> None:
    assert unpack(SEAL.open(SEAL.close(pack(frame)))) == frame


@given(st.binary(max_size=2 * HEADER_BYTES))
def test_other_bytes_are_refused_as_such(datagram: bytes) -> None:
    with pytest.raises(FrameError):
        SEAL.open(datagram)
    with suppress(FrameError):
        unpack(datagram)


@given(frames, st.data())
def test_a_frame_that_was_cut_or_altered_is_refused(frame: Frame, data: st.DataObject) -> None:
    datagram = SEAL.close(pack(frame))
    assert len(datagram) == HEADER_BYTES + len(frame.body)
    at = data.draw(st.integers(0, len(datagram) - 1))
    changed = datagram[:at] + bytes([datagram[at] ^ data.draw(st.integers(1, 255))]) + datagram[at + 1 :]
    for wrong in (datagram[:at], changed):
        with pytest.raises(FrameError):
            SEAL.open(wrong)


@pytest.mark.parametrize("text", ["127.0.0.1", ":9", "a:b", "h:0", "h:70000", "::1:9", "", "h:-1", "h:٣"])
def test_addresses_that_cannot_be_meant_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="--peer"):
        parse_address(text, "--peer")


@given(st.sampled_from(["127.0.0.1", "::1", "node.local"]), st.integers(1, 65_535))
def test_an_address_reads_back_as_it_is_shown(host: str, port: int) -> None:
    assert parse_address(address_text((host, port)), "--peer") == (host, port)


def test_parts_of_contents_are_sent_after_all_other_messages() -> None:
    lane = Lane(NodeId(2), 16.0, together=2)
    for number in range(4):
        lane.add(Unacknowledged(bytes([number]), None), bulk=number < 2)
    parcels = [lane.next_parcel(1_400, lambda: 1) for _ in range(2)]
    assert [[message.body[0] for message in parcel.messages] for parcel in parcels] == [[2, 3], [0, 1]]
    assert lane.waiting == 0
