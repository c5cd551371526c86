"""The engine: what happens next, and at what time.

Actions at the same instant run in the order in which they were asked for (`agenda`), so a run depends on nothing but
its inputs. The radio keeps its own queue, which may be compiled; the engine lets it run up to
its own next action and hands over what the radio has to tell.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from thyme.sim.agenda import Agenda

Action = Callable[[], None]


class Alive(Protocol):
    """Whoever asks for actions that are its own: those of an earlier life are nobody's."""

    life: int


class _Nobody:
    """Asks for what happens in any case."""

    life = 0


_NOBODY = _Nobody()


class EngineTimer:
    """An action on the engine's agenda; cancelling leaves the entry there, empty."""

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
        self._agenda: Agenda[EngineTimer] = Agenda()
        self.next = self._agenda.next
        """When the next action is due, and its number among all that were asked for; infinity if there is none."""

    def at(self, time_s: float, action: Action, owner: Alive = _NOBODY) -> EngineTimer:
        if time_s < self.now_s:
            raise ValueError(f"an action at {time_s} s was asked for at {self.now_s} s; time does not run backwards")
        timer = EngineTimer(action, owner)
        self.order += 1
        self._agenda.put(time_s, self.order, timer)
        return timer

    def after(self, delay_s: float, action: Action, owner: Alive = _NOBODY) -> EngineTimer:
        return self.at(self.now_s + delay_s, action, owner)

    def next_s(self) -> float:
        """When the next action is due; infinity if there is none."""
        return self.next()[0]

    def step(self) -> None:
        """Run the next action; there must be one."""
        time_s, timer = self._agenda.take()
        action, timer.action = timer.action, None
        if action is not None:
            # What the radio told last may lie a propagation delay later.
            self.now_s = max(self.now_s, time_s)
            self.actions += 1
            if timer.owner.life == timer.life:
                action()
