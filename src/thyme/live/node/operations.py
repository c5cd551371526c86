"""A user's operations as something to await, and the queue that decides when each begins.

An operation begins when there is room for what it sends and when not too many are under way: an application that
inserts in a plain loop is as fast as the network, and no faster. One that comes while none is under way begins at once,
unless another task's did in this iteration of the event loop, or the last ones came together: then others are probably
about to come, and it waits for them to the end of this iteration. Operations that come together are admitted together,
and the objects that they insert share one signature, if they are signed. They begin a few per iteration, so that what
they send travels together.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Generic, TypeVar, cast

import msgspec

from thyme.approaches.operation_records import Ended
from thyme.approaches.user import User
from thyme.live.failures import OperationError
from thyme.model.objects import Metadata
from thyme.model.records import OperationKind

Answer = TypeVar("Answer")
Done = Callable[[], None]


BURST = 32
"""Operations that begin without letting other tasks run: what they send travels together."""
TOGETHER = 128
"""Objects that share a signature, of operations that begin one burst after the other: signing takes a tenth of the time
of everything else, and each level of the hash tree adds 16 bytes to every object."""


class OperationContext(msgspec.Struct, frozen=True):
    """What operations need of their node."""

    can_send: Callable[[], bool]
    """Whether there is room now for what another operation sends …"""
    wait_to_send: Callable[[], Awaitable[None]]
    """… and to wait for it."""
    commit: Callable[[Done], None]
    """Call this when what was stored is durable."""
    run_deferred: Callable[[], None]
    """Run now what was deferred to the end of this iteration of the event loop."""
    sign_together: Callable[[Sequence[Metadata]], None] | None = None
    """Announce objects that are about to be inserted together; None where objects are not signed."""


class PendingOperation(Generic[Answer]):
    """An operation that waits, is under way, or has ended. It is part of no reference cycle, which would leave each one
    to the garbage collector."""

    def __init__(self, kind: OperationKind) -> None:
        self._kind = kind
        self._number = 0
        self._answer: Answer | None = None
        self._error: BaseException | None = None
        self._left: Callable[[], None] | None = None
        self._waiting: asyncio.Future[None] | None = None
        self.over = False

    def issue(self, number: int, ended: Ended) -> Answer:
        """Have the user issue it."""
        raise NotImplementedError

    def drafted(self) -> Metadata | None:
        """The object that it is about to insert, to be signed with others; nothing if it inserts none."""
        return None

    def begin(self, user: User, commit: Callable[[Done], None], left: Callable[[], None]) -> None:
        """Issue it; `left` is called when it has ended and what it stored is durable."""
        self._left = left
        self._number = user.numbers.take()

        def end(reason: str) -> None:
            if reason:
                self._end(OperationError(self._kind, reason))
            else:
                commit(self._end)

        try:
            self._answer = self.issue(self._number, end)
        except Exception as error:  # refused: recorded as failed, with the reason for its user
            self._end()
            self._error = error

    def abandon(self, user: User) -> None:
        """The application waits no longer."""
        self.give_up(user)

    def give_up(self, user: User) -> None:
        """It counts as ended; it may still be carried out."""
        if self._left is not None:
            user.give_up(self._number)
        self._end()

    def _end(self, error: BaseException | None = None) -> None:
        if self.over:
            return
        self.over, self._error = True, error
        if self._left is not None:
            self._left()
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    async def ended(self, user: User) -> Answer:
        """Wait for its end; what issuing it gave. InputError if it is refused, OperationError if it fails."""
        if not self.over:
            self._waiting = asyncio.get_running_loop().create_future()
            try:
                await self._waiting
            except asyncio.CancelledError:
                self.abandon(user)
                raise
        return self.answer()

    def answer(self) -> Answer:
        """Of one that has ended."""
        error, self._error = self._error, None
        if error is not None:
            raise error
        return cast(Answer, self._answer)


class Request(PendingOperation[Answer]):
    """One that is issued by a call."""

    def __init__(self, kind: OperationKind, issue: Callable[[int, Ended], Answer]) -> None:
        super().__init__(kind)
        self._issue = issue

    def issue(self, number: int, ended: Ended) -> Answer:
        return self._issue(number, ended)


class OperationQueue:
    """Begins operations in the order in which they came."""

    def __init__(self, most: int, machine: OperationContext) -> None:
        """Maximum number of operations under way."""
        self._most = self._free = most
        self._machine = machine
        self._left = BURST
        self._loop = asyncio.get_running_loop()
        self._queue: deque[tuple[User, PendingOperation[Any]]] = deque()
        self._admitted: deque[tuple[User, PendingOperation[Any]]] = deque()
        """Those that were let in and have not begun."""
        self._opening = False
        self._together = False
        """Whether the last ones that were let in came together."""
        self._first: asyncio.Task[Any] | None = None
        """Whose operation began at once in this iteration of the event loop."""
        self._later: asyncio.Task[None] | None = None

    async def carry_out(self, user: User, operation: PendingOperation[Answer]) -> Answer:
        """Begin an operation as soon as that is possible, and wait for its end."""
        if self._left < 1 and self._idle:
            await asyncio.sleep(0)  # a loop of operations that end at once would let no other task run
            self._left = BURST
        if self._idle and not self._together and self._is_first() and self._machine.can_send():
            self._left -= 1
            self._begin(user, operation)
            if not operation.over:
                self._machine.run_deferred()
        else:
            self._queue.append((user, operation))
            self._open_soon()
        if operation.over:  # as one is that needs nobody else and no disk
            return operation.answer()
        return await operation.ended(user)

    @property
    def _idle(self) -> bool:
        return self._free == self._most and not self._queue and not self._admitted

    def _is_first(self) -> bool:
        """Whether no other task has begun an operation in this iteration."""
        task = asyncio.current_task()
        if self._first is None:
            self._first = task
            self._loop.call_soon(self._next_iteration)
        return self._first is task

    def _next_iteration(self) -> None:
        self._first = None

    def _begin(self, user: User, operation: PendingOperation[Any]) -> None:
        self._free -= 1
        operation.begin(user, self._machine.commit, self._leave)

    def _leave(self) -> None:
        self._free += 1
        if self._queue or self._admitted:
            self._open_soon()

    def _open_soon(self) -> None:
        if not self._opening:
            self._opening = True
            self._loop.call_soon(self._open)

    def _open(self) -> None:
        """Begin waiting operations, a few per iteration."""
        if self._machine.can_send():
            self._let_in()
        else:
            self._later = asyncio.ensure_future(self._open_later())

    async def _open_later(self) -> None:
        await self._machine.wait_to_send()
        self._let_in()

    def _let_in(self) -> None:
        self._opening, self._left = False, BURST
        if not self._admitted:
            self._admit_next()
        self._begin_some()
        if self._admitted or (self._queue and self._free > 0):
            self._open_soon()

    def _begin_some(self) -> None:
        begun = 0
        while self._admitted and begun < BURST:
            user, operation = self._admitted.popleft()
            if not operation.over:
                self._begin(user, operation)
                begun += 1
        if self._free < self._most:
            self._machine.run_deferred()

    def _admit_next(self) -> None:
        """As many as may be under way now."""
        while self._queue and len(self._admitted) < min(TOGETHER, self._free):
            user, operation = self._queue.popleft()
            if not operation.over:
                self._admitted.append((user, operation))
        if self._admitted:
            self._together = len(self._admitted) > 1
        if self._machine.sign_together is not None and len(self._admitted) > 1:
            drafts = [draft for _, operation in self._admitted if (draft := operation.drafted()) is not None]
            self._machine.sign_together(drafts)
