"""Who is in range, as an application sees it: an asynchronous iterator of peers who come and go."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable

from thyme.live.link.peers import Presence

MAX_WAITING_PRESENCES = 1_000
"""Changes that an application has not looked at yet; beyond that, the oldest gives way."""


class Presences:
    """Those who are here, then every change; ends when the node does."""

    def __init__(self, here: Iterable[Presence]) -> None:
        self.lost = 0
        """Changes that gave way because nobody looked."""
        self._waiting = deque(here)
        self._changed = asyncio.Event()
        self._ended = False

    def __aiter__(self) -> Presences:
        return self

    async def __anext__(self) -> Presence:
        while not self._waiting:
            if self._ended:
                raise StopAsyncIteration
            self._changed.clear()
            await self._changed.wait()
        return self._waiting.popleft()

    def put(self, presence: Presence) -> None:
        if len(self._waiting) >= MAX_WAITING_PRESENCES:
            self._waiting.popleft()
            self.lost += 1
        self._waiting.append(presence)
        self._changed.set()

    def end(self) -> None:
        self._ended = True
        self._changed.set()
