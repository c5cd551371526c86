"""Requests to cells: one request may go to several, and is done when all of them have answered."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from thyme.approaches.interface import Done, Failure, Outcome
from thyme.approaches.requests import Requests
from thyme.model.ids import CellId


class CellRequests:
    """The requests of one node that await answers of cells."""

    def __init__(self, requests: Requests) -> None:
        self._requests = requests
        self._waiting: dict[int, dict[CellId, None]] = {}

    def begin(self, cells: Iterable[CellId], send: Callable[[int, list[CellId]], None], done: Done) -> None:
        """Call `send(number, cells)` now, and again for those cells that have not answered in time."""
        waiting = dict.fromkeys(cells)
        numbers: list[int] = []

        def try_once(number: int) -> None:
            if not numbers:
                numbers.append(number)
                self._waiting[number] = waiting
            send(number, list(waiting))

        def ended(outcome: Outcome) -> None:
            self._waiting.pop(numbers[0], None)
            done(outcome)

        self._requests.begin(try_once, ended)

    def answered(self, number: int, cell: CellId, refusal: str) -> None:
        """A cell has carried a request out, or refused it."""
        if refusal:
            self._requests.resolve(number, Outcome(Failure.REFUSED))
            return
        waiting = self._waiting.get(number)
        if waiting is not None:
            waiting.pop(cell, None)
            if waiting:
                return
        self._requests.resolve(number, Outcome())
