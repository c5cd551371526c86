"""The clock of live nodes: the event loop's time, mapped to seconds since 1970.

The devices' clocks are made to agree by the link's `CrowdTime` (Thyme FGCS §4.2). The mapping is made once, so a node's
time never jumps when the device's clock is corrected. Members of an emulated crowd share one clock.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable


class Clock:
    """Seconds from `origin_s` on. Never goes back."""

    def __init__(
        self, origin_s: float | None = None, *, common: bool = False, device: Callable[[], float] = time.time
    ) -> None:
        """`common`: all nodes of the crowd use this very clock. `device` is the device's clock, which may be set."""
        self._loop = asyncio.get_running_loop()
        now_s = device()
        self._origin_s = (now_s if origin_s is None else origin_s) - self._loop.time()
        self._device = device
        self._ahead_s = 0.0 if origin_s is None else origin_s - now_s
        self.common = common

    def now(self) -> float:
        return self._origin_s + self._loop.time()

    def device(self) -> float:
        """The device's wall clock, which runs during suspend and may be set."""
        return self._device() + self._ahead_s

    def ticks(self) -> tuple[Callable[[], float], float]:
        """A function that never goes back, and what to add to it for this clock's time. Time is read many times for
        each message, and reading the event loop's saves a call."""
        return self._loop.time, self._origin_s

    def after(self, delay_s: float, action: Callable[[], None]) -> asyncio.Handle:
        """Run an action when `delay_s` have passed."""
        return self._loop.call_soon(action) if delay_s <= 0.0 else self._loop.call_later(delay_s, action)
