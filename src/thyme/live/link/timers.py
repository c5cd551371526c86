"""Timers: callbacks of a link, ordered by the time they are due.

They start nothing by themselves. The driver of the link passes it the time, asks when the next timer is due (`next_s`)
and calls `run` then. The time does not change between two calls into the link.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from math import inf

import msgspec

RESOLUTION_S = 0.0005
"""Timers that are due within this time run together: event loops round, and would call back a moment too early."""


class LinkTimer(msgspec.Struct):
    action: Callable[[], None] | None

    def cancel(self) -> None:
        self.action = None


class Timers:
    def __init__(self) -> None:
        self.now_s = 0.0
        """The time at which the link was called."""
        self.next_s = inf
        """When to call `run`: no later than the next timer is due; earlier if that one was cancelled."""
        self._queue: list[tuple[float, int, LinkTimer]] = []
        self._count = 0

    def after(self, delay_s: float, action: Callable[[], None]) -> LinkTimer:
        """With a delay of 0: at the end of this turn, in order."""
        timer, due_s = LinkTimer(action), self.now_s + delay_s
        self._count += 1
        heappush(self._queue, (due_s, self._count, timer))
        if due_s < self.next_s:
            self.next_s = due_s
        return timer

    def run(self, now_s: float) -> None:
        """Call what is due; what these calls add waits for the next run."""
        self.now_s = now_s
        queue, last = self._queue, self._count
        until_s = now_s + RESOLUTION_S
        while queue and queue[0][0] <= until_s and queue[0][1] <= last:
            timer = heappop(queue)[2]
            action, timer.action = timer.action, None
            if action is not None:
                action()
        while queue and queue[0][2].action is None:
            heappop(queue)
        self.next_s = queue[0][0] if queue else inf
