"""The audience: all nodes of a run that take in one kind of message together (`routing.hearing`).

A frame is read into the tables of all its hearers by one call per layer. For whomever more must happen, it happens
node by node in the order in which they were told, each at its own instant, as if each had been told alone: no node's
table depends on another's, and nothing that a node does in answer can reach another within the same frame.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from thyme.model.ids import NodeId
from thyme.routing.hearing import Ear, Hearing
from thyme.sim.engine import Engine
from thyme.sim.radios.radio import Told
from thyme.sim.recorder import Tally, add
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
        self.desks: NDArray[np.int64] = np.zeros(nodes, np.int64)
        self.address: int = self.desks.ctypes.data
        self.acts: list[Any] = [None] * nodes

    def fits(self, ear: Ear) -> bool:
        return ear.take is self.take and ear.draws == self.draws


class Audience:
    """Those who hear messages of one kind."""

    def __init__(self, kind: type[Message], engine: Engine, listeners: Sequence[Listener], hearing: Hearing) -> None:
        self._kind = kind
        self._engine = engine
        self._listeners = listeners
        self._hearing = hearing
        self._layers: list[_Layer] = []
        self._draw: list[Callable[[], float]] = []
        self._skew_s = np.array([listener.skew_s for listener in listeners])
        self._skewed = bool(self._skew_s.any())
        self._listens = np.zeros(len(listeners), bool)
        self._all_listen = False
        self._alone: set[int] = set()
        self._frames: NDArray[np.int64] = np.zeros(len(listeners), np.int64)
        self._bytes: NDArray[np.int64] = np.zeros(len(listeners), np.int64)
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
            self._layers = [_Layer(ear, len(self._listeners)) for ear in ears]
            self._draw = [listener.random.random for listener in self._listeners]
        fits = len(ears) == len(self._layers) and all(map(_Layer.fits, self._layers, ears))
        self._listens[node] = bool(ears) and fits
        self._all_listen = bool(self._listens.all())
        if ask and not self._listens[node]:
            self._alone.add(node)
        for layer, ear in zip(self._layers, ears if fits else (), strict=False):
            layer.desks[node] = ear.desk
            layer.acts[node] = ear.act

    def hear(self, told: Told, message: Message, size_bytes: int) -> None:
        """Everybody who hears a frame takes it in."""
        engine, hearing = self._engine, self._hearing
        nodes, now_s = told.nodes, np.maximum(np.maximum.accumulate(told.at_s), engine.now_s)
        end_s = float(now_s[-1])
        if not self._all_listen:
            listens = self._listens[nodes]
            nodes, now_s = nodes[listens], now_s[listens]
        hearing.count = count = len(nodes)
        hearing.nodes[:count] = nodes
        hearing.now_s[:count] = now_s + self._skew_s[nodes] if self._skewed else now_s
        self._frames[nodes] += 1
        self._bytes[nodes] += size_bytes
        left: list[_Left] = []
        for place, layer in enumerate(self._layers):
            if layer.draws:
                hearing.draws[:count] = [self._draw[node]() for node in nodes.tolist()]
            if layer.take(hearing, layer.address, NodeId(told.peer), message):
                for i in hearing.told[:count].nonzero()[0].tolist():
                    left.append((i, place, int(hearing.told[i]), float(hearing.draws[i])))
        if len(self._layers) > 1:
            left.sort()
        for i, place, what, draw in left:
            engine.now_s = float(now_s[i])
            self._layers[place].acts[nodes[i]](NodeId(told.peer), message, what, draw)
        engine.now_s = end_s

    def count(self, tally: Tally) -> None:
        """Add what was heard so far to a tally, once."""
        for node in np.flatnonzero(self._frames).tolist():
            add(tally, node, int(self._frames[node]), int(self._bytes[node]))
        self._frames[:] = self._bytes[:] = 0
