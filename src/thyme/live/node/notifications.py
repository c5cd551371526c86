"""A subscription as an application sees it: an asynchronous iterator of the objects that match."""

from __future__ import annotations

import msgspec

from thyme.live.node.arrivals import Arrivals
from thyme.model.ids import SubscriptionKey
from thyme.model.objects import Metadata

MAX_WAITING_NOTIFICATIONS = 10_000
"""Notifications that an application has not looked at yet; beyond that, the oldest gives way."""


class Notice(msgspec.Struct, frozen=True):
    """A matching object, and how long after the earliest possible instant the node learnt of it."""

    subscription: SubscriptionKey
    metadata: Metadata
    delay_s: float


class Notifications(Arrivals[Notice]):
    """What a subscription brings, in order of arrival; ends when the subscription or the node does."""

    def __init__(self, key: SubscriptionKey, query: str) -> None:
        super().__init__(MAX_WAITING_NOTIFICATIONS)
        self.key = key
        self.query = query
