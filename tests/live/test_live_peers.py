"""Who comes and goes: goodbyes, silence, ids that are taken, devices that lost their store, peers that ask too much."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from memory_log import MemoryLog
from signatures import signed
from taps import SEAL, Tap, sealed, send
from test_live_link import End, closed, opened

from thyme.host import MemoryStore
from thyme.live import Node, Presence
from thyme.live.link.addresses import parse_address
from thyme.live.link.budgets import FURTHER, BudgetOptions, Budgets, parcel_cost
from thyme.live.link.frames import Frame, Kind, pack
from thyme.live.link.greetings import Introduction
from thyme.live.link.link import LinkOptions
from thyme.live.link.parcels import pack_messages
from thyme.live.link.peering import PeerOptions
from thyme.live.trust.authenticator import SigningAuthenticator
from thyme.live.trust.identity import Identity
from thyme.model.errors import InputError
from thyme.model.ids import CellId, NodeId, ObjectKey
from thyme.model.objects import Metadata
from thyme.wire.cells import CellState, DeleteMetadata, Held
from thyme.wire.codec import encode
from thyme.wire.message import Message
from thyme.wire.routing import Beacon, RouteError
from thyme.wire.signing import SigningCodec
from thyme.wire.storage import JoinRequest

PATIENCE_S = 60.0
MANY = 100
"""Signatures in one message."""
QUICK = {"join": {"wait_s": 0.05, "tries": 1, "delay_s": 0.01}}
FEW = LinkOptions(peers=PeerOptions(most=4, look_s=0.05, silent_s=0.2, gone_s=0.8, claim_s=0.3))


def node(number: int, peers: list[str] | None = None, link: LinkOptions = FEW, **options: Any) -> Node:
    return Node(number, peers=peers or [], settings=QUICK, link=link, **{"store": "memory", **options})


def play(scene: Callable[[], Awaitable[None]]) -> None:
    async def run() -> None:
        async with asyncio.timeout(PATIENCE_S):
            await scene()

    asyncio.run(run())


async def kill(victim: Node) -> None:
    """Close its socket without a word."""
    Tap(victim.device.host.link, sends=False)
    await victim.close()


def test_after_more_nodes_came_and_left_than_there_are_places_a_newcomer_works() -> None:
    async def scene() -> None:
        async with node(1) as one:
            for number in range(10, 20):
                async with node(number, [one.address]):
                    pass
            async with node(2, [one.address]) as two:
                stream = await two.subscribe("goal")
                await one.insert("x", b"x", ["goal"])
                assert (await anext(stream)).metadata.key.oid == "x"

    play(scene)


def test_after_more_nodes_were_killed_than_there_are_places_a_newcomer_works() -> None:
    async def scene() -> None:
        async with node(1) as one:
            for number in range(10, 14):
                killed = await node(number, [one.address]).__aenter__()
                await kill(killed)
            async with node(2, [one.address], greet_patience_s=10.0) as two:
                stream = await two.subscribe("goal")
                await one.insert("x", b"x", ["goal"])
                assert (await anext(stream)).metadata.key.oid == "x"

    play(scene)


def test_where_there_is_no_place_the_newcomer_is_told(caplog: pytest.LogCaptureFixture) -> None:
    async def scene() -> None:
        one_place = LinkOptions(peers=PeerOptions(most=1))
        async with node(1, link=one_place) as one, node(2, [one.address]), node(3, [one.address]) as three:
            assert three.device.neighbours() == {}

    play(scene)
    assert "has reached its limit of peers" in caplog.text


def test_an_application_is_told_who_comes_and_who_goes() -> None:
    async def scene() -> None:
        async with node(1) as one:
            presences = one.peers()
            two = await node(2, [one.address]).__aenter__()
            came = Presence(NodeId(2), two.address, True)
            assert await anext(presences) == came
            assert await anext(one.peers()) == came
            await two.close()
            assert await anext(presences) == Presence(NodeId(2), came.address, False)
            three = await node(3, [one.address]).__aenter__()
            address = three.address
            assert await anext(presences) == Presence(NodeId(3), address, True)
            await kill(three)
            assert await anext(presences) == Presence(NodeId(3), address, False)
        assert [presence async for presence in presences] == []

    play(scene)


def test_quiet_peers_stay_peers() -> None:
    async def scene() -> None:
        async with node(1) as one, node(2, [one.address]) as two:
            await asyncio.sleep(2.0)
            assert list(one.device.neighbours()) == [2]
            assert list(two.device.neighbours()) == [1]

    play(scene)


def test_a_second_node_with_an_id_is_refused_and_the_first_goes_on_and_is_warned(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def scene() -> None:
        async with node(1) as one, node(2, [one.address]) as two:
            stream = await two.subscribe("goal")
            with pytest.raises(InputError, match="another node also uses id 2"):
                await node(2, [one.address]).__aenter__()
            await one.insert("x", b"x", ["goal"])
            assert (await anext(stream)).metadata.key.oid == "x"
            assert two.device.host.link.peering.refused

    play(scene)
    assert caplog.text.count("another node also uses id 2") == 2
    assert "both use node id 2" in caplog.text


def test_a_killed_node_comes_back_elsewhere_under_its_id() -> None:
    async def scene() -> None:
        async with node(1) as one:
            store = MemoryStore()
            two = await node(2, [one.address], store=store).__aenter__()
            stream = await two.subscribe("goal")
            await kill(two)
            async with node(2, [one.address], store=store) as again:
                stream = again.subscriptions()[0]
                await one.insert("x", b"x", ["goal"])
                assert (await anext(stream)).metadata.key.oid == "x"

    play(scene)


def test_a_device_that_lost_its_store_is_let_in_and_told(caplog: pytest.LogCaptureFixture) -> None:
    async def scene() -> None:
        async with node(1) as one:
            two = await node(2, [one.address]).__aenter__()
            await kill(two)
            async with node(2, [one.address], greet_patience_s=10.0) as wiped:
                stream = await wiped.subscribe("goal")
                await one.insert("x", b"x", ["goal"])
                assert (await anext(stream)).metadata.key.oid == "x"

    play(scene)
    assert "was here before with another store" in caplog.text
    assert "knew node 2 with another store" in caplog.text


def test_nodes_of_another_approach_are_not_heard_and_both_sides_are_told(caplog: pytest.LogCaptureFixture) -> None:
    async def scene() -> None:
        async with node(1) as one, Node(2, approach="drip", peers=[one.address]) as two:
            assert one.device.neighbours() == two.device.neighbours() == {}

    play(scene)
    assert "runs 'drip' and this one 'ls'" in caplog.text
    assert "runs 'ls' and this one 'drip'" in caplog.text


def test_frames_of_a_stranger_who_poses_as_a_peer_change_nothing() -> None:
    async def scene() -> None:
        async with node(1) as one, node(2, [one.address]) as two:
            stream = await two.subscribe("goal")
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
                frames: list[tuple[Kind, bytes]] = [(Kind.HELLO, Introduction(5, "ls").pack()), (Kind.GOODBYE, b"")]
                messages: list[Message] = [RouteError(((NodeId(2), 10**9),)), JoinRequest(3)]
                frames += [(Kind.BROADCAST, encode(message)) for message in messages]
                for number, (kind, body) in enumerate(frames):
                    frame = Frame(kind, NodeId(2), NodeId(1), number, body)
                    stranger.sendto(SEAL.close(pack(frame)), parse_address(one.address, "node"))
                for i in range(20):
                    await one.insert(f"o{i}", b"x", ["goal"])
                async with asyncio.timeout(2.0):
                    told = {(await anext(stream)).metadata.key.oid for _ in range(20)}
            assert told == {f"o{i}" for i in range(20)}

    play(scene)


def test_a_peer_above_its_budget_leaves_the_others_theirs() -> None:
    async def scene() -> None:
        frugal = LinkOptions(budget=BudgetOptions(messages_per_s=200.0, burst=100))
        log = MemoryLog()
        async with node(1, link=frugal, log_to=log) as one, node(2, [one.address], link=frugal) as two:
            stream = await two.subscribe("goal")
            eager, target = End(9), parse_address(one.address, "node")
            eager.link.peering.approach = "ls"
            await opened(eager)
            eager.link.greet([target])
            await eager.link.wait_for_listed()
            for number in range(3_000):
                frame = Frame(Kind.PARCEL, NodeId(9), NodeId(1), number, pack_messages([encode(JoinRequest(1))]))
                send(eager.link, sealed(frame, eager.link.peers.at(target)), target)
                await asyncio.sleep(0)
                if number % 50 == 0:
                    await one.insert(f"o{number}", b"x", ["goal"])
            told = {(await anext(stream)).metadata.key.oid for _ in range(60)}
            await closed(eager)
            assert len(told) == 60
        dropped = [row.row.count for row in log.rows if row.row.reason == "above its sender's budget"]
        assert sum(dropped) > 500

    play(scene)


def test_a_peer_whose_messages_have_many_signatures_is_cut_to_its_rate() -> None:
    """Each of its own objects, and each signed by itself: nothing about them is wrong."""

    async def scene() -> None:
        frugal = LinkOptions(budget=BudgetOptions(messages_per_s=200.0, burst=100))
        async with node(1, link=frugal) as one, node(2, [one.address], link=frugal) as two:
            stream = await two.subscribe("goal")
            eager, target = End(9), parse_address(one.address, "node")
            eager.link.peering.approach = "ls"
            await opened(eager)
            eager.link.greet([target])
            await eager.link.wait_for_listed()
            author = SigningCodec(SigningAuthenticator(Identity.given(9), MemoryStore()))
            begun_s = asyncio.get_running_loop().time()
            for number in range(60):
                keys = [ObjectKey(f"o{number}-{i}", NodeId(9)) for i in range(MANY)]
                made = [signed(author, Metadata.of(key, ("goal",), b"", 1.0, b"x")) for key in keys]
                body = author.encode(CellState(held=tuple(Held(CellId(0), metadata) for metadata in made)))
                frame = Frame(Kind.PARCEL, NodeId(9), NodeId(1), number, pack_messages([body]))
                send(eager.link, sealed(frame, eager.link.peers.at(target)), target)
                await asyncio.sleep(0.005)
            took_s = asyncio.get_running_loop().time() - begun_s
            await one.insert("told", b"x", ["goal"])
            assert (await anext(stream)).metadata.key.oid == "told"
            checked = one.device.host.codec.checked
            await closed(eager)
            assert MANY < checked < (100 + 200.0 * took_s) / FURTHER + 2 * MANY < 60 * MANY

    play(scene)


def test_what_is_owed_comes_back_with_time_and_is_bounded() -> None:
    budgets, here = Budgets(BudgetOptions(messages_per_s=10.0, burst=20)), ("127.0.0.1", 1)
    budgets.owe(here, 0.0, 25.0)
    assert [budgets.spend(here, at_s) for at_s in (0.0, 0.5, 0.65, 0.66)] == [False, False, True, False]
    budgets.owe(here, 1.0, 10_000.0)
    assert [budgets.spend(here, at_s) for at_s in (2.9, 3.15)] == [False, True]


def test_a_budget_comes_back_with_time_and_never_beyond_its_burst() -> None:
    budgets = Budgets(BudgetOptions(messages_per_s=10.0, burst=3))
    here = ("127.0.0.1", 1)
    assert [budgets.spend(here, 0.0) for _ in range(4)] == [True, True, True, False]
    assert budgets.spend(("127.0.0.1", 2), 0.0)
    assert [budgets.spend(here, 0.1) for _ in range(2)] == [True, False]
    assert [budgets.spend(here, 100.0) for _ in range(4)] == [True, True, True, False]


def test_messages_that_travel_together_take_less_of_a_budget_than_as_many_by_themselves() -> None:
    assert [parcel_cost(messages) for messages in (0, 1, 2, 64)] == [1.0, 1.0, 1.5, 32.5]
    budgets, here = Budgets(BudgetOptions(messages_per_s=5_000.0, burst=2_500)), ("127.0.0.1", 1)
    read = sum(64 for step in range(10_000) if budgets.spend(here, step / 1_000, parcel_cost(64)))
    alone = sum(budgets.spend(("127.0.0.1", 2), step / 6_000) for step in range(60_000))
    assert 9_000 < read / 10 < 10_500
    assert 5_000 <= alone / 10 < 5_500


def test_well_formed_frames_of_another_approach_do_no_harm() -> None:
    async def scene() -> None:
        async with node(1) as one, node(2, [one.address]) as two:
            stream = await two.subscribe("goal")
            others: list[Message] = [Beacon(CellId(0), True), DeleteMetadata(1, ObjectKey("x", NodeId(1)))]
            for message in others:
                two.device.host.link.broadcast(message)
                two.device.host.link.unicast(NodeId(1), message, None)
            await one.insert("x", b"x", ["goal"])
            assert (await asyncio.wait_for(anext(stream), 2.0)).metadata.key.oid == "x"

    play(scene)
