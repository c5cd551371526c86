"""What is to happen as soon as whoever is at work has ended: all of it at one turn of the event loop, in order.

An insertion into one's own cell is a message to oneself and an answer to oneself; a turn for each would cost more than
what is done in it. Whoever has begun an operation that waits for such a thing need not wait for the turn (`act`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

Action = Callable[[], None]


class _Planned(msgspec.Struct, gc=False):
    """A timer that has run out."""

    action: Action | None

    def cancel(self) -> None:
        self.action = None


ROUNDS = 4
"""How often what was planned may plan something in turn before others have theirs: an insertion into one's own cell
does so twice."""


class Soon:
    def __init__(self, act: Callable[[Action], None]) -> None:
        """`act` carries an action out."""
        self._act = act
        self._loop = asyncio.get_running_loop()
        self._planned: list[_Planned] = []

    def add(self, action: Action) -> _Planned:
        if not self._planned:
            self._loop.call_soon(self._act_all)
        planned = _Planned(action)
        self._planned.append(planned)
        return planned

    def act(self) -> None:
        """Do now what is planned, and what that plans."""
        for _ in range(ROUNDS):
            if not self._planned:
                return
            self._act_all()

    def _act_all(self) -> None:
        """What these add has its turn later."""
        planned, self._planned = self._planned, []
        for one in planned:
            if one.action is not None:
                try:
                    self._act(one.action)
                except Exception as error:
                    self._loop.call_exception_handler({"message": "an action has failed", "exception": error})
