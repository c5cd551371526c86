"""What an application iterates over: things in order of arrival, of which the oldest give way if nobody looks."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable
from typing import Generic, TypeVar

Thing = TypeVar("Thing")


class Arrivals(Generic[Thing]):
    """An asynchronous iterator that is fed by `put` or `put_all` and closed by `end`."""

    def __init__(self, maximum: int, first: Iterable[Thing] = ()) -> None:
        self.lost = 0
        """Things that gave way because nobody looked."""
        self._maximum = maximum
        self._waiting = deque(first)
        self._changed = asyncio.Event()
        self._readers = 0
        """Who waits for another thing."""
        self.ended = False

    @property
    def waiting(self) -> int:
        """Things that nobody has looked at yet."""
        return len(self._waiting)

    def __aiter__(self) -> Arrivals[Thing]:
        return self

    async def __anext__(self) -> Thing:
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

    def put(self, thing: Thing) -> None:
        self.put_all((thing,))

    def put_all(self, things: Iterable[Thing]) -> None:
        """In their order."""
        self._waiting.extend(things)
        while len(self._waiting) > self._maximum:
            self._waiting.popleft()
            self.lost += 1
        if self._readers:
            self._changed.set()

    def end(self) -> None:
        self.ended = True
        self._changed.set()
