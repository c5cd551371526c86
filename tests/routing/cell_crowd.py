"""A small crowd that routes between cells, and what arrives in it."""

from __future__ import annotations

from collections.abc import Iterable

from net import FakeHost, Net

from thyme.model.ids import CellId, NodeId
from thyme.routing.cells.addresses import Arrival, GeographicOptions
from thyme.routing.cells.beacons import BeaconOptions, Beacons
from thyme.routing.cells.geographic import GeographicRouter
from thyme.routing.cells.grid import Grid
from thyme.wire.geographic import CellPacket
from thyme.wire.message import Message
from thyme.wire.routing import Flooded

CELL_M = 40.0


WARM_S = 4.0


def letter(number: int = 1) -> Message:
    return Flooded(NodeId(0), number, 0, b"letter")


class Person:
    """A node with beacons and geographic routing, and what has arrived at it."""

    def __init__(
        self, host: FakeHost, grid: Grid, options: GeographicOptions | None, beacons: BeaconOptions | None
    ) -> None:
        self.host = host
        self.arrivals: list[Arrival] = []
        self.refusals: list[tuple[NodeId, CellId, int]] = []
        self.beacons = Beacons(host, grid, options=beacons)
        self.router = GeographicRouter(host, grid, self.beacons, self.arrivals.append, self._refused, options)
        host.layers += [self.beacons, self.router]
        self.beacons.start()
        self.router.start()

    def _refused(self, node: NodeId, cell: CellId, number: int) -> None:
        self.refusals.append((node, cell, number))


class Crowd:
    """People in the middle of the given cells (column, row), numbered from 0 in that order."""

    def __init__(
        self,
        columns: int,
        rows: int,
        places: Iterable[tuple[int, int]],
        options: GeographicOptions | None = None,
        seed: int = 1,
        beacons: BeaconOptions | None = None,
    ) -> None:
        self.net = Net(seed=seed)
        self.grid = Grid(columns * CELL_M, rows * CELL_M, CELL_M)
        self.people = [
            Person(self.net.add(i, (c + 0.5) * CELL_M, (r + 0.5) * CELL_M), self.grid, options, beacons)
            for i, (c, r) in enumerate(places)
        ]

    def warm(self) -> Crowd:
        self.net.run(self.net.now_s + WARM_S)
        self.net.frames.clear()
        return self

    def settle(self, wait_s: float = 0.9) -> None:
        self.net.run(self.net.now_s + wait_s)

    def packets(self) -> list[CellPacket]:
        return [frame for _, _, frame in self.net.frames if isinstance(frame, CellPacket)]

    def holders(self) -> list[int]:
        return [i for i, person in enumerate(self.people) for _ in person.arrivals]


U_SHAPE = [(0, 0), (0, 1), (0, 2), (0, 3), (1, 3), (2, 3), (3, 3), (4, 3), (4, 2), (4, 1), (4, 0)]
