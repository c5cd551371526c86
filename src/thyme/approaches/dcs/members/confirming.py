"""Confirming: an insertion by a member of the very cell that keeps it is answered when another member holds it.

Whoever asks from elsewhere has its answer behind what the cell's members were told (`Cell.tell_surely`). A member that
asks itself would have it at once, and could be gone, with all it was told, before anything has left its device. So one
of the others says that it has what it was told, which a device does when its disk has it; if it keeps silent, the next
one is asked. Where nobody else is, nobody is waited for. What was heard in one instant is confirmed by one message.
"""

from __future__ import annotations

from collections.abc import Sequence

from thyme.approaches.dcs.cell import Cell
from thyme.approaches.interface import Done, Failure, Outcome
from thyme.model.ids import CellId, NodeId
from thyme.routing.cells.addresses import Arrival
from thyme.wire.cells import CellState, Confirmed, SureState

MANY = 64
"""Confirmations in one message."""


class Confirming:
    """What one node told and is to be confirmed, and what it has to confirm."""

    def __init__(self, cell: Cell) -> None:
        self._cell = cell
        self._owed: dict[tuple[NodeId, CellId], list[int]] = {}
        cell.hear(Confirmed, self._on_confirmed)

    def tell(self, state: CellState, done: Done, place: CellId | None = None) -> None:
        """To all other members of a cell; `done` when one of those that are to keep it has it, or there is none."""
        where = self._cell.id if place is None else place
        if not self._cell.options.confirmed or not self._keepers(state, where):
            self._cell.tell_surely(state, place)
            done(Outcome())
            return
        tries: list[NodeId] = []

        def send(number: int) -> None:
            keepers = self._keepers(state, where)
            if not keepers:
                self._cell.requests.resolve(number, Outcome())
                return
            chosen = keepers[(number + len(tries)) % len(keepers)]
            if not tries:
                self._cell.tell_surely(state, place, but=chosen)
            tries.append(chosen)
            self._cell.router.send_to_node(chosen, where, SureState(number, state))

        def ended(outcome: Outcome) -> None:
            """Beyond the requests that may be awaited, it was told all the same."""
            done(outcome if outcome.failure is Failure.TIMEOUT else Outcome())

        self._cell.requests.begin(send, ended)

    def _keepers(self, state: CellState, cell: CellId) -> Sequence[NodeId]:
        members = self._cell.beacons.nodes_in(cell)
        return [node for node in members if node in state.keepers] if state.keepers else members

    def confirm(self, arrival: Arrival, number: int) -> None:
        """What another asked to be confirmed is here."""
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
