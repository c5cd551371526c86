"""A user's operations as something to await."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from thyme.approaches.ledger import Ended
from thyme.approaches.user import User
from thyme.model.records import OperationKind

Answer = TypeVar("Answer")


class OperationError(Exception):
    """The operation was understood and could not be carried out."""

    def __init__(self, kind: OperationKind, reason: str) -> None:
        super().__init__(f"{kind.value} failed: {reason}")
        self.reason = reason


async def carried_out(user: User, kind: OperationKind, issue: Callable[[int, Ended], Answer]) -> Answer:
    """Issue an operation and wait for its end; what issuing it gave. InputError if it is refused, OperationError if it
    fails. Whoever stops waiting has given it up."""
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
    return answer
