"""Messages between clients and servers of Thyme-ES (tags 30–39); answers are those of `storage`.

A content that fits one part travels with its insertion; the server fetches a larger one from its owner, part by part.
"""

from __future__ import annotations

from thyme.model.ids import NodeId, ObjectKey, SubscriptionKey
from thyme.model.objects import Metadata
from thyme.model.subscriptions import Subscription
from thyme.wire.message import Message


class InsertRequest(Message, frozen=True, tag=30):
    request: int
    metadata: Metadata
    data: bytes


class DeleteRequest(Message, frozen=True, tag=31):
    request: int
    key: ObjectKey


class SubscribeRequest(Message, frozen=True, tag=32):
    request: int
    subscription: Subscription
    past: int


class UnsubscribeRequest(Message, frozen=True, tag=33):
    request: int
    key: SubscriptionKey


class Relayed(Message, frozen=True, tag=34):
    """A server forwards a request of `client` to another server."""

    client: NodeId
    payload: bytes


class SnapshotRequest(Message, frozen=True, tag=35):
    """A server that comes (back) up asks another for everything."""

    request: int
