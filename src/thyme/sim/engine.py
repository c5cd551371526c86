"""The engine: what happens next, and at what time.

Actions at the same instant run in the order in which they were asked for, so a run depends on nothing but its inputs.
The radio keeps its own queue, which may be compiled; the engine lets it run up to its own next action and hands over
what the radio has to tell.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from math import inf
from typing import Protocol

Action = Callable[[], None]


class Alive(Protocol):
    """The owner of an action; actions of an earlier life do not run."""

    life: int


class _Nobody:
    """The owner of actions that run in any case."""

    life = 0


_NOBODY = _Nobody()


class EngineTimer:
    """A scheduled action; a cancelled one stays in the queue, empty."""

    __slots__ = ("action", "life", "owner")

    def __init__(self, action: Action, owner: Alive) -> None:
        self.action: Action | None = action
        self.owner = owner
        self.life = owner.life
        """The owner's restart count when it set the timer."""

    def cancel(self) -> None:
        self.action = None


class Engine:
    """A clock that jumps from action to action."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.actions = 0
        self._order = 0
        self._queue: list[tuple[float, int, EngineTimer]] = []

    def at(self, time_s: float, action: Action, owner: Alive = _NOBODY) -> EngineTimer:
        if time_s < self.now_s:
            raise ValueError(f"an action at {time_s} s was asked for at {self.now_s} s; time does not run backwards")
        timer = EngineTimer(action, owner)
        self._order += 1
        heappush(self._queue, (time_s, self._order, timer))
        return timer

    def after(self, delay_s: float, action: Action, owner: Alive = _NOBODY) -> EngineTimer:
        return self.at(self.now_s + delay_s, action, owner)

    def next_s(self) -> float:
        """When the next action is due; infinity if there is none."""
        queue = self._queue
        while queue and queue[0][2].action is None:
            heappop(queue)
        return queue[0][0] if queue else inf

    def step(self) -> None:
        """Run the next action; there must be one."""
        time_s, _, timer = heappop(self._queue)
        action, timer.action = timer.action, None
        if action is not None:
            # What the radio told last may lie a propagation delay later.
            self.now_s = max(self.now_s, time_s)
            self.actions += 1
            if timer.owner.life == timer.life:
                action()
