"""A subscription as an application sees it: an asynchronous iterator of the objects that match.

Of the past, a batch is told at once and the others when `more` asks for them (Thyme FGCS §3.3: n of x). Entered with
`async with`, the subscription ends with the block.
"""

from __future__ import annotations

from types import TracebackType
from typing import Protocol, Self

import msgspec

from thyme.live.node.operations.arrivals import Arrivals
from thyme.model.ids import SubscriptionKey
from thyme.model.objects import Metadata

MAX_WAITING_NOTIFICATIONS = 10_000
"""Notifications that an application has not looked at yet; beyond that, the oldest gives way."""


class Notice(msgspec.Struct, frozen=True, gc=False):
    """A matching object, and how long after the earliest possible instant the node learnt of it."""

    subscription: SubscriptionKey
    metadata: Metadata
    delay_s: float


class Subscriber(Protocol):
    """Who subscribed."""

    async def more(self, what: int, most: int = 0) -> int: ...
    def remaining(self, what: int) -> int: ...
    async def unsubscribe(self, what: int) -> None: ...


class Notifications(Arrivals[Notice]):
    """What a subscription brings, in order of arrival; ends when the subscription or the node does."""

    def __init__(self, key: SubscriptionKey, query: str, subscriber: Subscriber) -> None:
        super().__init__(MAX_WAITING_NOTIFICATIONS)
        self.key = key
        self.query = query
        self._subscriber = subscriber

    @property
    def remaining(self) -> int:
        """Past matches that are known of and were not told yet."""
        return self._subscriber.remaining(self.key.sid)

    async def more(self, most: int = 0) -> int:
        """Ask for the next past matches, or for a stream of up to `most`; how many are left after them."""
        return await self._subscriber.more(self.key.sid, most)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self.ended:
            await self._subscriber.unsubscribe(self.key.sid)
