"""One node of Thyme-DCS taken apart: a fixed cell, a clock turned by hand, and a router that only writes down.

Five cells in a row; the node stands in the middle one, cell 2. Tests make the parts that they are about on `cell`, let
messages arrive, let time pass, and look at what was sent.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, TypeVar

from net import Net

from thyme.approaches.dcs.cell import Cell, Mode
from thyme.approaches.dcs.options import CellStorageOptions, GridOptions
from thyme.model.frames import TimeFrame
from thyme.model.geometry import Point
from thyme.model.ids import CellId, NodeId, ObjectKey, SubscriptionKey
from thyme.model.objects import Metadata, Replica
from thyme.model.queries import parse_query
from thyme.model.subscriptions import Subscription
from thyme.routing.cells.addresses import Arrival, Destination, Form
from thyme.routing.cells.geographic import GeographicRouter
from thyme.wire.cells import Part
from thyme.wire.geographic import ANY_NODE
from thyme.wire.message import Message
from thyme.wire.routing import Beacon

CELL_M = 40.0
CELLS = 5
HERE = CellId(2)
OTHER = CellId(4)
ALL = "all"
PROXY = "proxy"
Kind = TypeVar("Kind", bound=Message)


class Sent(NamedTuple):
    """`to`: the destinations (cell, node), ALL for the whole cell, or (PROXY, cell)."""

    to: Any
    message: Message
    number: int = -1


class RecordingRouter(GeographicRouter):
    """A router that delivers nothing and remembers everything."""

    sent: list[Sent]

    def send_to_cell(self, cell: CellId, message: Message) -> int:
        return self.send_to_many([Destination(cell)], message)

    def send_to_node(self, node: NodeId, cell: CellId, message: Message) -> int:
        return self.send_to_many([Destination(cell, node)], message)

    def send_to_many(self, destinations: Iterable[Destination], message: Message) -> int:
        to = [(d.cell, None if d.node == ANY_NODE else d.node) for d in dict.fromkeys(destinations)]
        return self._write_down(to, message)

    def send_to_proxy(self, cell: CellId, message: Message) -> int:
        return self._write_down((PROXY, cell), message)

    def broadcast_in_cell(self, message: Message, cell: CellId | None = None) -> None:
        self.sent.append(Sent(ALL, message))

    def _write_down(self, to: Any, message: Message) -> int:
        number = self._next_number()
        self.sent.append(Sent(to, message, number))
        return number


class LoneCell:
    """The cell of node `node`, a member of cell 2 unless told otherwise."""

    def __init__(self, node: int = 5, *, member: bool = True, **options: Any) -> None:
        self.net = Net()
        self.host = self.net.add(node, (HERE + 0.5) * CELL_M, CELL_M / 2)
        area = GridOptions(CELLS * CELL_M, CELL_M, CELL_M)
        self.cell = Cell(self.host, CellStorageOptions(grid=area, **options))
        router = RecordingRouter(
            self.host, self.cell.grid, self.cell.beacons, self.cell.arrive, self.cell.undelivered, GEOGRAPHIC
        )
        self.sent = router.sent = []
        self.cell.router = router
        self.cell.place = HERE
        if member:
            self.cell.id, self.cell.mode = HERE, Mode.MEMBER

    def wait(self, seconds: float) -> None:
        self.net.run(self.net.now_s + seconds)

    def walk_to(self, cell: int, *, stands: bool = True) -> None:
        self.host.place = Point((cell + 0.5) * CELL_M, CELL_M / 2)
        self.host.walks = not stands

    def hear(self, *nodes: int, cell: int = HERE, stationary: bool = True, digest: bytes = b"") -> None:
        """Beacons of nodes in a cell; they are forgotten after 3.5 s, as real ones."""
        for node in nodes:
            self.cell.beacons.receive(NodeId(node), Beacon(CellId(cell), stationary, digest))

    def arrive(
        self,
        message: Message,
        origin: int = 9,
        origin_cell: int = OTHER,
        target: int = HERE,
        form: Form = Form.CELL,
        proxied: bool = False,
    ) -> None:
        origin_cell = HERE if form is Form.BROADCAST else origin_cell
        self.cell.arrive(Arrival(NodeId(origin), CellId(origin_cell), message, CellId(target), form, proxied))

    def take(self, kind: type[Kind]) -> list[tuple[Any, Kind]]:
        """What was sent of a kind since it was last asked for: to whom, and the message."""
        taken = [(s.to, s.message) for s in self.sent if isinstance(s.message, kind)]
        self.sent[:] = [s for s in self.sent if not isinstance(s.message, kind)]
        return taken

    def kinds(self) -> list[str]:
        """The kinds of messages sent so far and not taken, in order."""
        return [type(s.message).__name__ for s in self.sent]

    def nack(self, node: int, index: int = -1) -> None:
        """What was sent as the last (or another) one could not be delivered to a node."""
        self.cell.undelivered(NodeId(node), HERE, self.sent[index].number)

    def tag(self, cell: int = HERE, number: int = 0) -> str:
        """A tag that hashes to a cell; another one for every number."""
        found = (f"tag{i}" for i in range(10_000) if self.cell.grid.cell_for(f"tag{i}") == cell)
        return [next(found) for _ in range(number + 1)][-1]

    def dropped(self) -> list[str]:
        """The reasons for which something was counted as dropped."""
        return [record.reason for record in self.host.records if hasattr(record, "reason")]


GEOGRAPHIC = CellStorageOptions().routing


def metadata_of(oid: str, *tags: str, owner: int = 9, at_s: float = 0.0, size: int = 4, **more: Any) -> Metadata:
    return Metadata(ObjectKey(oid, NodeId(owner)), tuple(sorted(tags)), b"", at_s, size, **more)


def subscription_of(query: str, sid: int = 0, subscriber: int = 8, frame: TimeFrame | None = None) -> Subscription:
    key = SubscriptionKey(sid, NodeId(subscriber))
    return Subscription.to_query(key, parse_query(query), frame or TimeFrame.always())


def part_of(subscription: Subscription, home: int = HERE, place: int = OTHER, told_s: float = 0.0) -> Part:
    return Part(CellId(home), subscription, CellId(place), told_s, told_s)


def replica(node: int, cell: int) -> Replica:
    return Replica(NodeId(node), CellId(cell))
