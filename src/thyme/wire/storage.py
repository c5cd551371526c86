"""What the Thyme approaches ES, LS and DCS say to each other (tags 20–29).

Requests carry the number that their sender gave them (`request`), and answers repeat it. Contents travel in
parts: a request for a part names its offset, a reply carries the part and the size of the whole.
"""

from __future__ import annotations

from thyme.model.ids import ObjectKey, SubscriptionKey
from thyme.model.matching import Cursor
from thyme.model.objects import Metadata
from thyme.model.subscriptions import Subscription
from thyme.wire.message import Message


class Subscribed(Message, frozen=True, tag=20):
    """A new subscription, with the number of past matches wanted at once."""

    subscription: Subscription
    past: int


class Unsubscribed(Message, frozen=True, tag=21):
    key: SubscriptionKey


class Notification(Message, frozen=True, tag=22):
    """Objects that match a subscription. If `remaining` older ones match too, `cursor` is where they start."""

    key: SubscriptionKey
    matches: tuple[Metadata, ...]
    request: int = -1
    """The `MoreRequest` that this answers."""
    remaining: int = 0
    cursor: Cursor | None = None


class MoreRequest(Message, frozen=True, tag=23):
    """The next `limit` past matches after `cursor`; the subscriber was told of `remaining` beyond it."""

    request: int
    key: SubscriptionKey
    cursor: Cursor
    limit: int
    remaining: int


class PartRequest(Message, frozen=True, tag=24):
    """A part of an object's content."""

    request: int
    key: ObjectKey
    offset: int
    size: int


class PartReply(Message, frozen=True, tag=25):
    """The part, or `found = False` if the object is not here."""

    request: int
    key: ObjectKey
    found: bool
    offset: int = 0
    total_bytes: int = 0
    part: bytes = b""


class Acknowledged(Message, frozen=True, tag=26):
    """The request was carried out, or refused with a reason."""

    request: int
    ok: bool = True
    reason: str = ""


class JoinRequest(Message, frozen=True, tag=27):
    """A node (re)joins and asks its neighbours for the subscriptions it must know."""

    request: int


class JoinReply(Message, frozen=True, tag=28):
    """Subscriptions handed over to a joining node, in batches that fit a frame; `left` more follow."""

    request: int
    subscriptions: tuple[Subscription, ...]
    left: int = 0
    revoked: tuple[SubscriptionKey, ...] = ()
