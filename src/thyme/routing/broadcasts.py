"""Receiving a broadcast at many nodes with one call.

Most broadcasts of a routing layer change one entry of a table, or nothing. A layer keeps such a table in a `NodeTable`,
which owns its memory and has two access paths. Its methods handle one frame: `receive` of the layer uses them, on a
live node and in the simulator. `receive_all` is one compiled call that handles a frame for all nodes that receive it,
and reports which of them have more to do; only of these the layer's `handle` is called, in the order and at the times
of reception. A live node never calls `receive_all` and needs no compiler.

The handlers of a node for one message type are in the order in which `receive` reaches their layers. None may depend on
what another does with the same frame.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thyme.model.ids import NodeId
from thyme.routing.layouts import RECEIVER_COLUMNS, RECEIVERS


class Receivers:
    """The nodes that receive a frame: when, at what time of their own clock, the random number that each drew, and the
    result at each."""

    def __init__(self, most: int) -> None:
        self.nodes = np.zeros(most, np.int64)
        self.at_s = np.zeros(most, np.float64)
        self.now_s = np.zeros(most, np.float64)
        self.draws = np.zeros(most, np.float64)
        self.results = np.zeros(most, np.int64)
        """What `NodeTable.receive_all` leaves for each receiver: 0 if it has nothing more to do."""
        self._header = np.zeros(1, RECEIVERS)
        for name in RECEIVER_COLUMNS:
            self._header[name] = getattr(self, name).ctypes.data
        self._count, self._end_s = self._header["count"].data, self._header["end_s"].data
        self._nodes, self._draws = self.nodes.data, self.draws.data
        self._at_s, self._results = self.at_s.data, self.results.data
        self.address: int = self._header.ctypes.data

    @property
    def end_s(self) -> float:
        """When the last node in range receives the frame, whether or not it is on."""
        return self._end_s[0]

    def numbers(self) -> list[int]:
        """The receiving nodes."""
        return self._nodes[: self._count[0]].tolist()

    def busy(self) -> list[tuple[int, int, float]]:
        """The rows of receivers that have more to do, with their results and draws."""
        results, draws = self._results, self._draws
        return [(i, results[i], draws[i]) for i in self.results[: self._count[0]].nonzero()[0].tolist()]

    def receiver(self, row: int) -> tuple[int, float]:
        """A receiving node, and when it receives the frame."""
        return self._nodes[row], self._at_s[row]

    def draw(self, numbers: array[float]) -> None:
        """One random number for each receiver."""
        self._draws[: len(numbers)] = numbers

    @property
    def count(self) -> int:
        return self._count[0]

    @count.setter
    def count(self, receivers: int) -> None:
        self._count[0] = receivers


class NodeTable:
    """One node's table in memory that compiled code can read: a record at a fixed address, which holds numbers and the
    addresses of arrays."""

    record: ClassVar[np.dtype[Any]]
    draws: ClassVar[bool] = False
    """Whether every receiver draws a number from 0 to 1 from its own random generator for each frame."""

    __slots__ = ("_arrays", "_record", "address")

    def __init__(self) -> None:
        self._record: NDArray[Any] = np.zeros(1, self.record)
        self._arrays: dict[str, NDArray[Any]] = {}
        self.address: int = self._record.ctypes.data

    def _attach(self, field: str, array: NDArray[Any]) -> None:
        """Keep an array alive and write its address into the record."""
        self._arrays[field] = array
        self._record[field] = array.ctypes.data

    @staticmethod
    def receive_all(receivers: Receivers, tables: NodeTables, sender: NodeId, message: Any) -> int:
        """Handle a frame in the tables of all receivers; the number of those that have more to do."""
        raise NotImplementedError


class NodeTables:
    """The tables of one layer at all nodes of a run, by node number."""

    def __init__(self, nodes: int) -> None:
        self._addresses: NDArray[np.int64] = np.zeros(nodes, np.int64)
        self._tables: list[NodeTable | None] = [None] * nodes
        self.address: int = self._addresses.ctypes.data

    @classmethod
    def of(cls, tables: Iterable[NodeTable]) -> NodeTables:
        given = list(tables)
        every = cls(len(given))
        for node, table in enumerate(given):
            every.put(node, table)
        return every

    def put(self, node: int, table: NodeTable) -> None:
        self._tables[node] = table
        self._addresses[node] = table.address


class SharedNumber(NodeTable):
    """A number that Python writes and compiled code compares."""

    record = np.dtype([("value", np.int64)])

    __slots__ = ("_value",)

    def __init__(self, value: int = 0) -> None:
        super().__init__()
        self._value = self._record["value"].data
        self._value[0] = value

    @property
    def value(self) -> int:
        return self._value[0]

    @value.setter
    def value(self, value: int) -> None:
        self._value[0] = value


class BroadcastHandler(NamedTuple):
    """How a layer of one node handles broadcasts of one message type together with all other nodes."""

    table: NodeTable
    handle: Callable[[NodeId, Any, int, float], object]
    """Called with the sender, the message, the result of `receive_all` at this node, and the number that it drew."""
