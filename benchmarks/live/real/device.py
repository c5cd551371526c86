"""A device of a history of real processes: a node, and a user who inserts, deletes and subscribes when told to. What
happens is written to standard output, one event per line, before anything else is done."""

from __future__ import annotations

import asyncio
import hashlib
import os
import sys
import time
from contextlib import suppress
from random import Random

import msgspec

from thyme.live import Node
from thyme.live.node.notifications import Notice
from thyme.model.geometry import Point

TAGS = ("a", "b", "c", "d")
SIZES = (50, 200, 900, 3_000, 40_000)
DELETED = 0.12
"""Share of the operations that are deletions."""
AT_ONCE = 30
"""Operations under way."""
RETRIEVED = 10
PATIENCE_S = 60.0


class Device(msgspec.Struct, frozen=True):
    """What a process is given."""

    index: int
    life: int
    """How often it was started before."""
    store: str
    approach: str
    position: tuple[float, float]
    settings: dict[str, dict[str, float]]
    per_s: float


class Event(msgspec.Struct, frozen=True):
    what: str
    name: str = ""
    """Of an object, with its owner's index before it; an object's name is used once."""
    tags: tuple[str, ...] = ()
    sid: int = -1
    query: str = ""
    names: tuple[str, ...] = ()
    value: float = 0.0


class Order(msgspec.Struct, frozen=True):
    """`insert` (or stop), `subscribe`, `look` or `leave`."""

    what: str
    query: str = ""
    on: bool = True
    names: tuple[str, ...] = ()


def content_of(name: str) -> bytes:
    return hashlib.shake_128(name.encode()).digest(SIZES[int(name.rpartition("-")[2]) % len(SIZES)])


def tell(event: Event) -> None:
    os.write(1, msgspec.json.encode(event) + b"\n")


class User:
    def __init__(self, node: Node, device: Device) -> None:
        self._node, self._device = node, device
        self._draw = Random(f"{device.index}/{device.life}")
        self._living: list[str] = []
        self._inserting = False
        self._number = 0

    def note(self, notice: Notice) -> None:
        tell(Event("notified", notice.key.oid, notice.tags, notice.subscription.sid))

    async def use(self) -> None:
        tasks: set[asyncio.Task[None]] = set()
        while True:
            await asyncio.sleep(self._draw.expovariate(self._device.per_s))
            if self._inserting and len(tasks) < AT_ONCE:
                deletes = self._living and self._draw.random() < DELETED
                task = asyncio.create_task(self._delete() if deletes else self._insert())
                tasks.add(task)
                task.add_done_callback(tasks.discard)

    async def obey(self, order: Order) -> None:
        match order.what:
            case "insert":
                self._inserting = order.on
            case "subscribe":
                stream = await self._node.subscribe(order.query)
                tell(Event("subscribed", sid=stream.key.sid, query=order.query))
            case "look":
                await self._look(order.names)

    async def _insert(self) -> None:
        self._number += 1
        device = self._device
        name = f"{device.index}-{device.life}-{self._number}"
        tags = tuple(sorted(self._draw.sample(TAGS, self._draw.choice((1, 1, 2, 3)))))
        try:
            await self._node.insert(name, content_of(name), tags)
        except Exception as error:
            tell(Event("failed", name, query=repr(error)[:200]))
            return
        tell(Event("inserted", name, tags))
        self._living.append(name)

    async def _delete(self) -> None:
        name = self._living.pop(self._draw.randrange(len(self._living)))
        tell(Event("deleting", name))
        try:
            await self._node.delete(name)
        except Exception as error:
            tell(Event("failed", name, query=repr(error)[:200]))
            return
        tell(Event("deleted", name))

    async def _look(self, names: tuple[str, ...]) -> None:
        """Find everything, and retrieve some."""
        node = self._node
        for one in node.subscriptions():
            with suppress(Exception):
                while node.remaining(one.key.sid):
                    await node.more(one.key.sid, 1_000)
        known = {metadata.key.oid: metadata for metadata in await node.find(" | ".join(TAGS), wait_s=5.0)}
        tell(Event("found", names=tuple(sorted(known))))
        wrong = []
        for name in names:
            try:
                whole = await asyncio.wait_for(node.retrieve(known[name]), PATIENCE_S) == content_of(name)
            except Exception as error:
                whole = False
                tell(Event("failed", name, query=repr(error)[:200]))
            wrong += [] if whole else [name]
        tell(Event("looked", names=tuple(wrong), value=node.now() - time.time()))


async def live(device: Device) -> None:
    node = Node(
        store=device.store, approach=device.approach, settings=device.settings, position=Point(*device.position)
    )
    user = User(node, device)
    node.on_notice = user.note
    async with node:
        tell(Event("up"))
        using = asyncio.create_task(user.use())
        reader = asyncio.StreamReader(limit=1 << 22)
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        while line := await reader.readline():
            try:
                await user.obey(msgspec.json.decode(line, type=Order))
            except Exception as error:
                tell(Event("failed", query=f"{line!r}: {error!r}"[:300]))
        using.cancel()


if __name__ == "__main__":
    asyncio.run(live(msgspec.json.decode(sys.argv[1], type=Device)))
