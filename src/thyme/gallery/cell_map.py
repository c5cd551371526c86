"""Positions: the cells of a gallery's area, the nodes in them, and the distance to a photo's replicas."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from thyme.approaches.dcs.protocol import CellStorage
from thyme.gallery.photos import Distance
from thyme.live.node.node import Node
from thyme.model.ids import CellId
from thyme.model.objects import Replica
from thyme.wire.cells import WHOLE_CELL


class Person(msgspec.Struct, frozen=True):
    node: str
    cell: int
    me: bool
    still: bool
    """Whether it is not moving, and so is an active member of its cell."""
    name: str = ""
    """Name of its user, if known from photos."""


class MapView(msgspec.Struct, frozen=True):
    columns: int
    """0 if this approach has no cells."""
    rows: int
    cell_m: float
    people: tuple[Person, ...]


class ReplicaPlaces(msgspec.Struct, frozen=True):
    """Where one photo is."""

    cells: tuple[int, ...]
    """Cells all of whose members keep it."""
    nodes: tuple[str, ...]
    """Further nodes, and the cells where they were last."""
    node_cells: tuple[int, ...]


def map_of(node: Node, names: Mapping[str, str]) -> MapView:
    """`names` are those of users, by the ids of their nodes."""
    store = node.device.approach
    if not isinstance(store, CellStorage):
        people = [
            Person(str(each), 0, False, True, names.get(str(each), "") or node.name_of(each))
            for each in node.device.neighbours()
        ]
        return MapView(0, 0, 0.0, (Person(str(node.id), 0, True, True), *people))
    grid, beacons = store.cell.grid, store.cell.beacons
    others = [
        Person(
            str(each.node), each.cell, False, each.stationary, names.get(str(each.node), "") or node.name_of(each.node)
        )
        for each in beacons.neighbours()
    ]
    own = Person(str(node.id), int(beacons.cell), True, beacons.stationary)
    return MapView(grid.columns, grid.rows, grid.cell_m, (own, *others))


def distance_to(node: Node, replicas: Iterable[Replica]) -> Distance | None:
    """How far the nearest replica is, if that is known."""
    store = node.device.approach
    if not isinstance(store, CellStorage):
        return None
    grid, here = store.cell.grid, store.cell.beacons.cell
    cells = [CellId(replica.cell) for replica in replicas if replica.cell in grid]
    if not cells or here not in grid:
        return None
    nearest = min(cells, key=lambda cell: grid.distance_m(here, cell))
    return Distance(grid.steps(here, nearest), round(grid.distance_m(here, nearest)))


def places_of(replicas: Iterable[Replica]) -> ReplicaPlaces:
    listed = list(replicas)
    single = [replica for replica in listed if replica.node != WHOLE_CELL]
    return ReplicaPlaces(
        tuple(int(replica.cell) for replica in listed if replica.node == WHOLE_CELL),
        tuple(str(replica.node) for replica in single),
        tuple(int(replica.cell) for replica in single),
    )
