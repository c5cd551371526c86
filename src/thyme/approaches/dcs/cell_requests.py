"""Requests to cells: one request may go to several, and is done when all of them have answered.

An answer also tells of hot tags (`spreading`), so that insertions under them go straight to their cell from then on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from thyme.approaches.dcs.cell import Cell
from thyme.approaches.interface import Done, Failure, Outcome
from thyme.model.bounded import Bounded
from thyme.model.ids import CellId
from thyme.routing.cells.addresses import Arrival, Destination
from thyme.wire.cells import CellAnswer
from thyme.wire.message import Message


class CellRequests:
    """The requests of one node that await answers of cells."""

    def __init__(self, cell: Cell) -> None:
        self._cell = cell
        self._waiting: dict[int, dict[CellId, None]] = {}
        self._heard: dict[int, Callable[[CellAnswer], None]] = {}
        self._hot: Bounded[str, int] = Bounded(cell.options.spread_memory)
        cell.hear(CellAnswer, self._on_answer)

    @property
    def hot(self) -> Mapping[str, int]:
        """The tags that are known to be spread, and over how many cells."""
        return self._hot

    def begin(
        self,
        cells: Iterable[CellId],
        send: Callable[[int, list[CellId]], None],
        done: Done,
        heard: Callable[[CellAnswer], None] | None = None,
    ) -> None:
        """Call `send(number, cells)` now, and again for those cells that have not answered in time; `heard` is told of
        every answer. Where no cells are named, one answer is awaited, whoever gives it."""
        waiting = dict.fromkeys(cells)
        numbers: list[int] = []

        def try_once(number: int) -> None:
            if not numbers:
                numbers.append(number)
                self._waiting[number] = waiting
                if heard is not None:
                    self._heard[number] = heard
            send(number, list(waiting))

        def ended(outcome: Outcome) -> None:
            self._waiting.pop(numbers[0], None)
            self._heard.pop(numbers[0], None)
            done(outcome)

        self._cell.requests.begin(try_once, ended)

    def ask(self, cells: Iterable[CellId], message: Callable[[int], Message], done: Done) -> None:
        """The same request to several cells; `message` is given its number."""

        def send(number: int, waiting: list[CellId]) -> None:
            if len(waiting) == 1:
                self._cell.router.send_to_cell(waiting[0], message(number))
            else:
                self._cell.router.send_to_many(map(Destination, waiting), message(number))

        self.begin(cells, send, done)

    def _on_answer(self, arrival: Arrival, answer: CellAnswer) -> None:
        """A cell has carried a request out, or refused it."""
        for tag, cells in answer.spread:
            self._hot[tag] = cells
        if answer.refusal:
            self._cell.requests.resolve(answer.request, Outcome(Failure.REFUSED))
            return
        if answer.request in self._heard:
            self._heard[answer.request](answer)
        waiting = self._waiting.get(answer.request)
        if waiting is not None:
            waiting.pop(answer.cell, None)
            if waiting:
                return
        self._cell.requests.resolve(answer.request, Outcome())
