"""The user of a node of Thyme-DCS taken apart (`lone_cell`): what it asks of cells, what it tells them of itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lone_cell import LoneCell

from thyme.approaches.dcs.cell_requests import CellRequests
from thyme.approaches.dcs.copies import Copies
from thyme.approaches.dcs.locations import Locations
from thyme.approaches.dcs.subscriber import Subscriber
from thyme.approaches.inbox import Inbox
from thyme.approaches.interface import Outcome
from thyme.model.frames import TimeFrame
from thyme.model.ids import CellId, SubscriptionKey
from thyme.model.objects import Metadata
from thyme.model.queries import parse_query
from thyme.model.subscriptions import Subscription
from thyme.routing.cells.addresses import Form
from thyme.wire.cells import (
    CellAnswer,
    LocationUpdate,
)


class User(LoneCell):
    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.requests = CellRequests(self.cell)
        limits = self.cell.options.limits
        self.inbox: Inbox[CellId] = Inbox(self.host, limits.own_subscriptions, limits.notified_memory)
        self.subscriber = Subscriber(self.cell, self.requests, self.inbox)
        self.copies = Copies(self.host)
        self.locations = Locations(self.cell, self.requests, self.subscriber, self.copies)
        self.outcomes: list[Outcome] = []
        self.notified: list[str] = []

    def subscribe(self, query: str, frame: TimeFrame | None = None) -> SubscriptionKey:
        key = SubscriptionKey(self.inbox.next_sid(), self.host.node)
        subscription = Subscription.to_query(key, parse_query(query), frame or TimeFrame.always())
        self.inbox.add(subscription, self.on_notified)
        self.subscriber.subscribe(subscription, self.outcomes.append)
        return key

    def answer(self, request: int, *cells: int, **more: Any) -> None:
        for cell in cells:
            self.arrive(CellAnswer(request, CellId(cell), **more), form=Form.NODE)

    def settle(self) -> None:
        """For the first time, and all cells have answered."""
        self.cell.settled(False)
        for to, update in self.take(LocationUpdate):
            self.answer(update.request, to[0][0])

    def on_notified(self, key: SubscriptionKey, matches: Sequence[Metadata], hops: int) -> None:
        self.notified += [metadata.key.oid for metadata in matches]
