"""Reception of one message type by all nodes of a run (`routing.broadcasts`).

A broadcast is handled in the tables of all its receivers by one call per layer. Nodes that have more to do are then
called one by one, in the order and at the times of reception, as if each had received the frame alone: no node's table
depends on another's, and nothing that a node does can reach another within the same frame.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Protocol

import numpy as np

from thyme.model.ids import NodeId
from thyme.routing.broadcasts import BroadcastHandler, NodeTable, NodeTables, Receivers
from thyme.sim.engine import Engine
from thyme.sim.radios.radio import RadioReport
from thyme.sim.reception_kernel import Counters
from thyme.sim.recorder import TrafficTally
from thyme.wire.message import Message

Handlers = Callable[[type[Message]], tuple[BroadcastHandler, ...]]
_Rest = tuple[int, int, int, float]
"""What remains to be done: by which receiver, in which layer, the result there, and the random number drawn."""


class ReceivingNode(Protocol):
    """A node's state that reception needs."""

    skew_s: float

    @property
    def broadcast_handlers(self) -> Handlers | None:
        """None while the node is off."""

    @property
    def random(self) -> Random: ...


class _Layer:
    """One layer of all nodes."""

    def __init__(self, table: type[NodeTable], nodes: int) -> None:
        self.table = table
        self.tables = NodeTables(nodes)
        self.handles: list[Any] = [None] * nodes

    def fits(self, handler: BroadcastHandler) -> bool:
        return type(handler.table) is self.table


class BroadcastReception:
    """How all nodes receive messages of one type."""

    def __init__(
        self, kind: type[Message], engine: Engine, machines: Sequence[ReceivingNode], receivers: Receivers
    ) -> None:
        self._kind = kind
        self._engine = engine
        self._machines = machines
        self._receivers = receivers
        self._layers: list[_Layer] = []
        self._draw: list[Callable[[], float]] = []
        self._counters = Counters([machine.skew_s for machine in machines])
        self._find_receivers: Callable[..., int] = _nobody
        self._alone: set[int] = set()
        for node in range(len(machines)):
            self.change(node)

    @property
    def together(self) -> bool:
        """Whether all nodes that are on handle this type in the same way."""
        return bool(self._layers) and not self._alone

    def change(self, node: int) -> None:
        """A node was switched on or off."""
        self._alone.discard(node)
        ask = self._machines[node].broadcast_handlers
        handlers = ask(self._kind) if ask else ()
        if handlers and not self._layers:
            # Compiled code takes a while to load, and many approaches have no such handlers.
            from thyme.sim.reception_kernel import find_receivers

            self._find_receivers = find_receivers
            self._layers = [_Layer(type(handler.table), len(self._machines)) for handler in handlers]
            self._draw = [machine.random.random for machine in self._machines]
        fits = len(handlers) == len(self._layers) and all(map(_Layer.fits, self._layers, handlers))
        receives = bool(handlers) and fits
        self._counters.receives[node] = receives
        if ask and not receives:
            self._alone.add(node)
        for layer, handler in zip(self._layers, handlers if fits else (), strict=False):
            layer.tables.put(node, handler.table)
            layer.handles[node] = handler.handle

    def receive(self, report: RadioReport, message: Message, size_bytes: int) -> None:
        """All nodes in range receive a frame."""
        engine, receivers, peer = self._engine, self._receivers, NodeId(report.peer)
        count = self._find_receivers(
            receivers.address,
            self._counters.address,
            report.among.address,
            report.begin,
            report.end,
            engine.now_s,
            size_bytes,
        )
        rest: list[_Rest] = []
        for place, layer in enumerate(self._layers if count else ()):
            if layer.table.draws:
                draw = self._draw
                receivers.draw(array("d", [draw[node]() for node in receivers.numbers()]))
            if layer.table.receive_all(receivers, layer.tables, peer, message):
                rest += [(i, place, result, drawn) for i, result, drawn in receivers.busy()]
        if len(self._layers) > 1:
            rest.sort()
        for i, place, result, drawn in rest:
            node, engine.now_s = receivers.receiver(i)
            self._layers[place].handles[node](peer, message, result, drawn)
        engine.now_s = receivers.end_s

    def count(self, tally: TrafficTally) -> None:
        """Add the receptions counted so far to a tally and reset them."""
        counters = self._counters
        for node in np.flatnonzero(counters.frames).tolist():
            tally.add(node, int(counters.frames[node]), int(counters.bytes[node]))
        counters.frames[:] = counters.bytes[:] = 0


def _nobody(*_: object) -> int:
    return 0
