"""Joining: a cell's state is given to a node that joins it, page by page (Thyme FGCS §6.7).

Every item of a state has a number (`digests`), the same at all members. The joiner asks a member for what comes after a
number; the answer is a page, a few messages that the air can bear, in the order of the numbers. When all of a page is
there, the joiner asks for the next, which is all the acknowledgement there is. If some of it is lost, it asks again
from where it stopped, whichever member it finds, so nothing is to be remembered on the other side. A node that returns
says what it still holds, and gets only what differs.
"""

from __future__ import annotations

from collections.abc import Callable

from thyme.approaches.dcs.cell import Cell, Mode
from thyme.approaches.dcs.items import PAGE_MESSAGES, STATE_BYTES, merged
from thyme.approaches.dcs.learning import Learning
from thyme.host import Timer
from thyme.routing.cells.addresses import Arrival
from thyme.wire.cells import CellState, JoinCell, JoinedState

FROM_THE_FIRST = -1


class Joining:
    """One node's way into its cell, and what it gives to those who come after it."""

    def __init__(self, cell: Cell, learning: Learning, joined_cell: Callable[[bool], None]) -> None:
        """`joined_cell` is told when this node has the state, or has to do without: True if it found nobody."""
        self._cell = cell
        self._host = cell.host
        self._options = cell.options
        self._learning = learning
        self._joined_cell = joined_cell
        self._on_air_since_s = 0.0
        self._attempt = cell.host.random.getrandbits(40)
        """Numbers this node's questions. They must not repeat after a restart, as those of requests."""
        self._after = FROM_THE_FIRST
        self._held = b""
        self._received: set[int] = set()
        self._tries = 0
        self._timer: Timer | None = None
        cell.serve(JoinCell, self._give_page)
        cell.hear(JoinedState, self._on_page)

    def start(self) -> None:
        self._on_air_since_s = self._host.now()

    def begin(self) -> None:
        """Join the cell that this node is in."""
        self._attempt += 1
        self._after = FROM_THE_FIRST
        self._held = self._cell.holdings.digests.buckets() if self._options.repair else b""
        self._tries = 0
        if self._knows_its_neighbours():
            self._ask()
        else:
            self._timer = self._host.after(self._options.join_wait_s, self._ask)

    def stop(self) -> None:
        if self._timer:
            self._timer.cancel()

    def _give_page(self, arrival: Arrival, request: JoinCell) -> None:
        cell = self._cell
        if arrival.origin_cell != cell.id:
            return
        size_bytes = STATE_BYTES * PAGE_MESSAGES
        items, last, more = cell.holdings.page(request.after, request.held, size_bytes)
        states = merged(items, cell.host.codec.missing_bytes) or [CellState()]
        for i, state in enumerate(states):
            cell.answer(arrival, JoinedState(request.request, i, len(states), last, more, state))

    def _on_page(self, arrival: Arrival, answer: JoinedState) -> None:
        if self._cell.mode is not Mode.JOINING or answer.request != self._attempt:
            return
        self._received.add(answer.index)
        self._learning.take(arrival, answer.state)
        if len(self._received) < answer.messages:
            return
        self._tries = 0
        self._after = answer.last
        if answer.more:
            self._ask()
        else:
            self._end(alone=False)

    def _knows_its_neighbours(self) -> bool:
        """Whether this node has listened for long enough before it came here."""
        on_air_s = self._host.now() - self._on_air_since_s
        return self._options.walkers > 0 and on_air_s > 2.0 * self._options.join_wait_s

    def _ask(self) -> None:
        """Ask a member for the next page; after the last try, be alone (or make do with what came)."""
        self.stop()
        if self._cell.mode is not Mode.JOINING:
            return
        members = self._cell.others
        begun = self._after != FROM_THE_FIRST
        heard_enough = begun or self._tries > 0 or self._knows_its_neighbours()
        if self._tries >= self._options.join_tries or (not members and heard_enough):
            self._end(alone=not members)
            return
        self._tries += 1
        self._timer = self._host.after(self._options.page_s if begun else self._options.join_wait_s, self._ask)
        if members:
            self._received.clear()
            self._attempt += 1
            entry = self._host.random.choice(members)
            self._cell.send_to_member(entry, JoinCell(self._attempt, self._after, self._held))

    def _end(self, *, alone: bool) -> None:
        self.stop()
        self._joined_cell(alone)
