"""The audience: all nodes of a run that take in one kind of message together (`routing.hearing`).

A frame is read into the tables of all its hearers by one call per layer. For whomever more must happen, it happens
node by node in the order in which they were told, each at its own instant, as if each had been told alone: no node's
table depends on another's, and nothing that a node does in answer can reach another within the same frame.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from thyme.model.ids import NodeId
from thyme.routing.hearing import Alarms, Ear, Hearing
from thyme.sim.crowd import Crowd
from thyme.sim.engine import Engine
from thyme.sim.radios.radio import Told
from thyme.sim.recorder import Tally
from thyme.wire.message import Message

Ears = Callable[[type[Message]], tuple[Ear, ...]]
_Left = tuple[int, int, int, float]
"""What is left to do: by which hearer, in which layer, what, and what was drawn for it."""


class Listener(Protocol):
    """What an audience has to know of a node's machine."""

    skew_s: float

    @property
    def ears(self) -> Ears | None:
        """None while the node is off."""

    @property
    def random(self) -> Random: ...


class _Layer:
    """One layer of all nodes."""

    def __init__(self, ear: Ear, nodes: int) -> None:
        self.take = ear.take
        self.draws = ear.draws
        self.most = ear.most
        self.desks: NDArray[np.int64] = np.zeros(nodes, np.int64)
        self.address: int = self.desks.ctypes.data
        self.acts: list[Any] = [None] * nodes

    def fits(self, ear: Ear) -> bool:
        return ear.take is self.take and ear.draws == self.draws and ear.most == self.most


class Audience:
    """Those who hear messages of one kind."""

    def __init__(self, kind: type[Message], engine: Engine, listeners: Sequence[Listener], hearing: Hearing) -> None:
        self._kind = kind
        self._engine = engine
        self._listeners = listeners
        self._hearing = hearing
        self._layers: list[_Layer] = []
        self._draw: list[Callable[[], float]] = []
        self.crowd = Crowd([listener.skew_s for listener in listeners])
        self._listen: Callable[..., int] = _nobody
        self._alone: set[int] = set()
        self._borrow: Callable[[int], Alarms] | None = None
        for node in range(len(listeners)):
            self.change(node)

    @property
    def together(self) -> bool:
        """Whether all who are on take in this kind in the same way."""
        return bool(self._layers) and not self._alone

    def change(self, node: int) -> None:
        """A node's life has begun or ended."""
        self._alone.discard(node)
        ask = self._listeners[node].ears
        ears = ask(self._kind) if ask else ()
        if ears and not self._layers:
            # Compiled code takes a while to load, and many approaches have no ears.
            from thyme.sim.listening import listen

            self._listen = listen
            self._layers = [_Layer(ear, len(self._listeners)) for ear in ears]
            self._draw = [listener.random.random for listener in self._listeners]
        fits = len(ears) == len(self._layers) and all(map(_Layer.fits, self._layers, ears))
        listens = bool(ears) and fits
        self.crowd.listens[node] = listens
        if ask and not listens:
            self._alone.add(node)
        for layer, ear in zip(self._layers, ears if fits else (), strict=False):
            layer.desks[node] = ear.desk
            layer.acts[node] = ear.act
            if ear.lend is not None and self._borrow is not None:
                ear.lend(self._borrow(node))

    @property
    def most_lent(self) -> int:
        """The most entries of a message that whoever borrows the alarms of a layer may write; 0 if none lends them."""
        return max((layer.most for layer in self._layers), default=0)

    def lend(self, borrow: Callable[[int], Alarms]) -> None:
        """From now on, layers that lend their alarms lend them to what `borrow` gives for each node."""
        self._borrow = borrow
        for node in range(len(self._listeners)):
            self.change(node)

    def desks(self) -> dict[Callable[..., int], NDArray[np.int64]]:
        """The desks of all nodes, by how a layer takes in frames."""
        return {layer.take: layer.desks for layer in self._layers}

    def hear(self, told: Told, message: Message, size_bytes: int) -> None:
        """Everybody who hears a frame takes it in."""
        engine, hearing, peer = self._engine, self._hearing, NodeId(told.peer)
        count = self._listen(
            hearing.address, self.crowd.address, told.among.address, told.begin, told.end, engine.now_s, size_bytes
        )
        left: list[_Left] = []
        for place, layer in enumerate(self._layers if count else ()):
            if layer.draws:
                draw = self._draw
                hearing.draw(array("d", [draw[node]() for node in hearing.hearers()]))
            if layer.take(hearing, layer.address, peer, message):
                left += [(i, place, what, drawn) for i, what, drawn in hearing.news()]
        if len(self._layers) > 1:
            left.sort()
        for i, place, what, drawn in left:
            node, engine.now_s = hearing.hearer(i)
            self._layers[place].acts[node](peer, message, what, drawn)
        engine.now_s = hearing.end_s

    def count(self, tally: Tally) -> None:
        """Add what was heard so far to a tally, once."""
        crowd = self.crowd
        for node in np.flatnonzero(crowd.frames).tolist():
            tally.add(node, int(crowd.frames[node]), int(crowd.bytes[node]))
        crowd.frames[:] = crowd.bytes[:] = 0


def _nobody(*_: object) -> int:
    return 0
