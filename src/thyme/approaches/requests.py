"""Requests that await an answer: numbered, repeated with growing patience, and given up in the end.

All Thyme approaches repeat an operation whose reply does not come in time and report a timeout when the last try has
passed (Thyme FGCS §9.1).

How many operations an application may have under way is checked before they begin (`ReactiveStore`). Requests are
begun by timers and answers as well, so here nothing is ever refused by raising: a request beyond the maximum is sent
once, not awaited, and ends as refused.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from thyme.approaches.interface import Done, Failure, Outcome
from thyme.host import Host, Timer
from thyme.model.records import Counted, TrafficKind

GROWTH = 2.0
"""Each further try waits this many times longer."""


class RetryOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The paper leaves the values to configuration; these are where the evaluation starts from."""

    timeout_s: float = 2.0
    """How long the first try waits for an answer; each further one waits twice as long."""
    retries: int = 3
    """Further tries of a request without an answer."""
    pending: int = 1_000
    """Requests that may await an answer at once; a further one is sent once and not awaited."""


class _Pending(msgspec.Struct):
    send: Callable[[int], None]
    done: Done
    timeout_s: float
    tries: int = 0
    timer: Timer | None = None


class Requests:
    """The requests of one node that are under way."""

    def __init__(self, host: Host, options: RetryOptions) -> None:
        self.host = host
        self._options = options
        self._pending: dict[int, _Pending] = {}
        # Numbers must not repeat after a restart, or a late answer would be taken for a new one's.
        self._numbers = host.random.getrandbits(30) << 20

    def __len__(self) -> int:
        return len(self._pending)

    @property
    def room(self) -> int:
        """How many more may be awaited now."""
        return max(0, self._options.pending - len(self._pending))

    def __contains__(self, number: int) -> bool:
        return number in self._pending

    def begin(self, send: Callable[[int], None], done: Done, timeout_s: float | None = None) -> int:
        """Call `send(number)` now and after every timeout, until `resolve(number, …)` or the last try is over. Whoever
        knows how long an answer takes says how long the first try waits."""
        self._numbers += 1
        number = self._numbers
        if len(self._pending) >= self._options.pending:
            self.host.record(Counted(TrafficKind.DROPPED, "Request", reason="too many under way"))
            send(number)
            self.host.after(0.0, lambda: done(Outcome(Failure.REFUSED)))
            return number
        self._pending[number] = _Pending(send, done, self._options.timeout_s if timeout_s is None else timeout_s)
        self._try(number)
        return number

    def resolve(self, number: int, outcome: Outcome) -> bool:
        """End a request; False if it is not (or no longer) awaited."""
        pending = self._pending.pop(number, None)
        if pending is None:
            return False
        if pending.timer:
            pending.timer.cancel()
        pending.done(outcome)
        return True

    def prolong(self, number: int) -> None:
        """A request is making progress: its tries are counted from zero again."""
        pending = self._pending.get(number)
        if pending is not None and pending.timer is not None:
            pending.timer.cancel()
            pending.tries = 1
            pending.timer = self.host.after(pending.timeout_s * GROWTH, lambda: self._try(number))

    def repeat(self) -> None:
        """Send every request once more, out of turn: a path that was broken may be mended."""
        for number, pending in list(self._pending.items()):
            if number in self._pending:
                pending.send(number)

    def _try(self, number: int) -> None:
        pending = self._pending.get(number)
        if pending is None:
            return
        if pending.tries > self._options.retries:
            self.resolve(number, Outcome(Failure.TIMEOUT))
            return
        patience_s = pending.timeout_s * GROWTH**pending.tries
        pending.tries += 1
        pending.timer = self.host.after(patience_s, lambda: self._try(number))
        pending.send(number)
