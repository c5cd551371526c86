"""Dynamic cells: keys move as cells empty and fill (Thyme FGCS §6.6.2, which the papers describe but do not implement).

The proxy of an empty cell keeps its keys: the populated cell closest to it, where routing ends after a tour around the
void. A member that leaves its cell empty sends the keys to the proxy. A node alone in a cell asks the proxy for them,
and for those of other empty cells that it is now closer to. A proxy sends a message towards the empty cell from time to
time (half as often if nothing has changed nearby) to check whether it is still the proxy; when two clusters of cells
have met, another cell answers, and the keys go there. Keys are deleted only after another cell has confirmed them; a
node that by then belongs to the receiving cell keeps them. If two cells send each other the same keys at the same time,
both confirm and both keep them; otherwise they would be lost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from thyme.approaches.dcs.cell import Cell
from thyme.approaches.dcs.cell_requests import CellRequests, Shipment
from thyme.approaches.dcs.holdings import homes_in
from thyme.approaches.interface import ignore
from thyme.model.ids import CellId
from thyme.routing.cells.addresses import Arrival, Form
from thyme.wire.cells import CellAnswer, CellState, KeptHere, Released, TakeBack, WhoKeeps
from thyme.wire.message import Message

ASK_AGAIN_S = 5.0
"""When a proxy repeats its question about keys that a cell that was just populated may keep."""
CALM_GROWTH = 2.0
"""A proxy's check interval is multiplied by this if nothing has changed nearby."""


class Proxying:
    """Moves keys between cells, for one member."""

    def __init__(self, cell: Cell, requests: CellRequests) -> None:
        self._cell = cell
        self._requests = requests
        self._options = cell.options
        self._moving: set[CellId] = set()
        self._taken: set[CellId] = set()
        """Home cells being handed over for which this node has received something new meanwhile."""
        self._changed = True
        """Whether cells nearby have filled or emptied, or keys have moved, since this proxy's last check."""
        self._leaving: list[Shipment] = []
        if cell.options.dynamic_cells:
            cell.settled.then(self._on_settled)
            cell.leaving.then(self._on_leaving)
            cell.populated.then(self._on_populated)
        cell.taken.then(self._on_taken)
        cell.serve(TakeBack, self._on_take_back)
        cell.serve(Released, self._on_released)
        cell.serve(WhoKeeps, self._on_who_keeps)
        cell.serve(KeptHere, self._on_kept_elsewhere)

    def start(self) -> None:
        if self._options.dynamic_cells:
            self._cell.host.after(self._jittered_s(), self._probe)

    def _on_settled(self, alone: bool) -> None:
        """This node is a member; if it is the first of its cell, the cell's keys are with a proxy."""
        self._changed = True
        if alone and self._cell.beacons.populated():
            cell = self._cell.id

            def ask(number: int) -> None:
                self._cell.router.send_to_proxy(cell, TakeBack(number, cell))

            self._cell.requests.begin(ask, ignore)
        for home in self._stood_in_for():
            self._ask_who_keeps(home)

    @property
    def handing_over(self) -> int:
        """Unconfirmed messages of a leaving member that are still being retried."""
        return sum(shipment.left for shipment in self._leaving if not shipment.given_up)

    @property
    def untaken(self) -> int:
        """Messages of the last departure that were never confirmed."""
        return sum(shipment.left for shipment in self._leaving if shipment.given_up)

    def _on_leaving(self, held_by_others: bool) -> None:
        """Data that no other node is known to hold goes to another member, or to the proxy if this node is the last.
        What is confirmed is deleted here; the node carries the rest along."""
        self._leaving.clear()
        cell, others = self._cell, self._cell.others
        if held_by_others or (others and not self._options.walkers):
            return
        for home in cell.holdings.homes():
            to_other = partial(cell.router.send_to_node, others[0], cell.id) if others else None
            shipment = self._hand_over(home, to_other or partial(cell.router.send_to_proxy, cell.id))
            if shipment is not None:
                self._leaving.append(shipment)

    def _on_populated(self, cell: CellId) -> None:
        """A nearby cell became populated: it may be closer to the empty cells that this one is proxy for."""
        self._changed = True
        if self._cell.member and self._cell.leads:
            homes = [home for home in self._stood_in_for() if self._is_closer(cell, home)]
            for home in homes:
                self._ask_who_keeps(home)
            if homes:
                self._cell.host.after(ASK_AGAIN_S, partial(self._ask_again, homes))

    def _ask_again(self, homes: Sequence[CellId]) -> None:
        """Nobody answered, or the answer was lost: links to a cell that was just populated are new."""
        if self._cell.member:
            for home in self._stood_in_for():
                if home in homes:
                    self._ask_who_keeps(home)

    def _on_take_back(self, arrival: Arrival, message: TakeBack) -> None:
        """A cell has filled: send it the keys that belong there or that it is closer to."""
        cell = message.cell
        self._cell.answer(arrival, CellAnswer(message.request, cell))
        self._cell.stand_in(cell)
        for home in self._cell.holdings.homes():
            if home == cell or (home != self._cell.id and self._is_closer(cell, home)):
                self._move(home)

    def _on_taken(self, state: CellState) -> None:
        homes = homes_in(state)
        self._taken |= homes & self._moving
        self._changed = self._changed or not homes <= {self._cell.id}

    def _on_released(self, arrival: Arrival, message: Released) -> None:
        """From another member, sent to each or to all."""
        member = arrival.form is Form.BROADCAST or arrival.origin in self._cell.others
        if not member or message.home == self._cell.id:
            return
        if self._cell.holdings.summary(message.home) == message.summary:
            self._cell.release([message.home])
        else:
            self._move(message.home)

    def _on_who_keeps(self, arrival: Arrival, message: WhoKeeps) -> None:
        if self._cell.id != message.asker:
            self._cell.answer(arrival, KeptHere(message.home, self._cell.id))

    def _on_kept_elsewhere(self, arrival: Arrival, message: KeptHere) -> None:
        self._changed = True
        if message.cell != self._cell.id:
            self._move(message.home)

    def _probe(self) -> None:
        self._cell.host.after(self._jittered_s() * (1.0 if self._changed else CALM_GROWTH), self._probe)
        self._changed = False
        if self._cell.member and self._cell.leads:
            for home in self._stood_in_for():
                self._ask_who_keeps(home)

    def _stood_in_for(self) -> list[CellId]:
        """The empty cells whose keys are kept here."""
        return [home for home in self._cell.holdings.homes() if home != self._cell.id]

    def _is_closer(self, cell: CellId, home: CellId) -> bool:
        """Whether another cell is closer to a home than this one."""
        return self._cell.grid.rank(cell, home) < self._cell.grid.rank(self._cell.id, home)

    def _ask_who_keeps(self, home: CellId) -> None:
        self._cell.router.send_to_cell(home, WhoKeeps(home, self._cell.id))

    def _move(self, home: CellId) -> None:
        """Send the keys of a home cell to their current place, and delete them here when confirmed."""
        if home != self._cell.id:
            self._hand_over(home, partial(self._cell.router.send_to_cell, home))

    def _hand_over(self, home: CellId, send: Callable[[Message], int]) -> Shipment | None:
        """Send the keys of a home cell, unless that is under way; repeat it if there are new ones afterwards."""
        if home in self._moving:
            return None
        given = self._cell.holdings.summary(home)

        def done(arrived: bool) -> None:
            self._moving.discard(home)
            here = {self._cell.id} if self._cell.member else set()
            promised = home in self._taken
            self._taken.discard(home)
            if not arrived or promised or not here.isdisjoint({home, *shipment.takers}):
                return
            if self._cell.holdings.summary(home) != given:
                rest = self._hand_over(home, send)
                if rest is not None and shipment in self._leaving:
                    self._leaving.append(rest)
                return
            self._cell.release([home])
            if here:
                self._cell.router.tell_each_in_cell(Released(home, given), most=self._options.sure_members)

        shipment = Shipment(self._cell, self._requests, self._cell.holdings.state([home]), send, done)
        if shipment.left:
            self._moving.add(home)
            shipment.begin()
        return shipment

    def _jittered_s(self) -> float:
        return self._options.probe_s * self._cell.host.random.uniform(0.5, 1.5)
