"""Messages that Thyme-ES, LS and DCS share (tags 20–29).

Requests carry the number that their sender gave them (`request`), and answers repeat it. Contents travel in
parts: a request for a part names its offset, a reply carries the part and the size of the whole.
"""

from __future__ import annotations

import msgspec

from thyme.model.ids import ObjectKey, SubscriptionKey
from thyme.model.matching import Cursor
from thyme.model.objects import Metadata
from thyme.model.subscriptions import Subscription
from thyme.wire.message import Message


class Tombstone(msgspec.Struct, frozen=True, array_like=True):
    """An object that its owner deleted; no copy of it comes after `until_s`."""

    key: ObjectKey
    until_s: float


class Subscribed(Message, frozen=True, tag=20):
    """A new subscription, with the number of past matches wanted at once. Below zero: its subscriber crashed, and who
    knows it already answers again."""

    subscription: Subscription
    past: int


Revocation = tuple[SubscriptionKey, float]
"""A subscription that was revoked, and when, by its subscriber's clock."""


class Unsubscribed(Message, frozen=True, tag=21):
    key: SubscriptionKey
    at_s: float


class Notification(Message, frozen=True, tag=22):
    """Objects that match a subscription, told as they are inserted."""

    key: SubscriptionKey
    matches: tuple[Metadata, ...]


class MoreRequest(Message, frozen=True, tag=23):
    """Asks for the past matches of a subscription after `cursor`, or from the newest on. The receiver need not know the
    subscription."""

    request: int
    subscription: Subscription
    cursor: Cursor | None
    limit: int


class PartRequest(Message, frozen=True, tag=24):
    """A part of an object's content."""

    request: int
    key: ObjectKey
    offset: int
    size: int


DELETED = 1
"""As the offset of a part that was not found: the owner deleted the object."""


class PartReply(Message, frozen=True, tag=25):
    """The part, or `found = False` if the object is not here; then `offset` is `DELETED` if its owner deleted it."""

    bulk = True
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
    revoked: tuple[Revocation, ...] = ()


class PastMatches(Message, frozen=True, tag=29):
    """A piece of a source's past matches, newest first: those that follow the one at `after`, or the newest of all.

    `left` more follow at the source. An answer may have several pieces; the last says so.
    """

    key: SubscriptionKey
    matches: tuple[Metadata, ...]
    after: Cursor | None
    left: int
    request: int = -1
    """What this answers; -1 if the source sent it by itself."""
    last: bool = True
