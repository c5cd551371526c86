"""Whose frames are believed: strangers, members that pose as others, and whoever plays again what it recorded."""

from __future__ import annotations

import asyncio
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_live_link import LOOPBACK, End, acquaint, closed, opened

from thyme.live import Node
from thyme.live.link.addresses import Address
from thyme.live.link.frames import EVERYBODY, MARK_BYTES, Frame, Kind, pack
from thyme.live.link.meeting.greetings import Introduction, Questions
from thyme.live.link.sealing import FrameError, Seal
from thyme.live.link.sessions import LONG_BYTES, Window, mark_of, session_key
from thyme.live.trust.identity import Identity
from thyme.live.trust.namespaces import Namespace
from thyme.model.ids import NodeId
from thyme.wire.codec import encode
from thyme.wire.storage import JoinRequest

QUICK = {"join": {"wait_s": 0.2}}


class Recorder:
    """Keeps every datagram that an end is given, with where it came from."""

    def __init__(self, end: End) -> None:
        self.kept: list[tuple[bytes, Address]] = []
        take = end.link._port._take

        def record(data: bytes, address: Address) -> None:
            self.kept.append((data, address))
            take(data, address)

        end.link._port._take = record


def test_what_was_recorded_and_is_played_again_changes_nothing() -> None:
    async def scene() -> None:
        sender, receiver, elsewhere = End(1), End(2), End(3)
        await opened(sender, receiver, elsewhere)
        recorder = Recorder(receiver)
        await acquaint(sender, receiver)
        sender.link.unicast(NodeId(2), JoinRequest(1), None)
        sender.link.broadcast(JoinRequest(2))
        heard = {(await receiver.next())[1] for _ in range(2)}
        assert heard == {JoinRequest(1), JoinRequest(2)}
        for data, address in list(recorder.kept):
            receiver.link._take(data, address)
            elsewhere.link._send(data, receiver.link.address, "played again")
        await asyncio.sleep(0.2)
        assert receiver.heard.empty()
        assert receiver.link.peers.nodes()[NodeId(1)] == sender.link.address
        assert receiver.dropped("repeated") == 2
        await closed(sender, receiver, elsewhere)

    asyncio.run(scene())


def test_what_was_recorded_in_another_session_is_not_heard() -> None:
    async def scene() -> None:
        sender, receiver = End(1), End(2)
        await opened(sender, receiver)
        recorder = Recorder(receiver)
        await acquaint(sender, receiver)
        sender.link.unicast(NodeId(2), JoinRequest(1), None)
        await receiver.next()
        await closed(receiver)
        again = End(2)
        await again.link.open(LOOPBACK)
        again.link.greet([sender.link.address])
        await asyncio.wait_for(again.link.acquaintance.acquainted.wait(), 10.0)
        for data, address in recorder.kept:
            again.link._take(data, address)
        assert again.heard.empty()
        assert again.dropped("not marked by its sender") > 0
        await closed(sender, again)

    asyncio.run(scene())


def test_a_member_cannot_speak_for_another() -> None:
    async def scene() -> None:
        one, two, forger = End(1), End(2), End(3)
        await opened(one, two, forger)
        await acquaint(one, two)
        await acquaint(two, forger)
        known = two.link.peers.nodes()
        at_two = two.link.address
        peer = forger.link.peers.at(at_two)
        assert peer is not None
        body = encode(JoinRequest(9))
        forged = [
            Frame(Kind.BROADCAST, NodeId(1), EVERYBODY, 2**62, body),
            Frame(Kind.GOODBYE, NodeId(1), EVERYBODY, 2**62 + 1),
            Frame(Kind.HELLO, NodeId(1), EVERYBODY, 2**62 + 2, Introduction(9, "").pack()),
            Frame(Kind.WELCOME, NodeId(1), NodeId(2), 2**62 + 3, Introduction(9, "", answers=7).pack()),
        ]
        for frame in forged:
            datagram = forger.link._sealed(frame, peer)
            forger.link._send(datagram, at_two, "forged")  # from its own address
            two.link._take(datagram, one.link.address)  # and from the other's, by who can forge that
        await asyncio.sleep(0.2)
        assert two.heard.empty()
        assert two.link.peers.nodes() == known
        one.link.unicast(NodeId(2), JoinRequest(4), None)
        assert await two.next() == (1, JoinRequest(4))
        await closed(one, two, forger)

    asyncio.run(scene())


def test_a_peer_that_is_there_is_not_moved_by_who_passes_its_greetings_on() -> None:
    """A relay: it answers questions by having the true peer answer them."""

    async def scene() -> None:
        one, two = End(1), End(2)
        await opened(one, two)
        await acquaint(one, two)
        here = one.link.address

        class Relay(asyncio.DatagramProtocol):
            def connection_made(self, transport: Any) -> None:
                self.transport = transport

            def datagram_received(self, data: bytes, addr: Any) -> None:
                self.transport.sendto(data, two.link.address if addr[1] == here[1] else here)

        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_datagram_endpoint(Relay, local_addr=LOOPBACK)
        between = transport.get_extra_info("sockname")
        one.link.acquaintance.hello((between[0], between[1]))
        await asyncio.sleep(0.3)
        assert one.link.peers.nodes() == {2: two.link.address}
        assert two.link.peers.nodes() == {1: one.link.address}
        one.link.unicast(NodeId(2), JoinRequest(4), None)
        assert await two.next() == (1, JoinRequest(4))
        transport.close()
        await closed(one, two)

    asyncio.run(scene())


def test_a_session_has_a_key_that_only_its_two_ends_know() -> None:
    one, other, third = Identity.new(), Identity.new(), Identity.new()
    key = session_key(one, 1, other.public, 2)
    assert key == session_key(other, 2, one.public, 1)
    assert key != session_key(other, 3, one.public, 1)
    assert key != session_key(third, 2, one.public, 1)
    assert session_key(one, 1, bytes(32), 2) is None
    frame = Frame(Kind.ACK, NodeId(1), NodeId(2), 3, b"x")
    another = Frame(Kind.ACK, NodeId(1), NodeId(2), 4, b"x")
    assert mark_of(frame.content(), b"k" * 32) != mark_of(another.content(), b"k" * 32)


@given(st.lists(st.integers(0, 300), max_size=200), st.sampled_from([8, 16, 64]))
def test_a_window_knows_each_number_once(numbers: list[int], size: int) -> None:
    window, seen, highest = Window(size), set[int](), -1
    for number in numbers:
        expected = "too old" if number <= highest - size else "repeated" if number in seen else ""
        assert window.judge(number) == expected
        seen.add(number)
        highest = max(highest, number)


def test_a_question_is_answered_from_its_address_and_for_a_while() -> None:
    questions, here = Questions(), ("127.0.0.1", 9)
    answer = questions.question(here, 100.0)
    assert questions.is_answered(answer, here, 100.0)
    assert questions.is_answered(answer, here, 109.0)
    assert not questions.is_answered(answer, here, 130.0)
    assert not questions.is_answered(answer, ("127.0.0.1", 10), 100.0)
    assert not Questions().is_answered(answer, here, 100.0)
    assert not questions.is_answered(0, here, 100.0)


def test_a_closed_namespace_shows_nothing_and_hears_nobody_else() -> None:
    async def scene() -> None:
        closed_one = Namespace.drawn("the final")
        invitation = closed_one.invitation()
        options: dict[str, Any] = {"store": "memory", "settings": QUICK, "listen": "127.0.0.1:0"}
        async with Node(namespace=invitation, **options) as one:
            link = one.device.host.link
            sent: list[bytes] = []
            send = link._send

            def note(datagram: bytes, address: Address, name: str) -> None:
                sent.append(datagram)
                send(datagram, address, name)

            link._send = note
            strange = dict(options, peers=[one.address], greet_patience_s=0.3)
            async with (
                Node(namespace=invitation, peers=[one.address], **options) as two,
                Node(namespace="the final", **strange) as stranger,
                Node(namespace=closed_one.changed().invitation(), **strange) as shut_out,
            ):
                stream = await two.subscribe("goal")
                await one.insert("plainly", b"spoken", ["goal"], b"summarised")
                async with asyncio.timeout(10.0):
                    assert (await anext(stream)).metadata.key.oid == "plainly"
                assert stranger.device.neighbours() == shut_out.device.neighbours() == {}
                assert list(one.device.neighbours()) == [two.id]
            for word in (b"plainly", b"spoken", b"summarised", b"goal", one.id.to_bytes(8, "big")):
                assert not any(word in data for data in sent)

    asyncio.run(scene())


def test_an_open_namespace_is_read_by_who_knows_its_name() -> None:
    mine, theirs, other = Namespace.open("a"), Namespace.open("a"), Namespace.open("b")
    datagram = Seal(mine.number, mine.frame_key).close(pack(Frame(Kind.BROADCAST, NodeId(1), EVERYBODY, 1, b"words")))
    assert b"words" in Seal(theirs.number, theirs.frame_key).open(datagram)
    with pytest.raises(FrameError, match="another namespace"):
        Seal(other.number, other.frame_key).open(datagram)
    with pytest.raises(FrameError, match="a broken seal"):
        Seal(mine.number, other.frame_key).open(datagram)


def test_who_is_silent_after_a_hello_is_no_peer() -> None:
    async def scene() -> None:
        one, silent = End(1), End(2)
        await opened(one, silent)
        silent.link._port._take = lambda data, address: None
        for _ in range(5):
            silent.link.acquaintance.hello(one.link.address)
        await asyncio.sleep(0.1)
        assert one.link.peers.nodes() == {}
        await closed(one, silent)

    asyncio.run(scene())


@pytest.mark.parametrize("size", [LONG_BYTES, LONG_BYTES + 1])
def test_a_mark_stands_for_every_byte_of_a_frame_however_long_it_is(size: int) -> None:
    content, key = bytes(size), b"k" * 32
    marks = {mark_of(content, key), mark_of(content, b"l" * 32), mark_of(content + b"\0", key)}
    marks |= {mark_of(content[:at] + b"\1" + content[at + 1 :], key) for at in (0, size // 2, size - 1)}
    marks.add(mark_of(sha256(content).digest(), key))
    assert len(marks) == 7
    assert {len(mark) for mark in marks} == {MARK_BYTES}
