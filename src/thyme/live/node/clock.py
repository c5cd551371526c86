"""The clock of live nodes: the event loop's time, mapped to seconds that all nodes share.

A device shows seconds since 1970; that the devices' clocks agree (Thyme FGCS §4.2) is seen to by the link's
`CrowdTime`. The mapping is made once, so a node's time never jumps when the device's clock is corrected. A crowd in one
process shares one clock that shows the trace's time, may run faster, and may be held until the next operation.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from math import inf

from thyme.model.errors import InputError


class Clock:
    """Seconds from `origin_s` on, `speed` of them per second of the event loop. Never goes back."""

    def __init__(self, origin_s: float | None = None, speed: float = 1.0, *, common: bool = False) -> None:
        """`common`: all nodes of the crowd go by this very clock."""
        if not 0.0 < speed < inf:
            raise InputError(f"a clock cannot run at {speed} times the speed of time; give a positive number")
        self._loop = asyncio.get_running_loop()
        self._origin_s = time.time() if origin_s is None else origin_s
        self._began_s = self._loop.time()
        self._limit_s = inf
        self.speed = speed
        self.common = common or speed != 1.0

    def now(self) -> float:
        now_s = self._origin_s + (self._loop.time() - self._began_s) * self.speed
        return now_s if now_s < self._limit_s else self._limit_s

    def ticks(self) -> tuple[Callable[[], float], float]:
        """Something that never goes back, and what to add to it for this clock's time: time is asked for many times for
        each message, and a device's own clock need not be asked itself."""
        return (self.now, 0.0) if self.common else (self._loop.time, self._origin_s - self._began_s)

    def hold_at(self, limit_s: float) -> None:
        """Show no later time than this until told otherwise."""
        assert self.common, "a device's own clock cannot be held"
        now_s = self.now()
        self._origin_s, self._began_s = now_s, self._loop.time()
        self._limit_s = max(limit_s, now_s)

    def after(self, delay_s: float, action: Callable[[], None]) -> asyncio.Handle:
        """Do something when `delay_s` of this clock have passed, not counting time for which it is held."""
        if delay_s <= 0.0:
            return self._loop.call_soon(action)
        return self._loop.call_later(delay_s / self.speed, action)
