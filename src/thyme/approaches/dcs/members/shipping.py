"""Shipping: state on its way to another cell or node, a few messages at a time, each until it is acknowledged."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

import msgspec

from thyme.approaches.dcs.cell import Cell
from thyme.approaches.dcs.cell_requests import CellRequests
from thyme.approaches.dcs.kept.items import joined
from thyme.approaches.interface import Outcome
from thyme.model.ids import CellId, NodeId
from thyme.wire.cells import CellAnswer, CellState
from thyme.wire.message import Message


class Shipment:
    """Items sent by `send`; as many messages as make a page are under way at once. `left` have not arrived; `done` is
    told once whether all have. If one does not in all its tries, nobody is there for the rest either. `takers` are the
    cells that said to have some of it, which may be others than it was sent to."""

    def __init__(
        self,
        cell: Cell,
        requests: CellRequests,
        items: Iterable[CellState],
        send: Callable[[Message], int],
        done: Callable[[bool], None],
        keepers: tuple[NodeId, ...] = (),
    ) -> None:
        self._cell = cell
        self._requests = requests
        self._send = send
        self._done = done
        states = joined(items, cell.options.state_bytes, cell.host.codec.missing_bytes)
        self._waiting = deque(msgspec.structs.replace(state, keepers=keepers) for state in states)
        self.given_up = False
        self.takers: set[CellId] = set()
        self.left = len(self._waiting)

    def begin(self) -> None:
        for _ in range(min(self.left, self._cell.options.page_messages)):
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
