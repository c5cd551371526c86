"""An assault on a live node: datagrams that were altered, played again or forged, by strangers and by a member.

As a program it makes a longer one and prints what became of it: `python tests/live/mutations.py 1000000`.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import msgspec
import psutil
from forged_proofs import ForgedProofs
from memory_log import MemoryLog
from signatures import signed_together
from taps import Tap, sealed
from test_live_link import End, closed, opened

from thyme.live import Node
from thyme.live.link.addresses import LOOPBACK, Address, parse_address
from thyme.live.link.frames import EVERYBODY, Frame, Kind, pack
from thyme.live.link.greetings import Introduction, signed
from thyme.live.link.parcels import pack_messages
from thyme.live.link.sealing import Seal
from thyme.live.trust.identity import Identity
from thyme.live.trust.namespaces import Namespace
from thyme.model.ids import CellId, NodeId, ObjectKey, SubscriptionKey
from thyme.model.objects import Metadata
from thyme.wire.cells import CellState, Deleted, DeleteMetadata
from thyme.wire.codec import encode
from thyme.wire.local import KnownNews, Told
from thyme.wire.message import Message
from thyme.wire.routing import Beacon, Flooded, Routed
from thyme.wire.server import DeleteRequest
from thyme.wire.storage import Notification, Unsubscribed

QUICK = {"join": {"wait_s": 0.1, "tries": 1}}
RECORDED = 400
AT_ONCE = 200
"""Datagrams between two turns of the event loop."""
MEMBER = NodeId(9)
BATCHES, TOGETHER = 6, 32
"""Objects of the peer that it has told nobody of, signed together: the member has them, and forges their proofs."""
STRANGERS = 2_000
"""Addresses that they send from."""


class Assault:
    """Draws datagrams; each kind says what it is."""

    def __init__(
        self, seed: int, victim: Node, other: Node, wanted: SubscriptionKey, recorded: list[bytes], member: End | None
    ) -> None:
        """`wanted` is a subscription of the victim."""
        self._random = Random(seed)
        self._number = 2**61
        self._wanted = wanted
        self.hidden = [_hidden(other, batch) for batch in range(BATCHES)]
        self._forged_proofs = ForgedProofs(Random(seed), self.hidden, Identity.given(MEMBER))
        self._victim, self._other, self._recorded = victim, other, recorded
        self._member = member
        self._stranger = Identity.new()
        opened_by_all = Namespace.open()
        self._seal = Seal(opened_by_all.number, opened_by_all.frame_key)
        self._elsewhere = Seal(5, bytes(32))
        self._wrong = Seal(victim.namespace.number, bytes(32))
        self.peer_address = parse_address(other.address, "peer")
        self._kinds: list[Callable[[], bytes]] = [self.altered, self.cut, self.replayed, self.forged, self.greeting]
        self._kinds += [self.other_namespace, self.wrong_key, self.noise]
        if member is not None:
            self._kinds += [self.member_lies, self.member_babbles, self.member_bends]
        self._keys = [ObjectKey("first", victim.id), ObjectKey("first", other.id)]

    def draw(self) -> tuple[str, bytes, Address]:
        kind = self._random.choice(self._kinds)
        data = kind()
        if kind.__name__.startswith("member") and self._member is not None:
            return kind.__name__, data, self._member.link.address
        strange = (f"10.{self._random.randrange(STRANGERS) // 250}.0.{self._random.randrange(250)}", 9_000)
        return kind.__name__, data, self.peer_address if self._random.random() < 0.5 else strange

    def altered(self) -> bytes:
        data = bytearray(self._random.choice(self._recorded))
        for _ in range(self._random.randint(1, 4)):
            data[self._random.randrange(len(data))] = self._random.randrange(256)
        return bytes(data)

    def cut(self) -> bytes:
        data = self._random.choice(self._recorded)
        return data[: self._random.randrange(len(data))] + self._random.randbytes(self._random.randrange(8))

    def replayed(self) -> bytes:
        return self._random.choice(self._recorded)

    def noise(self) -> bytes:
        return self._random.randbytes(self._random.randrange(1_400))

    def forged(self) -> bytes:
        kind = self._random.choice(list(Kind))
        body = self._random.choice((b"", self._random.randbytes(60), pack_messages([encode(self._message())])))
        sender = self._random.choice((self._other.id, self._victim.id, self._stranger.node))
        to = self._random.choice((self._victim.id, EVERYBODY))
        number = self._random.getrandbits(64)
        return self._seal.close(pack(Frame(kind, sender, to, number, body, self._random.randbytes(16))))

    def greeting(self) -> bytes:
        kind = self._random.choice((Kind.HELLO, Kind.WELCOME))
        said = Introduction(1, "ls", session=3, asks=7, answers=self._random.getrandbits(64))
        frame = Frame(kind, self._random.choice((self._other.id, self._stranger.node)), self._victim.id, 1)
        if kind is Kind.HELLO or self._random.random() < 0.9:
            return self._seal.close(pack(msgspec.structs.replace(frame, body=said.pack())))
        return self._seal.close(pack(signed(frame, said, self._stranger)))

    def other_namespace(self) -> bytes:
        return self._elsewhere.close(self._random.randbytes(80))

    def wrong_key(self) -> bytes:
        return self._wrong.close(self._random.randbytes(80))

    def member_lies(self) -> bytes:
        """Statements in others' names, signed by nobody or by the member."""
        return self._by_member(self._passed_on(self._message()))

    def member_babbles(self) -> bytes:
        """What no message says, within frames that are as they should be."""
        return self._by_member(None)

    def member_bends(self) -> bytes:
        """Objects that were signed together, one of them with a proof that does not prove it."""
        told = tuple(self._forged_proofs.draw()[1])
        message = Told(1, self._wanted, told) if self._random.random() < 0.5 else Notification(self._wanted, told)
        return self._by_member(self._passed_on(message))

    def genuine(self) -> Iterator[bytes]:
        """The same objects with the proofs that they have."""
        for batch in self.hidden:
            yield self._by_member(Routed(self._other.id, self._victim.id, 0, encode(Notification(self._wanted, batch))))

    def _passed_on(self, message: Message) -> Message:
        """As it is, flooded, or over a route, as if it was the other's."""
        body = encode(message)
        flooded = Flooded(self._other.id, self._random.getrandbits(60), 0, body)
        return self._random.choice([message, flooded, Routed(self._other.id, self._victim.id, 0, body)])

    def _by_member(self, message: Message | None) -> bytes:
        assert self._member is not None
        link = self._member.link
        body = b"\x01" + self._random.randbytes(40) if message is None else encode(message)
        self._number += 1
        frame = Frame(Kind.PARCEL, MEMBER, self._victim.id, self._number, pack_messages([body]))
        return sealed(frame, link.peers.find(self._victim.id))

    def _message(self) -> Message:
        draw = self._random
        key = draw.choice(self._keys)
        fake = Metadata.of(ObjectKey(f"fake{draw.randrange(99)}", key.owner), ("goal",), b"", 0.0, b"x")
        subscription = SubscriptionKey(draw.randrange(5), self._other.id)
        messages: list[Message] = [
            DeleteRequest(1, key),
            DeleteMetadata(1, key),
            CellState(deleted=(Deleted(CellId(0), key),)),
            Unsubscribed(subscription, 0.0),
            KnownNews((), ((subscription, 0.0),)),
            Notification(subscription, (fake,)),
            Told(1, subscription, (fake,)),
            Beacon(CellId(0), True),
            Routed(self._other.id, self._victim.id, 0, encode(DeleteRequest(1, key))),
        ]
        return draw.choice(messages)


def _hidden(owner: Node, batch: int) -> tuple[Metadata, ...]:
    keys = [ObjectKey(f"hidden{batch}-{i}", owner.id) for i in range(TOGETHER)]
    made = [Metadata.of(key, ("goal",), b"", owner.now(), b"x") for key in keys]
    return tuple(signed_together(owner.device.host.codec, made))


async def assaulted(count: int, seed: int = 1, *, closed_namespace: bool = False) -> dict[str, Any]:
    """Assault a node that has a peer and a subscription; what became of it all, and whether the service went on. The
    key of a closed namespace has just been renewed, and datagrams of before and after are altered and played again."""
    creator = Identity.new()
    drawn = msgspec.structs.replace(Namespace.drawn("final"), creator=creator.public)
    shared = drawn if closed_namespace else Namespace.open()
    options: dict[str, Any] = {
        "namespace": shared.invitation(),
        "approach": "ls",
        "settings": QUICK,
        "listen": LOOPBACK,
    }
    mistakes: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: mistakes.append(context))
    log = MemoryLog()
    async with (
        Node(identity=creator, store="memory", log_to=log, **options) as victim,
        Node(store="memory", peers=[victim.address], **options) as other,
    ):
        link = victim.device.host.link
        tap = Tap(link)
        names: list[str] = []
        told: list[str] = []
        other.on_notice = lambda notice: names.append(notice.metadata.key.oid)
        victim.on_notice = lambda notice: told.append(notice.metadata.key.oid)
        await other.subscribe("goal")
        wanted = (await victim.subscribe("goal")).key
        for i in range(20):
            await victim.insert(f"before{i}", b"x", ["goal"])
            await other.insert(f"theirs{i}", b"x", ["goal"])
        await asyncio.sleep(0.3)
        recorded = [data for data, _ in tap.received[:RECORDED]]
        if closed_namespace:
            tap.received.clear()
            victim.renew()
            for i in range(20):
                await other.insert(f"renewed{i}", b"x", ["goal"])
            await asyncio.sleep(0.3)
            assert other.namespace == victim.namespace != shared
            recorded += [data for data, _ in tap.received[:RECORDED]]
        tap.remove()
        member = None if closed_namespace else await _member(victim)
        assault = Assault(seed, victim, other, wanted, recorded, member)
        told.clear()
        sent: Counter[str] = Counter()
        memory: list[float] = []
        began_s = time.perf_counter()
        for i in range(count):
            kind, data, address = assault.draw()
            sent[kind] += 1
            link.receive(data, address)
            if i % AT_ONCE == 0:
                link.end_turn()
                await asyncio.sleep(0)
                while member is not None and not member.heard.empty():
                    member.heard.get_nowait()
            if i % max(1, count // 10) == 0:
                memory.append(psutil.Process().memory_info().rss / 1e6)
        link.end_turn()
        took_s = time.perf_counter() - began_s
        fooled = list(told)
        if member is not None:
            for data in assault.genuine():
                link.receive(data, member.link.address)
            link.end_turn()
        proved = len(told) - len(fooled)
        names.clear()
        await victim.insert("after", b"x", ["goal"])
        async with asyncio.timeout(30.0):
            while "after" not in names:
                await asyncio.sleep(0.01)
        content = await other.retrieve(f"after@{victim.id}")
        if member is not None:
            await closed(member)
        peers = victim.device.neighbours()
        memory.append(psutil.Process().memory_info().rss / 1e6)
        report = {
            "sent": dict(sent),
            "took_s": took_s,
            "memory_mb": memory,
            "mistakes": mistakes,
            "notified": names,
            "fooled": fooled,
            "proved": proved,
            "content": content,
            "peer_kept": peers.get(other.id) == other.address,
        }
    dropped: Counter[str] = Counter()
    for row in log.rows:
        if row.row.kind == "dropped":
            dropped[row.row.reason] += row.row.count
    return {**report, "dropped": dict(dropped)}


async def _member(victim: Node) -> End:
    member = End(int(MEMBER))
    member.link.peering.approach = "ls"
    await opened(member)
    member.link.greet([parse_address(victim.address, "victim")])
    await member.link.wait_for_listed(10.0)
    return member


def report_lines(count: int) -> Iterator[str]:
    for closed_namespace in (False, True):
        report = asyncio.run(assaulted(count, closed_namespace=closed_namespace))
        kind = "closed" if closed_namespace else "open"
        yield f"{kind} namespace, {count:,} datagrams in {report['took_s']:.0f} s"
        for part in ("sent", "dropped"):
            for what, number in sorted(report[part].items(), key=lambda item: -item[1]):
                yield f"  {part:8} {number:9,}  {what}"
        yield f"  memory   {' '.join(f'{each:.0f}' for each in report['memory_mb'])} MB"
        yield f"  service  {report['notified']}, {report['content']!r}, peer kept: {report['peer_kept']}"
        yield f"  fooled   {len(report['fooled'])}, then told of {report['proved']} with their proofs"
        yield f"  mistakes {len(report['mistakes'])}"


if __name__ == "__main__":
    for line in report_lines(int(sys.argv[1])):
        sys.stdout.write(line + "\n")
