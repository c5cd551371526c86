"""Whose frames are believed: strangers, members that pose as others, and whoever plays again what it recorded."""

from __future__ import annotations

import asyncio
from os import urandom
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from taps import Tap, play, sealed, send
from test_live_link import LOOPBACK, End, acquaint, closed, opened

from thyme.live import Node
from thyme.live.link.frames import EVERYBODY, Frame, Kind, pack, pack_header
from thyme.live.link.greetings import Introduction, Questions
from thyme.live.link.sealing import FrameError, Seal
from thyme.live.link.sessions import OwnSession, Window
from thyme.live.trust.identity import Identity
from thyme.live.trust.namespaces import Namespace
from thyme.model.ids import NodeId
from thyme.wire.codec import encode
from thyme.wire.storage import JoinRequest

QUICK = {"join": {"wait_s": 0.2}}


def test_what_was_recorded_and_is_played_again_changes_nothing() -> None:
    async def scene() -> None:
        sender, receiver, elsewhere = End(1), End(2), End(3)
        await opened(sender, receiver, elsewhere)
        recorder = Tap(receiver.link)
        await acquaint(sender, receiver)
        sender.link.unicast(NodeId(2), JoinRequest(1), None)
        sender.link.broadcast(JoinRequest(2))
        heard = {(await receiver.next())[1] for _ in range(2)}
        assert heard == {JoinRequest(1), JoinRequest(2)}
        for data, address in list(recorder.received):
            play(receiver.link, data, address)
            send(elsewhere.link, data, receiver.link.address)
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
        recorder = Tap(receiver.link)
        await acquaint(sender, receiver)
        sender.link.unicast(NodeId(2), JoinRequest(1), None)
        await receiver.next()
        await closed(receiver)
        again = End(2)
        await again.link.open(LOOPBACK)
        again.link.greet([sender.link.address])
        await again.link.wait_for_listed(10.0)
        for data, address in recorder.received:
            play(again.link, data, address)
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
            datagram = sealed(frame, peer)
            send(forger.link, datagram, at_two)  # from its own address
            play(two.link, datagram, one.link.address)  # and from the other's, by who can forge that
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
        one.link.peering.hello((between[0], between[1]))
        one.link.flush()
        await asyncio.sleep(0.3)
        assert one.link.peers.nodes() == {2: two.link.address}
        assert two.link.peers.nodes() == {1: one.link.address}
        one.link.unicast(NodeId(2), JoinRequest(4), None)
        assert await two.next() == (1, JoinRequest(4))
        transport.close()
        await closed(one, two)

    asyncio.run(scene())


def test_a_session_has_keys_that_only_its_two_ends_know() -> None:
    one, other, third = Identity.new(), Identity.new(), Identity.new()
    mine, theirs, strange = (OwnSession(identity, urandom) for identity in (one, other, third))
    ends = (
        mine.with_peer(other.public, theirs.number, theirs.ephemeral),
        theirs.with_peer(one.public, mine.number, mine.ephemeral),
    )
    assert ends[0] is not None
    assert ends[1] is not None
    header = pack_header(Kind.PARCEL, NodeId(1), NodeId(2), 7)
    frame = ends[0].close(header, b"secret words")
    assert b"secret" not in frame
    assert ends[1].open(frame) == b"secret words"
    assert ends[0].open(frame) is None, "each direction has a key of its own"
    assert ends[1].open(frame[:-1] + bytes([frame[-1] ^ 1])) is None
    assert ends[1].open(pack_header(Kind.PIECE, NodeId(1), NodeId(2), 7) + frame[len(header) :]) is None
    again = OwnSession(other, urandom)
    for elsewhere in (
        strange.with_peer(one.public, mine.number, mine.ephemeral),
        again.with_peer(one.public, mine.number, mine.ephemeral),
        theirs.with_peer(one.public, mine.number + 1, mine.ephemeral),
    ):
        assert elsewhere is not None
        assert elsewhere.open(frame) is None
    assert mine.with_peer(other.public, theirs.number, bytes(32)) is None
    assert mine.with_peer(bytes(32), theirs.number, theirs.ephemeral) is None


def test_who_learns_a_devices_key_later_cannot_read_what_it_recorded() -> None:
    """The identities alone do not give the keys of a session that is over."""
    one, other = Identity.new(), Identity.new()
    mine, theirs = OwnSession(one, urandom), OwnSession(other, urandom)
    session = mine.with_peer(other.public, theirs.number, theirs.ephemeral)
    assert session is not None
    frame = session.close(pack_header(Kind.PARCEL, NodeId(1), NodeId(2), 7), b"secret words")
    thief = OwnSession(other, urandom)
    thief.number = theirs.number
    stolen = thief.with_peer(one.public, mine.number, mine.ephemeral)
    assert stolen is not None
    assert stolen.open(frame) is None


@given(st.lists(st.integers(0, 300), max_size=200), st.sampled_from([8, 16, 64]))
def test_a_window_knows_each_number_once(numbers: list[int], size: int) -> None:
    window, seen, highest = Window(size), set[int](), -1
    for number in numbers:
        expected = "too old" if number <= highest - size else "repeated" if number in seen else ""
        assert window.check(number) == expected
        seen.add(number)
        highest = max(highest, number)


def test_a_question_is_answered_from_its_address_and_for_a_while() -> None:
    questions, here = Questions(b"k" * 32), ("127.0.0.1", 9)
    answer = questions.question(here, 100.0)
    assert questions.is_answered(answer, here, 100.0)
    assert questions.is_answered(answer, here, 109.0)
    assert not questions.is_answered(answer, here, 130.0)
    assert not questions.is_answered(answer, ("127.0.0.1", 10), 100.0)
    assert not Questions(b"l" * 32).is_answered(answer, here, 100.0)
    assert not questions.is_answered(0, here, 100.0)


def test_a_closed_namespace_shows_nothing_and_hears_nobody_else() -> None:
    async def scene() -> None:
        closed_one = Namespace.drawn("the final")
        invitation = closed_one.invitation()
        options: dict[str, Any] = {"store": "memory", "approach": "ls", "settings": QUICK, "listen": "127.0.0.1:0"}
        async with Node(namespace=invitation, **options) as one:
            link = one.device.host.link
            tap = Tap(link)
            strange = dict(options, peers=[one.address], greet_patience_s=0.3)
            async with (
                Node(namespace=invitation, peers=[one.address], **options) as two,
                Node(namespace="the final", **strange) as stranger,
                Node(namespace=closed_one.renewed(b"").invitation(), **strange) as shut_out,
            ):
                stream = await two.subscribe("goal")
                await one.insert("plainly", b"spoken", ["goal"], b"summarised")
                async with asyncio.timeout(10.0):
                    assert (await anext(stream)).metadata.key.oid == "plainly"
                assert stranger.device.neighbours() == shut_out.device.neighbours() == {}
                assert list(one.device.neighbours()) == [two.id]
            for word in (b"plainly", b"spoken", b"summarised", b"goal", one.id.to_bytes(8, "big")):
                assert not any(word in data for data in tap.sent)

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
        Tap(silent.link, receives=False)
        for _ in range(5):
            silent.link.peering.hello(one.link.address)
            silent.link.flush()
        await asyncio.sleep(0.1)
        assert one.link.peers.nodes() == {}
        await closed(one, silent)

    asyncio.run(scene())
