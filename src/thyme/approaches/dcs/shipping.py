"""Shipping: state on its way to another cell or node, a few messages at a time, each until it is acknowledged."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from thyme.approaches.dcs.cell import Cell
from thyme.approaches.dcs.items import joined
from thyme.approaches.interface import Outcome
from thyme.model.ids import NodeId
from thyme.wire.cells import CellState
from thyme.wire.message import Message


def ship(
    cell: Cell,
    items: Iterable[CellState],
    send: Callable[[Message], int],
    done: Callable[[bool], None],
    *,
    keepers: tuple[NodeId, ...] = (),
    at_once: bool = False,
) -> bool:
    """Send items by `send`, as many messages as make a page under way at once, or all if there is no time for that.
    `done` is told whether all have arrived. False if there is nothing to send."""
    states = [msgspec.structs.replace(s, keepers=keepers) for s in joined(items, cell.options.state_bytes)]
    left, waiting, lost = iter(states), len(states), False

    def send_next() -> None:
        state = next(left, None)
        if state is not None:
            cell.requests.begin(lambda number: _send(state, number), arrived)

    def _send(state: CellState, number: int) -> None:
        send(msgspec.structs.replace(state, request=number))

    def arrived(outcome: Outcome) -> None:
        nonlocal waiting, lost
        if lost:
            return
        waiting -= 1
        lost = not outcome.ok
        if waiting and not lost:
            send_next()
        else:
            done(not lost)

    for _ in range(len(states) if at_once else cell.options.page_messages):
        send_next()
    return bool(states)
