"""Whatever arrives, a live node goes on: random datagrams, torn frames, and messages that make no sense."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from random import Random
from types import UnionType
from typing import Any, Union, get_args, get_origin

import msgspec
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from memory_log import MemoryLog
from taps import sealed, send
from test_live_link import End, closed, opened

from thyme.live import Node
from thyme.live.link.addresses import Address
from thyme.live.link.frames import EVERYBODY, Frame, Kind
from thyme.live.link.parcels import pack_messages
from thyme.model.errors import InputError
from thyme.model.frames import TimeFrame
from thyme.model.ids import NodeId, ObjectKey, SubscriptionKey
from thyme.model.matching import Cursor
from thyme.model.objects import Metadata
from thyme.model.queries import Conjunction, parse_query
from thyme.model.subscriptions import Subscription
from thyme.wire.codec import MESSAGES, encode
from thyme.wire.message import Message
from thyme.wire.routing import Flooded
from thyme.wire.storage import MoreRequest, Notification, PartRequest, PastMatches

PATIENCE_S = 60.0
QUICK_JOIN = {"join": {"wait_s": 0.01, "delay_s": 0.005}}
NODE, OTHER, PEER = NodeId(1_000_003), NodeId(1_000_005), NodeId(7)
"""Ids that no made-up message hits by chance: who claims to be a neighbour's neighbour is believed."""


def framed(kind: Kind, body: bytes, number: int = 0) -> Frame:
    if kind is Kind.PARCEL:
        return Frame(kind, PEER, NODE, number, pack_messages([body]))
    return Frame(kind, PEER, EVERYBODY, number, body)


class Attacker:
    """A peer that sends whatever it is told to, and knows that it was read when its greeting after it is answered."""

    def __init__(self) -> None:
        self._end = End(PEER)
        self._link = self._end.link
        self._link.peering.approach = "ls"

    async def attack(self, datagrams: Sequence[bytes | Frame], target: Address) -> None:
        await opened(self._end)
        self._link.greet([target])
        await self._link.wait_for_listed()
        for i in range(0, len(datagrams), 50):  # in bursts that fit the buffer of the node's socket
            for sent in datagrams[i : i + 50]:
                peer = self._link.peers.at(target)
                send(self._link, sent if isinstance(sent, bytes) else sealed(sent, peer), target)
            await self._greet(target)
        await closed(self._end)

    async def _greet(self, target: Address) -> None:
        peer = self._link.peers.at(target)
        assert peer is not None
        before_s = peer.heard_s = 0.0
        while peer.heard_s == before_s:
            self._link.peering.hello(target)
            self._link.flush()
            for _ in range(100):
                await asyncio.sleep(0.01)
                if peer.heard_s != before_s:
                    break


async def bombarded(datagrams: Sequence[bytes | Frame]) -> dict[str, int]:
    """Send all this to a node, then see that it still works; what it dropped, by reason."""
    log = MemoryLog()
    mistakes: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: mistakes.append(context))
    async with asyncio.timeout(PATIENCE_S), Node(NODE, store="memory", log_to=log, settings=QUICK_JOIN) as node:
        await Attacker().attack(datagrams, node.device.address)
        async with Node(OTHER, store="memory", peers=[node.address], settings=QUICK_JOIN) as other:
            await node.insert("still", b"here", ["alive"])
            stream = await other.subscribe("alive")
            notice = await anext(stream)
            assert await other.retrieve(notice.metadata) == b"here"
    assert mistakes == []
    dropped: dict[str, int] = {}
    for row in log.rows:
        if row.row.kind == "dropped":
            dropped[row.row.reason] = dropped.get(row.row.reason, 0) + row.row.count
    return dropped


def test_random_datagrams_are_counted_and_dropped() -> None:
    random = Random(20_250_525)
    datagrams = [random.randbytes(random.choice((1, 10, 38, 39, 200, 1_400))) for _ in range(400)]
    dropped = asyncio.run(bombarded(datagrams))
    assert dropped["too short"] > 50
    assert dropped["not a frame"] > 50
    assert sum(dropped.values()) == len(datagrams)


def test_frames_with_random_bodies_are_counted_and_dropped() -> None:
    random = Random(4)
    kinds = (Kind.BROADCAST, Kind.PARCEL)
    datagrams = [framed(random.choice(kinds), b"\x01" + random.randbytes(random.randint(0, 60)), i) for i in range(300)]
    dropped = asyncio.run(bombarded(datagrams))
    assert dropped["unreadable message"] > 200


def test_torn_and_altered_messages_do_no_harm() -> None:
    random = Random(5)
    whole = encode(PartRequest(3, ObjectKey("photo", NODE), 0, 1_200))
    flooded = encode(Flooded(PEER, 1, 0, whole))
    datagrams = []
    for i in range(300):
        body = bytearray(random.choice((whole, flooded)))
        if random.random() < 0.5:
            del body[random.randrange(1, len(body)) :]
        else:
            body[random.randrange(len(body))] = random.randrange(256)
        datagrams.append(framed(random.choice((Kind.BROADCAST, Kind.PARCEL)), bytes(body), i))
    asyncio.run(bombarded(datagrams))


def test_messages_that_make_no_sense_do_no_harm() -> None:
    nobody = SubscriptionKey(99, NODE)
    cursor = Cursor(0.0, ObjectKey("none", NodeId(3)))
    senseless: list[Message] = [
        MoreRequest(1, Subscription(nobody, parse_query("goal").dnf(), TimeFrame()), cursor, -5),
        MoreRequest(1, Subscription(SubscriptionKey(0, PEER), parse_query("goal").dnf(), TimeFrame()), None, 10**18),
        PartRequest(1, ObjectKey("still", NODE), -10, -10),
        PartRequest(1, ObjectKey("", NodeId(-4)), 10**18, 10**18),
        Notification(nobody, ()),
        PastMatches(nobody, (), cursor, -3, 10**18),
        PastMatches(SubscriptionKey(0, NODE), (), None, 10**18),
    ]
    bodies = [encode(message) for message in senseless]
    bodies += [encode(Flooded(PEER, i, -(10**6), body)) for i, body in enumerate(bodies)]
    both = [(kind, body) for body in bodies for kind in (Kind.BROADCAST, Kind.PARCEL)]
    datagrams = [framed(kind, body, i) for i, (kind, body) in enumerate(both)]
    asyncio.run(bombarded(datagrams))


seconds = st.floats(allow_nan=False, allow_infinity=False)
frames = st.one_of(st.just(TimeFrame()), st.builds(TimeFrame, seconds), st.builds(TimeFrame.past, seconds))
keys = st.builds(ObjectKey, st.text(max_size=5), st.integers(-1, 9).map(NodeId))
tags = st.lists(st.sampled_from(["goal", "foul", "alive"]), max_size=3).map(tuple)
conjunctions = st.lists(st.builds(Conjunction, tags, tags), min_size=1, max_size=3).map(tuple)
subscribers = st.builds(SubscriptionKey, st.integers(-1, 9), st.integers(-1, 9).map(NodeId))
subscriptions = st.builds(Subscription, subscribers, conjunctions, frames)
objects = st.builds(Metadata, keys, tags, st.binary(max_size=5), seconds, st.integers(-1, 10**9))
cursors = st.builds(Cursor, seconds, keys)
VALUES: dict[Any, st.SearchStrategy[Any]] = {
    TimeFrame: frames,
    Subscription: subscriptions,
    Metadata: objects,
    SubscriptionKey: subscribers,
    ObjectKey: keys,
    Cursor: cursors,
    float: seconds,
    int: st.integers(-2, 2**62),
    NodeId: st.integers(-2, 9).map(NodeId),
}


def values(kind: Any) -> st.SearchStrategy[Any]:
    """Values of a field's type, whatever messages are made of."""
    if kind in VALUES:
        return VALUES[kind]
    inner = get_args(kind)
    if get_origin(kind) in (Union, UnionType):
        return st.one_of(*(values(each) for each in inner))
    if get_origin(kind) is tuple and inner[-1] is Ellipsis:
        return st.lists(values(inner[0]), max_size=3).map(tuple)
    if get_origin(kind) is tuple:
        return st.tuples(*(values(each) for each in inner))
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        fields = {each.name: values(each.type) for each in msgspec.structs.fields(kind)}
        return st.fixed_dictionaries(fields).map(lambda given: _made(kind, given))
    return st.from_type(kind)


def _made(kind: type[msgspec.Struct], given: dict[str, Any]) -> Any:
    """None stands for values that the kind itself refuses."""
    with suppress(InputError, AttributeError, TypeError):
        return kind(**given)
    return None


messages = st.one_of(*(values(kind) for kind in MESSAGES))


@settings(
    max_examples=25,
    suppress_health_check=[HealthCheck.too_slow],
    phases=[Phase.reuse, Phase.generate],
)
@given(st.lists(st.tuples(messages, st.booleans()), min_size=1, max_size=20))
def test_any_well_formed_messages_do_no_harm(sent: list[tuple[Message | None, bool]]) -> None:
    bodies = []
    for i, (message, flooded) in enumerate(sent):
        with suppress(OverflowError, TypeError):  # what no message can carry
            if message is not None:
                body = encode(message)
                bodies.append(encode(Flooded(PEER, i, 0, body)) if flooded else body)
    datagrams = [framed(Kind.PARCEL if i % 2 else Kind.BROADCAST, body, i) for i, body in enumerate(bodies)]
    asyncio.run(bombarded(datagrams))
