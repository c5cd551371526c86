"""What an application iterates over: notifications of a subscription, and peers that come and go.

Both are bounded queues: when the application is too slow, the oldest item is dropped. Of the past, a batch is notified
at once and the others when `more` asks for them (Thyme FGCS §3.3: n of x). Entered with `async with`, a subscription
ends with the block.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Generic, Protocol, Self, TypeVar
from weakref import WeakSet

import msgspec

from thyme.live.failures import ReaderTooSlow
from thyme.live.link.peers import Presence
from thyme.live.node.known import KnownObjects
from thyme.model.ids import ObjectKey, SubscriptionKey
from thyme.model.objects import Metadata

logger = logging.getLogger("thyme.live")

Item = TypeVar("Item")
MAX_WAITING_NOTIFICATIONS = 10_000
MAX_WAITING_PRESENCES = 1_000
"""Items that an application has not read yet; beyond that, the oldest is dropped."""
MAX_FOUND = 10_000
"""Objects that one search gives."""
AT_ONCE = 5_000
"""Past matches that are streamed before they are read: half of what a queue of notifications holds."""


class BoundedQueue(Generic[Item]):
    """Bounded async iterator; drops the oldest item when full, and raises `ReaderTooSlow` to its reader. Fed by `put`
    or `put_all`, closed by `end`.
    """

    def __init__(self, maximum: int, first: Iterable[Item] = ()) -> None:
        self.lost = 0
        """Items that were dropped."""
        self._unreported = 0
        """Dropped items that were not reported to the reader yet."""
        self._maximum = maximum
        self._waiting = deque(first)
        self._changed = asyncio.Event()
        self._readers = 0
        """Tasks that wait for another item."""
        self.ended = False

    @property
    def waiting(self) -> int:
        """Items that were not read yet."""
        return len(self._waiting)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Item:
        if self._unreported:
            lost, self._unreported = self._unreported, 0
            raise ReaderTooSlow(lost, self._maximum)
        while not self._waiting:
            if self.ended:
                raise StopAsyncIteration
            self._changed.clear()
            self._readers += 1
            try:
                await self._changed.wait()
            finally:
                self._readers -= 1
        return self._waiting.popleft()

    def put(self, item: Item) -> None:
        self.put_all((item,))

    def put_all(self, items: Iterable[Item]) -> None:
        """In their order."""
        self._waiting.extend(items)
        while len(self._waiting) > self._maximum:
            self._waiting.popleft()
            self.lost += 1
            self._unreported += 1
        if self._readers:
            self._changed.set()

    def end(self) -> None:
        self.ended = True
        self._changed.set()


class Notice(msgspec.Struct, frozen=True, gc=False):
    """A matching object, and how long after the earliest possible instant the node learnt of it."""

    subscription: SubscriptionKey
    metadata: Metadata
    delay_s: float

    @property
    def key(self) -> ObjectKey:
        return self.metadata.key

    @property
    def tags(self) -> tuple[str, ...]:
        return self.metadata.tags

    @property
    def text(self) -> str:
        """The summary, as text."""
        return self.metadata.summary.decode("utf-8", "replace")


class SubscribingNode(Protocol):
    """The node that a subscription belongs to."""

    async def more(self, what: int, most: int = 0) -> int: ...
    def remaining(self, what: int) -> int: ...
    async def unsubscribe(self, what: int) -> None: ...


class Notifications(BoundedQueue[Notice]):
    """What a subscription brings, in order of arrival; ends when the subscription or the node does."""

    def __init__(self, key: SubscriptionKey, query: str, subscriber: SubscribingNode) -> None:
        super().__init__(MAX_WAITING_NOTIFICATIONS)
        self.key = key
        self.query = query
        self._subscriber = subscriber

    @property
    def remaining(self) -> int:
        """Known past matches that were not delivered yet."""
        return self._subscriber.remaining(self.key.sid)

    async def more(self, most: int = 0) -> int:
        """Ask for the next past matches, or for a stream of up to `most`; how many are left after them."""
        return await self._subscriber.more(self.key.sid, most)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """End the subscription, if it has not ended."""
        if not self.ended:
            await self._subscriber.unsubscribe(self.key.sid)


class Presences(BoundedQueue[Presence]):
    """The peers that are here, then every change; ends when the node does."""

    def __init__(self, here: Iterable[Presence]) -> None:
        super().__init__(MAX_WAITING_PRESENCES, here)


async def read_all(matches: Notifications, wait_s: float) -> list[Metadata]:
    """All past matches, the oldest first; nothing more came for `wait_s` after the last."""
    objects: list[Metadata] = []
    while len(objects) < MAX_FOUND:
        if not matches.waiting and matches.remaining:
            await matches.more(AT_ONCE)
        try:
            async with asyncio.timeout(wait_s):
                objects.append((await anext(matches)).metadata)
        except (TimeoutError, StopAsyncIteration):
            break
        except ReaderTooSlow:  # there are more than one search gives
            continue
    return sorted(objects, key=lambda each: (each.published_s, each.key))


class Streams:
    """Everything that a node reports to its application, across restarts: notifications of each subscription, peers
    that come and go, and objects that were inserted here or that it was notified of.
    """

    def __init__(self, subscriber: SubscribingNode) -> None:
        self._subscriber = subscriber
        self.on_notice: Callable[[Notice], None] | None = None
        self.known = KnownObjects()
        self.subscriptions: dict[int, Notifications] = {}
        """By number of subscription."""
        self._presences: WeakSet[Presences] = WeakSet()

    def add(self, key: SubscriptionKey, query: str) -> Notifications:
        """Notifications of a new subscription."""
        stream = self.subscriptions[key.sid] = Notifications(key, query, self._subscriber)
        return stream

    def drop(self, sid: int) -> None:
        """The subscription has ended."""
        stream = self.subscriptions.pop(sid, None)
        if stream is not None:
            stream.end()

    def presences(self, here: Iterable[Presence]) -> Presences:
        """The peers that are here, and then every arrival and departure."""
        presences = Presences(here)
        self._presences.add(presences)
        return presences

    def end(self) -> None:
        """The node leaves: all streams end."""
        for stream in self.subscriptions.values():
            stream.end()
        for presences in self._presences:
            presences.end()

    def notify(self, key: SubscriptionKey, matches: Sequence[tuple[Metadata, float]]) -> None:
        notices: list[Notice] = []
        objects: list[Metadata] = []
        for metadata, delay_s in matches:  # no comprehension: most often there is one match, and a call costs more
            notices.append(Notice(key, metadata, delay_s))
            objects.append(metadata)
        self.known.note_all(objects)
        if stream := self.subscriptions.get(key.sid):
            stream.put_all(notices)
        if self.on_notice:
            for notice in notices:
                try:
                    self.on_notice(notice)
                except Exception:  # of the application; the other notices are still passed on
                    logger.exception("the application failed to handle the notification of %s", notice.metadata.key)

    def change(self, presence: Presence) -> None:
        """A peer has come or gone."""
        for presences in self._presences:
            presences.put(presence)
