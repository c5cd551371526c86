"""Dynamic cells: keys follow as cells empty and fill (Thyme FGCS §6.6.2, which the papers describe and leave undone).

The keys of an empty cell are kept by its proxy: the populated cell closest to it, where routing ends after a tour
around the void. A member that leaves its cell empty gives the keys to the proxy. A node that finds itself alone in a
cell asks the proxy for them, and for those of other empty cells that it is now closer to. A proxy asks from time to
time, by a message sent towards the empty cell, whether it is still the proxy; when two clusters of cells have met,
the answer comes from another cell, and the keys go there. Keys are forgotten here only when the other cell has said
that it has them.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from thyme.approaches.dcs.holdings import Holdings, joined
from thyme.approaches.dcs.options import CellStorageOptions
from thyme.approaches.interface import Outcome
from thyme.approaches.requests import Requests
from thyme.host import Host
from thyme.model.ids import CellId
from thyme.routing.cells.addresses import Arrival, Form
from thyme.routing.cells.beacons import Beacons
from thyme.routing.cells.geographic import GeographicRouter
from thyme.routing.cells.grid import Grid
from thyme.wire.cells import CellAnswer, CellState, KeptHere, Released, TakeBack, WhoKeeps
from thyme.wire.message import Message


class Proxying:
    """A member's part in moving keys between cells."""

    def __init__(
        self,
        host: Host,
        grid: Grid,
        router: GeographicRouter,
        beacons: Beacons,
        requests: Requests,
        options: CellStorageOptions,
        holdings: Callable[[], Holdings | None],
        cell: Callable[[], CellId],
    ) -> None:
        self._host = host
        self._grid = grid
        self._router = router
        self._beacons = beacons
        self._requests = requests
        self._options = options
        self._holdings = holdings
        self._cell = cell
        self._moving: set[CellId] = set()

    def start(self) -> None:
        if self._options.dynamic_cells:
            self._host.after(self._jittered(), self._probe)

    def settled(self, alone: bool) -> None:
        """This node is a member; if it is the first of its cell, the cell's keys are with a proxy."""
        if alone and self._options.dynamic_cells and self._beacons.populated():
            cell = self._cell()

            def ask(number: int) -> None:
                self._router.send_to_proxy(cell, TakeBack(number, cell))

            self._requests.begin(ask, _ignore)

    def leaving(self, cell: CellId) -> None:
        """This node leaves the cell; if it was the last, everything goes to the proxy."""
        holdings = self._holdings()
        if holdings is None or not self._options.dynamic_cells or self._beacons.population(cell):
            return
        for state in joined(holdings.state(), self._options.state_bytes):
            self._send_state(state, lambda message: self._router.send_to_proxy(cell, message), _ignore)

    def populated(self, cell: CellId) -> None:
        """A cell around has become populated: it may be closer to the empty cells that this one stands in for."""
        holdings = self._holdings()
        if holdings is None or not self._options.dynamic_cells or not self._leads():
            return
        here = self._cell()
        closer = [h for h in holdings.homes() if h != here and self._grid.rank(cell, h) < self._grid.rank(here, h)]
        for home in closer:
            self._ask_who_keeps(home)

    def receive(self, arrival: Arrival) -> bool:
        holdings = self._holdings()
        match arrival.message:
            case TakeBack(request, cell):
                if holdings:
                    self._router.send_to_node(arrival.origin, arrival.origin_cell, CellAnswer(request, cell))
                    self._give_back(holdings, cell)
            case Released(homes):
                if holdings and arrival.form is Form.BROADCAST:
                    holdings.release(home for home in homes if home != self._cell())
            case WhoKeeps(home, asker):
                if holdings and self._cell() != asker:
                    answer = KeptHere(home, self._cell())
                    self._router.send_to_node(arrival.origin, arrival.origin_cell, answer)
            case KeptHere(home, cell):
                if holdings and cell != self._cell():
                    self._move(holdings, home)
            case _:
                return False
        return True

    def _probe(self) -> None:
        self._host.after(self._jittered(), self._probe)
        holdings = self._holdings()
        if holdings is None or not self._leads():
            return
        for home in holdings.homes():
            if home != self._cell():
                self._ask_who_keeps(home)

    def _ask_who_keeps(self, home: CellId) -> None:
        self._router.send_to_cell(home, WhoKeeps(home, self._cell()))

    def _leads(self) -> bool:
        """Whether this node speaks for its cell: the lowest number of those heard."""
        return all(self._host.node < member.node for member in self._beacons.in_cell(self._cell()))

    def _give_back(self, holdings: Holdings, cell: CellId) -> None:
        """A cell has filled: what belongs there, or is closer to it than to this one, goes there."""
        here = self._cell()
        for home in holdings.homes():
            if home == cell or (home != here and self._grid.rank(cell, home) < self._grid.rank(here, home)):
                self._move(holdings, home)

    def _move(self, holdings: Holdings, home: CellId) -> None:
        """Send what is kept for a home to where it belongs now, and forget it when it is there."""
        if home in self._moving or home == self._cell():
            return
        states = joined(holdings.state([home]), self._options.state_bytes)
        self._moving.add(home)
        waiting = len(states)

        def arrived(outcome: Outcome) -> None:
            nonlocal waiting
            waiting -= 1 if outcome.ok else len(states) + 1
            if waiting > 0:
                return
            self._moving.discard(home)
            current = self._holdings()
            if waiting == 0 and current is not None and home != self._cell():
                current.release([home])
                self._router.broadcast_in_cell(Released((home,)))

        for state in states:
            self._send_state(state, lambda message: self._router.send_to_cell(home, message), arrived)
        if not states:
            self._moving.discard(home)

    def _send_state(self, state: CellState, send: Callable[[Message], int], done: Callable[[Outcome], None]) -> None:
        def try_once(number: int) -> None:
            send(msgspec.structs.replace(state, request=number))

        self._requests.begin(try_once, done)

    def _jittered(self) -> float:
        return self._options.probe_s * self._host.random.uniform(0.5, 1.5)


def _ignore(outcome: Outcome) -> None:
    """Nobody waits for this: it is tried as often as other requests, and the next probe finds what is left."""
