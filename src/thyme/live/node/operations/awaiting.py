"""A user's operations as something to await.

`Turns` lets them begin one after the other, each when there is room for what it sends and when not too many are under
way: an application that inserts in a plain loop is as fast as the network, and no faster. A few begin in one turn of
the event loop, so that what they send travels together.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TypeVar

from thyme.approaches.ledger import Ended
from thyme.approaches.user import User
from thyme.live.failures import OperationError
from thyme.model.records import OperationKind

Answer = TypeVar("Answer")


BURST = 32
"""Operations that begin without letting anybody else run: what they send travels together."""


class Turns:
    """Whose operation may begin, in the order in which they came."""

    def __init__(
        self,
        most: int,
        roomy: Callable[[], bool],
        room: Callable[[], Awaitable[None]],
        durable: Callable[[], Awaitable[None]],
    ) -> None:
        """At most so many are under way. `roomy` says whether there is room now, and `room` waits for it."""
        self._free = most
        self._roomy = roomy
        self._room = room
        self.durable = durable
        """Wait until what an operation stored lasts."""
        self._left = BURST
        self._queue: deque[asyncio.Future[None]] = deque()
        self._opening: asyncio.Task[None] | None = None

    async def take(self) -> None:
        """Wait for a place. The operation begins at once when this returns, and has its place until `leave`."""
        if not self._queue and self._left > 0 and self._free > 0 and self._roomy():
            self._left -= 1
            self._free -= 1
            return
        place = asyncio.get_running_loop().create_future()
        self._queue.append(place)
        self._open_soon()
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self.leave()
            raise

    def leave(self) -> None:
        self._free += 1
        if self._queue:
            self._open_soon()

    def _open_soon(self) -> None:
        if self._opening is None:
            self._opening = asyncio.ensure_future(self._open())

    async def _open(self) -> None:
        """Let in whoever waits, a few at each turn."""
        try:
            while self._queue and self._free > 0:
                await asyncio.sleep(0)  # a loop of operations that end at once would let nobody else run
                await self._room()
                self._left = BURST
                while self._queue and self._left > 0 and self._free > 0:
                    place = self._queue.popleft()
                    if not place.done():
                        place.set_result(None)
                        self._left -= 1
                        self._free -= 1
        finally:
            self._opening = None


async def carried_out(turns: Turns, user: User, kind: OperationKind, issue: Callable[[int, Ended], Answer]) -> Answer:
    """Issue an operation when its turn has come and wait for its end, and until what it stored lasts; what issuing it
    gave. InputError if it is refused, OperationError if it fails. Whoever stops waiting has given it up."""
    await turns.take()
    try:
        number = user.numbers.take()
        reasons: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        def end(reason: str) -> None:
            if not reasons.done():
                reasons.set_result(reason)

        answer = issue(number, end)
        try:
            reason = await reasons
        except asyncio.CancelledError:
            user.give_up(number)
            raise
        if reason:
            raise OperationError(kind, reason)
        await turns.durable()
        return answer
    finally:
        turns.leave()
