"""A user's operations as something to await.

`Turns` lets them begin one after the other, each when there is room for what it sends and when not too many are under
way: an application that inserts in a plain loop is as fast as the network, and no faster.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

from thyme.approaches.ledger import Ended
from thyme.approaches.user import User
from thyme.live.failures import OperationError
from thyme.model.records import OperationKind

Answer = TypeVar("Answer")


class Turns:
    """Whose operation may begin."""

    def __init__(self, most: int, room: Callable[[], Awaitable[None]], durable: Callable[[], Awaitable[None]]) -> None:
        self._room = room
        self.durable = durable
        """Wait until what an operation stored lasts."""
        self._places = asyncio.Semaphore(most)
        self._door = asyncio.Lock()

    @asynccontextmanager
    async def take(self) -> AsyncIterator[None]:
        """While this is entered, the operation has its place. It begins at once when it is entered."""
        async with self._places:
            async with self._door:
                await asyncio.sleep(0)  # a loop of operations that end at once would let nobody else run
                await self._room()
            yield


async def carried_out(turns: Turns, user: User, kind: OperationKind, issue: Callable[[int, Ended], Answer]) -> Answer:
    """Issue an operation when its turn has come and wait for its end, and until what it stored lasts; what issuing it
    gave. InputError if it is refused, OperationError if it fails. Whoever stops waiting has given it up."""
    async with turns.take():
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
