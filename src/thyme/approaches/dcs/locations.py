"""Locations: a node tells the cells that know of it where it is, and sends again what they have lost (§6.2.3, §6.4.3).

The updates for a node's subscriptions and for the objects it holds as a replica are merged: one message per cell. It
also says since when the node may have missed something; cells then tell it what was published meanwhile. A cell that
was empty for a while may have lost what it was told; it says so, and the node sends it again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from thyme.approaches.dcs.cell_requests import CellRequests
from thyme.approaches.dcs.keys import cells_of_tags
from thyme.approaches.inbox import Inbox
from thyme.approaches.interface import Outcome
from thyme.host import Host
from thyme.model.ids import CellId, ObjectKey, SubscriptionKey
from thyme.model.objects import Metadata
from thyme.routing.cells.geographic import GeographicRouter
from thyme.routing.cells.grid import Grid
from thyme.wire.cells import LocationUpdate

OWN = "own object"
REPLICA = "replica"
LAST_SEEN = "last seen"
SUBSCRIPTION_CELLS = "subscription cells"
SEEN_EVERY_S = 1.0
"""How often a node notes that it is there: a node that returns asks for what it missed from then on."""

KEYS_PER_UPDATE = 60
"""Subscriptions and objects named in one update; more go in several messages."""

metadata_decoder = msgspec.msgpack.Decoder(Metadata)
_cells = msgspec.msgpack.Decoder(list[CellId])


class Locations:
    """What this node has told to which cells."""

    def __init__(
        self,
        host: Host,
        grid: Grid,
        router: GeographicRouter,
        requests: CellRequests,
        inbox: Inbox[CellId],
        place: Callable[[], CellId],
    ) -> None:
        self._host = host
        self._grid = grid
        self._router = router
        self._requests = requests
        self._inbox = inbox
        self._place = place
        self._seen_s = -SEEN_EVERY_S

    def subscribed(self, sid: int, cells: list[CellId]) -> None:
        self._host.store.put(SUBSCRIPTION_CELLS, str(sid), msgspec.msgpack.encode(cells))

    def unsubscribed(self, sid: int) -> None:
        self._host.store.remove(SUBSCRIPTION_CELLS, str(sid))

    def cells_of(self, sid: int) -> list[CellId]:
        """The cells that have a share of a subscription."""
        value = self._host.store.get(SUBSCRIPTION_CELLS, str(sid))
        return _cells.decode(value) if value else []

    def seen(self) -> None:
        """This node is a member and hears its neighbours: until now it has missed nothing."""
        now_s = self._host.now()
        if now_s - self._seen_s >= SEEN_EVERY_S:
            self._seen_s = now_s
            self._host.store.put(LAST_SEEN, "", msgspec.msgpack.encode(now_s))

    def tell(self, *, objects: bool, catch_up: bool) -> None:
        """Say where this node is, to every cell that has one of its subscriptions and, if its objects have settled with
        it, to those that list it as a replica. With `catch_up` the cells also tell what was missed, and the update is
        repeated until they answer."""
        subscriptions: dict[CellId, list[SubscriptionKey]] = {}
        for own in self._inbox:
            key = own.subscription.key
            for cell in self.cells_of(key.sid):
                subscriptions.setdefault(cell, []).append(key)
        replicas: dict[CellId, list[ObjectKey]] = {}
        for metadata in self._held() if objects else ():
            for cell in cells_of_tags(self._grid, metadata.tags):
                replicas.setdefault(cell, []).append(metadata.key)
        since_s = self._last_seen_s() if catch_up else None
        for cell in sorted({*subscriptions, *replicas}):
            keys, held = subscriptions.get(cell, []), replicas.get(cell, [])
            for first in range(0, max(len(keys), len(held)), KEYS_PER_UPDATE):
                last = first + KEYS_PER_UPDATE
                self._send(cell, tuple(keys[first:last]), tuple(held[first:last]), since_s)

    def _send(
        self,
        cell: CellId,
        keys: tuple[SubscriptionKey, ...],
        held: tuple[ObjectKey, ...],
        since_s: float | None,
    ) -> None:
        def send(number: int, cells: list[CellId]) -> None:
            update = LocationUpdate(self._host.node, self._place(), self._host.now(), keys, held, since_s, number)
            self._router.send_to_cell(cell, update)

        if since_s is None:
            send(-1, [cell])
        else:
            self._requests.begin([cell], send, _ignore)

    def _held(self) -> Iterator[Metadata]:
        for kind in (OWN, REPLICA):
            for _, value in self._host.store.items(kind):
                yield metadata_decoder.decode(value)

    def _last_seen_s(self) -> float | None:
        value = self._host.store.get(LAST_SEEN, "")
        return msgspec.msgpack.decode(value, type=float) if value else None


def _ignore(outcome: Outcome) -> None:
    """Nobody waits for an update; a cell that cannot be reached now is told with the next one."""
