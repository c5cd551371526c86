"""A subscription as an application sees it: an asynchronous iterator of the objects that match."""

from __future__ import annotations

import asyncio
from collections import deque

import msgspec

from thyme.model.ids import SubscriptionKey
from thyme.model.objects import Metadata

MAX_WAITING_NOTIFICATIONS = 10_000
"""Notifications that an application has not looked at yet; beyond that, the oldest gives way."""


class Notice(msgspec.Struct, frozen=True):
    """A matching object, and how long after the earliest possible instant the node learnt of it."""

    subscription: SubscriptionKey
    metadata: Metadata
    delay_s: float


class Notifications:
    """What a subscription brings, in order of arrival; ends when the subscription or the node does."""

    def __init__(self, key: SubscriptionKey, query: str) -> None:
        self.key = key
        self.query = query
        self.lost = 0
        """Notifications that gave way because nobody looked."""
        self._waiting: deque[Notice] = deque()
        self._changed = asyncio.Event()
        self._ended = False

    def __aiter__(self) -> Notifications:
        return self

    async def __anext__(self) -> Notice:
        while not self._waiting:
            if self._ended:
                raise StopAsyncIteration
            self._changed.clear()
            await self._changed.wait()
        return self._waiting.popleft()

    def put(self, notice: Notice) -> None:
        if len(self._waiting) >= MAX_WAITING_NOTIFICATIONS:
            self._waiting.popleft()
            self.lost += 1
        self._waiting.append(notice)
        self._changed.set()

    def end(self) -> None:
        self._ended = True
        self._changed.set()
