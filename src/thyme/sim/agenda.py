"""The agenda: what is due when, in the order of time and, at one instant, of asking.

Of ten thousand nodes some hundred thousand timers wait, most of them for seconds. One heap of all of them is looked
through from its top to its bottom for each that is due, all over memory. So only what is due soon is kept in order, a
page of it; what is due later is put down on the page of its time as it comes, and sorted when that page is turned to.
"""

from __future__ import annotations

from bisect import insort
from heapq import heappop, heappush
from math import inf
from typing import Generic, Protocol, TypeVar

PAGES_PER_S = 20.0
FAR_S = 1e9
"""What is due still later, or never, is on one last page."""


class Cancellable(Protocol):
    @property
    def action(self) -> object:
        """None if nothing is to be done any more."""


Timer = TypeVar("Timer", bound=Cancellable)


class Agenda(Generic[Timer]):
    """Timers, each with its time and a number that grows."""

    def __init__(self) -> None:
        self._page: list[tuple[float, int, Timer]] = []
        """The one that is open, in order …"""
        self._at = 0
        """… and the next of it."""
        self._open = -1
        self._later: dict[int, list[tuple[float, int, Timer]]] = {}
        self._numbers: list[int] = []
        """Of all later pages, as a heap."""

    def put(self, time_s: float, order: int, timer: Timer) -> None:
        number = int((time_s if time_s < FAR_S else FAR_S) * PAGES_PER_S)
        if number <= self._open:
            insort(self._page, (time_s, order, timer), self._at)
            return
        page = self._later.get(number)
        if page is None:
            page = self._later[number] = []
            heappush(self._numbers, number)
        page.append((time_s, order, timer))

    def next(self) -> tuple[float, int]:
        """When the next is due, and its number; infinity if none is left."""
        while True:
            page, at = self._page, self._at
            while at < len(page):
                time_s, order, timer = page[at]
                if timer.action is not None:
                    self._at = at
                    return time_s, order
                at += 1
            self._at = at
            if not self._numbers:
                return inf, 0
            self._turn()

    def take(self) -> tuple[float, Timer]:
        """The next, which may be one that was cancelled; there must be one."""
        if self._at == len(self._page):
            self.next()
        time_s, _, timer = self._page[self._at]
        self._at += 1
        return time_s, timer

    def _turn(self) -> None:
        self._open = heappop(self._numbers)
        self._page = [entry for entry in self._later.pop(self._open) if entry[2].action is not None]
        self._page.sort()
        self._at = 0
