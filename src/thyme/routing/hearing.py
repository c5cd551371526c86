"""Hearing: a frame that many nodes hear is told to them in one go.

What most frames of a routing layer do to a node is an entry in a table. A layer that keeps its table in memory that
compiled code can reach (a desk, of which Python knows the address) may offer an `Ear` for a kind of message: `take`
reads one frame into the tables of all nodes that hear it, and says for whom more must happen; only of these the
layer's `act` is called, node by node, at the instant of each. A machine that carries one node never asks for ears: its
layers' `receive` reads the same frame into the same table, as a crowd of one.

The ears of a node for one kind stand in the order in which `receive` would have come to them, and none may depend on
what another does with the same frame.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from thyme.model.ids import NodeId

_COLUMNS = ("nodes", "at_s", "now_s", "draws", "told")
HEARING = np.dtype([*((name, np.int64) for name in (*_COLUMNS, "count")), ("end_s", np.float64)])
"""Addresses of columns with one row per hearer, how many rows are in use, and when the last of them hears."""


class Hearing:
    """Who hears a frame, when, when by the clock of each, the number that each has drawn, and what came of it."""

    def __init__(self, most: int) -> None:
        self.nodes = np.zeros(most, np.int64)
        self.at_s = np.zeros(most, np.float64)
        self.now_s = np.zeros(most, np.float64)
        self.draws = np.zeros(most, np.float64)
        self.told = np.zeros(most, np.int64)
        """What `take` leaves for each hearer: 0 if nothing more has to happen there."""
        self._desk = np.zeros(1, HEARING)
        for name in _COLUMNS:
            self._desk[name] = getattr(self, name).ctypes.data
        self._count, self._end_s = self._desk["count"].data, self._desk["end_s"].data
        self._hearers, self._draws = self.nodes.data, self.draws.data
        self._at_s, self._told = self.at_s.data, self.told.data
        self.address: int = self._desk.ctypes.data

    @property
    def end_s(self) -> float:
        """When the last node in range hears the frame, whether or not it listens."""
        return self._end_s[0]

    def hearers(self) -> list[int]:
        return self._hearers[: self._count[0]].tolist()

    def news(self) -> list[tuple[int, int, float]]:
        """The rows of those for whom more must happen, what is to, and the number that each has drawn."""
        told, draws = self._told, self._draws
        return [(i, told[i], draws[i]) for i in self.told[: self._count[0]].nonzero()[0].tolist()]

    def hearer(self, row: int) -> tuple[int, float]:
        """Which node hears the frame, and when."""
        return self._hearers[row], self._at_s[row]

    def draw(self, numbers: array[float]) -> None:
        """One number for each hearer."""
        self._draws[: len(numbers)] = numbers

    @property
    def count(self) -> int:
        return self._count[0]

    @count.setter
    def count(self, hearers: int) -> None:
        self._count[0] = hearers


class Alarms(Protocol):
    """Timers of a layer that ring elsewhere (`Ear.lend`), each known by what it is for."""

    def set(self, duty: int, delay_s: float) -> None:
        """In place of what this one was set for."""

    def cancel(self) -> None:
        """All of them."""


class Ear(NamedTuple):
    """How a layer of one node takes in frames of one kind together with all other nodes."""

    take: Callable[[Hearing, int, NodeId, Any], int]
    """The same for all nodes: given the hearing, the address of a column with the desks of all nodes by number, the
    sender and the message, reads it for every hearer and returns for how many of them more must happen."""
    desk: int
    """The address of this node's table, good for its life."""
    act: Callable[[NodeId, Any, int, float], None]
    """Given the sender, the message, what `take` left for this node, and the number that was drawn for it."""
    draws: bool = False
    """Whether every hearer draws a number from 0 to 1 from its own randomness for each frame."""
    lend: Callable[[Alarms], None] | None = None
    """Lets somebody else keep the timers that frames of this kind set, who knows what is to be done when they ring …"""
    most: int = 0
    """… and the most entries that a frame which is sent then may have."""
