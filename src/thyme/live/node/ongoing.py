"""Operations under way: callbacks of the reactive store turned into something to await, and recorded.

An operation is recorded when it is issued and when it ends, at the instant at which the approach says so, with the
same records as the simulator's users write.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from thyme.approaches.interface import Done
from thyme.live.node.host import LiveHost
from thyme.model.errors import InputError
from thyme.model.ids import ObjectKey, SubscriptionKey
from thyme.model.records import OperationFailed, OperationIssued, OperationKind, OperationSucceeded


class OperationError(Exception):
    """The operation was understood and could not be carried out."""

    def __init__(self, kind: OperationKind, reason: str) -> None:
        super().__init__(f"{kind.value} failed: {reason}")
        self.reason = reason


class Subject(msgspec.Struct, frozen=True):
    """What an operation is about, and its number if it is one of a trace."""

    object: ObjectKey | None = None
    subscription: SubscriptionKey | None = None
    size_bytes: int = 0
    number: int | None = None


class _Operation(msgspec.Struct):
    kind: OperationKind
    issued_s: float
    ended: asyncio.Future[str]
    """Why it failed; empty if it did not."""


class Ongoing:
    """One node's operations under way, by number."""

    def __init__(self, host: LiveHost) -> None:
        self._host = host
        self._next_number = 0
        self._operations: dict[int, _Operation] = {}

    def __len__(self) -> int:
        return len(self._operations)

    async def carry_out(self, kind: OperationKind, subject: Subject, ask: Callable[[Done], object]) -> None:
        """Ask for an operation and wait for its end; InputError if it is refused, OperationError if it fails."""
        number = self._next_number if subject.number is None else subject.number
        self._next_number = max(self._next_number, number + 1)
        ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._operations[number] = _Operation(kind, self._host.now(), ended)
        self._host.record(OperationIssued(number, kind, subject.object, subject.subscription, subject.size_bytes))
        try:
            ask(lambda outcome: self._end(number, outcome.failure.value))
        except InputError as error:
            self._end(number, f"refused: {error}")
            raise
        try:
            reason = await ended
        except asyncio.CancelledError:
            self._end(number, "cancelled")
            raise
        if reason:
            raise OperationError(kind, reason)

    def abandon(self, reason: str) -> None:
        """Whatever is under way has failed."""
        for number in list(self._operations):
            self._end(number, reason)

    def _end(self, number: int, reason: str) -> None:
        operation = self._operations.pop(number, None)
        if operation is None:
            return
        latency_s = self._host.now() - operation.issued_s
        if reason:
            self._host.record(OperationFailed(number, operation.kind, latency_s, reason))
        else:
            self._host.record(OperationSucceeded(number, operation.kind, latency_s))
        if not operation.ended.done():
            operation.ended.set_result(reason)
