"""The engine: what happens next, and at what time.

A heap of (time, order, action): actions at the same instant run in the order in which they were asked for, so a run
depends on nothing but its inputs. The radio keeps its own queue, which may be compiled; the engine lets it run up to
its own next action and hands over what the radio has to tell.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from math import inf
from typing import Protocol

Action = Callable[[], None]


class Alive(Protocol):
    """Whoever asks for actions that are its own: those of an earlier life are nobody's."""

    life: int


class _Nobody:
    """Asks for what happens in any case."""

    life = 0


_NOBODY = _Nobody()


class EngineTimer:
    """An action in the engine's heap; cancelling leaves the entry there, empty."""

    __slots__ = ("action", "life", "owner")

    def __init__(self, action: Action, owner: Alive) -> None:
        self.action: Action | None = action
        self.owner = owner
        self.life = owner.life
        """In which of its lives the owner asked."""

    def cancel(self) -> None:
        self.action = None


class Engine:
    """A clock that jumps from action to action."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.actions = 0
        self.order = 0
        """How many actions were asked for."""
        self._heap: list[tuple[float, int, EngineTimer]] = []

    def at(self, time_s: float, action: Action, owner: Alive = _NOBODY) -> EngineTimer:
        if time_s < self.now_s:
            raise ValueError(f"an action at {time_s} s was asked for at {self.now_s} s; time does not run backwards")
        timer = EngineTimer(action, owner)
        self.order += 1
        heapq.heappush(self._heap, (time_s, self.order, timer))
        return timer

    def after(self, delay_s: float, action: Action, owner: Alive = _NOBODY) -> EngineTimer:
        return self.at(self.now_s + delay_s, action, owner)

    def next_s(self) -> float:
        """When the next action is due; infinity if there is none."""
        heap = self._heap
        while heap and heap[0][2].action is None:
            heapq.heappop(heap)
        return heap[0][0] if heap else inf

    def next(self) -> tuple[float, int]:
        """When the next action is due, and its number among all that were asked for."""
        next_s = self.next_s()
        return next_s, self._heap[0][1] if self._heap else 0

    def step(self) -> None:
        """Run the next action; there must be one."""
        time_s, _, timer = heapq.heappop(self._heap)
        action, timer.action = timer.action, None
        if action is not None:
            # What the radio told last may lie a propagation delay later.
            self.now_s = max(self.now_s, time_s)
            self.actions += 1
            if timer.owner.life == timer.life:
                action()
