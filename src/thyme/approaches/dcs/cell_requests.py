"""Requests to cells and members, retried until they are answered.

`CellRequests`: a request to one or several cells, done when all of them have answered. `Shipment`: state sent to
another cell or node, a few messages at a time. `Confirming`: an insertion by a member of the cell that keeps it is
answered when another member holds it; otherwise the member could answer itself and fail before anything has left its
device. If the member asked does not answer, the next one is asked; a member that is alone does not wait.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

import msgspec

from thyme.approaches.dcs.cell import Cell
from thyme.approaches.dcs.items import PAGE_MESSAGES, merged
from thyme.approaches.interface import Done, Failure, Outcome
from thyme.model.ids import CellId, NodeId
from thyme.routing.cells.addresses import Arrival, Destination
from thyme.wire.cells import CellAnswer, CellState, Confirmed, SureState
from thyme.wire.message import Message


class CellRequests:
    """The unanswered requests of one node to cells."""

    def __init__(self, cell: Cell) -> None:
        self._cell = cell
        self._waiting: dict[int, dict[CellId, None]] = {}
        self._heard: dict[int, Callable[[CellAnswer], None]] = {}
        cell.hear(CellAnswer, self._on_answer)

    def begin(
        self,
        cells: Iterable[CellId],
        send: Callable[[int, list[CellId]], None],
        done: Done,
        heard: Callable[[CellAnswer], None] | None = None,
    ) -> None:
        """Call `send(number, cells)` now, and again for the cells that have not answered in time; `heard` is called
        with every answer. Without named cells, one answer from any node suffices."""
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
        """The same request to several cells; `message` receives its number."""

        def send(number: int, waiting: list[CellId]) -> None:
            if len(waiting) == 1:
                self._cell.router.send_to_cell(waiting[0], message(number))
            else:
                self._cell.router.send_to_many(map(Destination, waiting), message(number))

        self.begin(cells, send, done)

    def resolve(self, request: int) -> None:
        """A request was answered by a message other than `CellAnswer`."""
        self._cell.requests.resolve(request, Outcome())

    def _on_answer(self, arrival: Arrival, answer: CellAnswer) -> None:
        """A cell carried a request out, or refused it."""
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


class Shipment:
    """Items sent by `send`, one page of messages in flight at a time. `left` have not arrived; `done` is called once
    with whether all have. If one fails in all its tries, the rest is not tried. `takers` are the cells that confirmed
    some of it; they may differ from the addressed ones."""

    def __init__(
        self,
        cell: Cell,
        requests: CellRequests,
        items: Iterable[CellState],
        send: Callable[[Message], int],
        done: Callable[[bool], None],
    ) -> None:
        self._cell = cell
        self._requests = requests
        self._send = send
        self._done = done
        self._waiting = deque(merged(items, cell.host.codec.missing_bytes))
        self.given_up = False
        self.takers: set[CellId] = set()
        self.left = len(self._waiting)

    def begin(self) -> None:
        for _ in range(min(self.left, PAGE_MESSAGES)):
            self._send_next()

    def _send_next(self) -> None:
        state = self._waiting.popleft()

        def try_once(number: int, cells: list[CellId]) -> None:
            self._send(msgspec.structs.replace(state, request=number))

        self._requests.begin((), try_once, self._arrived, self._taken)

    def _taken(self, answer: CellAnswer) -> None:
        self.takers.add(answer.cell)

    def _arrived(self, outcome: Outcome) -> None:
        if self.given_up:
            return
        if not outcome.ok:
            self.given_up = True
            self._done(False)
            return
        self.left -= 1
        if not self.left:
            self._done(True)
        elif self._waiting:
            self._send_next()


MANY = 64
"""Confirmations in one message."""


class Confirming:
    """What one node sent that needs confirmation, and what it has to confirm."""

    def __init__(self, cell: Cell) -> None:
        self._cell = cell
        self._owed: dict[tuple[NodeId, CellId], list[int]] = {}
        cell.hear(Confirmed, self._on_confirmed)

    def tell(self, state: CellState, done: Done, place: CellId | None = None) -> None:
        """Send to all other members of a cell; `done` is called when one of them has it, or there is none."""
        where = self._cell.id if place is None else place
        if not self._cell.options.confirmed or not self._cell.beacons.nodes_in(where):
            self._cell.tell_surely(state, place)
            done(Outcome())
            return
        tries: list[NodeId] = []

        def send(number: int) -> None:
            members = self._cell.beacons.nodes_in(where)
            if not members:
                self._cell.requests.resolve(number, Outcome())
                return
            chosen = members[(number + len(tries)) % len(members)]
            if not tries:
                self._cell.tell_surely(state, place, but=chosen)
            tries.append(chosen)
            self._cell.router.send_to_node(chosen, where, SureState(number, state))

        def ended(outcome: Outcome) -> None:
            """Beyond the limit of pending requests, it is sent without waiting."""
            done(outcome if outcome.failure is Failure.TIMEOUT else Outcome())

        self._cell.requests.begin(send, ended)

    def confirm(self, arrival: Arrival, number: int) -> None:
        """What another node asked to confirm is stored here."""
        if not self._owed:
            self._cell.host.after(0.0, self._tell_owed)
        self._owed.setdefault((arrival.origin, arrival.origin_cell), []).append(number)

    def _tell_owed(self) -> None:
        owed, self._owed = self._owed, {}
        for (node, cell), numbers in owed.items():
            for first in range(0, len(numbers), MANY):
                some = tuple(numbers[first : first + MANY])
                self._cell.router.send_to_node(node, cell, Confirmed(some))

    def _on_confirmed(self, arrival: Arrival, message: Confirmed) -> None:
        for number in message.requests:
            self._cell.requests.resolve(number, Outcome())
