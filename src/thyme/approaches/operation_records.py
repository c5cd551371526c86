"""Operation records of one user: its pending operations, and log records of when each began and ended.

Users of a store, simulated or on a device, issue operations through `OperationRecords`, so that all approaches are
measured in the same way. An operation is recorded when it is issued and once when it ends, at the time at which the
approach reports its end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol as Interface
from typing import TypeVar

import msgspec

from thyme.approaches.interface import Done
from thyme.host import Timer
from thyme.model.errors import InputError
from thyme.model.ids import ObjectKey, SubscriptionKey
from thyme.model.records import LogRecord, OperationFailed, OperationIssued, OperationKind, OperationSucceeded

Ended = Callable[[str], None]
"""Told why an operation failed: an empty text if it did not."""
Answer = TypeVar("Answer")


class UserContext(Interface):
    """What a user needs of the life that they are in. A host offers it, too."""

    @property
    def recording(self) -> bool:
        """Whether anybody wants to know what is recorded now."""

    def now(self) -> float: ...
    def after(self, delay_s: float, action: Callable[[], None]) -> Timer: ...
    def record(self, event: LogRecord) -> None: ...


class Subject(msgspec.Struct, frozen=True):
    """What an operation is about."""

    object: ObjectKey | None = None
    subscription: SubscriptionKey | None = None
    size_bytes: int = 0


class _Operation(msgspec.Struct, frozen=True):
    kind: OperationKind
    issued_s: float | None
    """None if nobody wanted to know."""
    ended: Ended


class OperationRecords:
    """One user's operations under way, by number."""

    def __init__(self, context: UserContext) -> None:
        self._context = context
        self._operations: dict[int, _Operation] = {}

    def __len__(self) -> int:
        return len(self._operations)

    def carry_out(
        self, number: int, kind: OperationKind, subject: Subject, ask: Callable[[Done], Answer], ended: Ended
    ) -> Answer:
        """Start an operation; `ended` is called at its end. A refused one counts as failed, and its InputError is
        raised again."""
        recording = self._context.recording
        self._operations[number] = _Operation(kind, self._context.now() if recording else None, ended)
        if recording:
            issued = OperationIssued(number, kind, subject.object, subject.subscription, subject.size_bytes)
            self._context.record(issued)
        try:
            return ask(lambda outcome: self.end(number, outcome.failure.value if outcome.failure else ""))
        except InputError as error:
            self.end(number, f"refused: {error}")
            raise

    def end(self, number: int, reason: str) -> None:
        """An operation succeeded, or failed if there is a reason. What has ended before stays as it ended."""
        operation = self._operations.pop(number, None)
        if operation is None:
            return
        if operation.issued_s is not None:
            latency_s = self._context.now() - operation.issued_s
            if reason:
                self._context.record(OperationFailed(number, operation.kind, latency_s, reason))
            else:
                self._context.record(OperationSucceeded(number, operation.kind, latency_s))
        operation.ended(reason)

    def abandon(self, reason: str) -> None:
        """Whatever is under way has failed."""
        for number in list(self._operations):
            self.end(number, reason)
