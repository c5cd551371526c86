"""A member that forges: it has joined like everybody else, and says in others' names what they did not say.

Each forgery is tried with and without signatures, or verified and not: without, it works, so that the other half means
something.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest
from forged_proofs import ForgedProofs
from signatures import signed as with_proof
from signatures import signed_together

from thyme.live import Node
from thyme.live.link.addresses import LOOPBACK
from thyme.live.trust.authenticator import SigningAuthenticator
from thyme.live.trust.identity import Identity, kept_identity
from thyme.model.frames import TimeFrame
from thyme.model.ids import NodeId, ObjectKey, SubscriptionKey
from thyme.model.objects import Metadata
from thyme.wire.cells import CellNotification, CellState, Deleted, Revoked
from thyme.wire.local import Told
from thyme.wire.message import Message
from thyme.wire.routing import Flooded, Routed
from thyme.wire.server import DeleteRequest, InsertRequest, UnsubscribeRequest
from thyme.wire.signing import SigningCodec
from thyme.wire.statements import Statement
from thyme.wire.storage import Notification, Unsubscribed

OPTIONS: dict[str, dict[str, Any]] = {
    "ls": {"join": {"wait_s": 0.2}},
    "es": {},
    "dcs": {"grid": {"width_m": 40.0, "height_m": 40.0}, "join_wait_s": 0.3, "beacons": {"period_s": 0.2}},
}
QUIET_S = 0.4
"""Long enough for what was sent to arrive on one machine."""


class Forger:
    """Proves whatever is said, by the key that it has; believes everybody."""

    checked = 0

    def __init__(self, identity: Identity) -> None:
        self._identity = identity

    def has_key_of(self, node: NodeId) -> bool:
        return True

    def prove(self, statement: Statement) -> bytes:
        return self._identity.public + self._identity.sign(statement.said)

    def prove_objects(self, objects: Sequence[Statement]) -> list[bytes]:
        return [self.prove(statement) for statement in objects]

    def verify(self, said: Sequence[tuple[Statement, bytes]]) -> bool:
        return True


@asynccontextmanager
async def crowd(approach: str, folder: Path, signed: bool) -> AsyncIterator[tuple[Node, Node, Node]]:
    """An owner, a subscriber and a forger, and one more, the server in ES."""
    settings = OPTIONS[approach]
    if approach == "es":
        settings = {"servers": [int(kept_identity(folder).node)]}
    async with AsyncExitStack() as stack:
        nodes: list[Node] = []
        for store in (folder, "memory", "memory", "memory"):
            peers = [other.address for other in nodes]
            node = Node(
                store=store,
                approach=approach,
                settings=settings,
                peers=peers,
                signed=signed,
                leave_s=0.2,
                listen=LOOPBACK,
            )
            nodes.append(await stack.enter_async_context(node))
        await asyncio.wait_for(asyncio.gather(*(node.device.joined.wait() for node in nodes)), 20.0)
        _, owner, subscriber, forger = nodes
        if signed:
            host = forger.device.host
            host.codec = host.link.core.codec = SigningCodec(Forger(forger.identity))
        yield owner, subscriber, forger


def say(forger: Node, author: Node, message: Message, to: Node | None = None) -> None:
    """As the approach would send it, had the author asked the forger to pass it on."""
    store: Any = forger.device.approach
    payload = forger.device.host.codec.encode(message)
    match forger.options.approach:
        case "dcs":
            store.cell.router.send_to_cell(store.cell.id, message)
            store.cell.router.broadcast_in_cell(message)
        case "ls" if to is None:
            forger.device.host.broadcast(Flooded(author.id, 2**60, 0, payload))
        case _:
            target = NodeId(forger.options.settings["servers"][0]) if to is None else to.id
            forger.device.host.unicast(target, Routed(author.id, target, 0, payload))


async def notified(node: Node, query: str, frame: TimeFrame | None = None) -> tuple[SubscriptionKey, list[str]]:
    """A subscription of a node, and the names of what it is told, as they come."""
    names: list[str] = []
    node.on_notice = lambda notice: names.append(notice.metadata.key.oid)
    return (await node.subscribe(query, frame)).key, names


def deletion(approach: str, key: ObjectKey, forger: Node) -> Message:
    store: Any = forger.device.approach
    return DeleteRequest(1, key) if approach == "es" else CellState(deleted=(Deleted(store.cell.id, key),))


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("approach", ["es", "dcs"])
def test_only_its_owner_deletes_an_object(tmp_path: Path, approach: str, signed: bool) -> None:
    async def run() -> None:
        async with crowd(approach, tmp_path, signed) as (owner, subscriber, forger):
            metadata = await owner.insert("kept", b"x", ["goal"])
            say(forger, owner, deletion(approach, metadata.key, forger))
            await asyncio.sleep(QUIET_S)
            _, names = await notified(subscriber, "goal", TimeFrame.past(subscriber.now() + 1.0))
            await asyncio.sleep(QUIET_S)
            assert names == (["kept"] if signed else [])

    asyncio.run(run())


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("approach", ["es", "ls", "dcs"])
def test_only_its_subscriber_ends_a_subscription(tmp_path: Path, approach: str, signed: bool) -> None:
    async def run() -> None:
        async with crowd(approach, tmp_path, signed) as (owner, subscriber, forger):
            key, names = await notified(subscriber, "goal")
            store: Any = forger.device.approach
            ends: dict[str, Callable[[], Message]] = {
                "es": lambda: UnsubscribeRequest(1, key),
                "ls": lambda: Unsubscribed(key, forger.now()),
                "dcs": lambda: CellState(revoked=(Revoked(store.cell.id, key),)),
            }
            say(forger, subscriber, ends[approach]())
            await asyncio.sleep(QUIET_S)
            await owner.insert("told", b"x", ["goal"])
            await asyncio.sleep(QUIET_S)
            assert names == (["told"] if signed else [])

    asyncio.run(run())


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("approach", ["es", "ls", "dcs"])
def test_nobody_inserts_in_anothers_name(tmp_path: Path, approach: str, signed: bool) -> None:
    async def run() -> None:
        async with crowd(approach, tmp_path, signed) as (owner, subscriber, forger):
            key, names = await notified(subscriber, "goal")
            fake = Metadata.of(ObjectKey("fake", owner.id), ("goal",), b"", forger.now(), b"x")
            fake = with_proof(forger.device.host.codec, fake)
            match approach:
                case "es":
                    say(forger, owner, InsertRequest(1, fake, b"x"))
                case "dcs":
                    say(forger, owner, CellNotification((key,), (fake,)))
                case _:
                    say(forger, owner, Told(-1, key, (fake,)), to=subscriber)
                    say(forger, owner, Notification(key, (fake,)), to=subscriber)
            await asyncio.sleep(QUIET_S)
            assert names == ([] if signed else ["fake"])

    asyncio.run(run())


@pytest.mark.parametrize("verified", [True, False])
@pytest.mark.parametrize("approach", ["es", "ls", "dcs"])
def test_no_proof_of_objects_that_were_signed_together_proves_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, approach: str, verified: bool
) -> None:
    """A member has heard of an owner's objects, and passes them on with proofs of its own making. The owner has told
    nobody else of them, so whoever is told has believed a forgery; at the end they come as they are."""

    async def run() -> None:
        async with crowd(approach, tmp_path, True) as (owner, subscriber, forger):
            key, names = await notified(subscriber, "goal")
            keys = [[ObjectKey(f"o{batch}-{i}", owner.id) for i in range(8)] for batch in range(2)]
            made = [[Metadata.of(one, ("goal",), b"", owner.now(), b"x") for one in some] for some in keys]
            batches = [signed_together(owner.device.host.codec, some) for some in made]
            if not verified:
                monkeypatch.setattr(SigningAuthenticator, "verify", lambda *_: True)

            def tell(matches: Sequence[Metadata]) -> None:
                match approach:
                    case "es":
                        for number, metadata in enumerate(matches):
                            say(forger, owner, InsertRequest(number, metadata, b"x"))
                    case "dcs":
                        say(forger, owner, CellNotification((key,), tuple(matches)))
                    case _:
                        say(forger, owner, Notification(key, tuple(matches)), to=subscriber)

            forged = ForgedProofs(Random(1), batches, forger.identity)
            for make in forged.kinds.values():
                tell([make(batches[0][3])])
            await asyncio.sleep(QUIET_S)
            assert (names == []) == verified
            for batch in batches:
                tell(batch)
            await asyncio.sleep(QUIET_S)
            if verified:
                assert sorted(names) == sorted(one.key.oid for batch in batches for one in batch)

    asyncio.run(run())
