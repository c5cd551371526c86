"""Turns: what happens to a node of Thyme-DCS, and what its parts do then."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, ParamSpec

Told = ParamSpec("Told")


class Turn(Generic[Told]):
    """Calling it tells all who asked to be told, in that order, which so decides what is sent first."""

    __slots__ = ("_actions",)

    def __init__(self) -> None:
        self._actions: list[Callable[Told, None]] = []

    def then(self, action: Callable[Told, None]) -> None:
        self._actions.append(action)

    def __call__(self, *args: Told.args, **kwargs: Told.kwargs) -> None:
        for action in self._actions:
            action(*args, **kwargs)
