"""Messages between the nodes and cells of Thyme-DCS (tags 98–129; Thyme FGCS §6).

A cell answers a request with `CellAnswer`, which names the cell, since one request may go to several. `CellState`
carries the shared state of a cell: to its other members after a request, to a joining node, to the proxy of a cell that
empties, to a member that missed something.
"""

from __future__ import annotations

import msgspec

from thyme.model.ids import CellId, NodeId, ObjectKey, SubscriptionKey
from thyme.model.objects import DataObject, Metadata, Replica
from thyme.model.subscriptions import Subscription
from thyme.wire.message import Message
from thyme.wire.storage import PartRequest, PastMatches

WHOLE_CELL = NodeId(-1)
"""In a replication list: every node of the cell holds the object (the active replica)."""


class Held(msgspec.Struct, frozen=True, array_like=True):
    """Metadata as it is kept for one cell: `home` is the cell that one of its tags hashes to."""

    home: CellId
    metadata: Metadata


class Part(msgspec.Struct, frozen=True, array_like=True):
    """One cell's share of a subscription: the conjunctions whose keys hash to `home`, and the subscriber's cell at
    `told_s`, by its own clock (§6.4). The cell has known it since `since_s`."""

    home: CellId
    subscription: Subscription
    cell: CellId
    told_s: float
    since_s: float


class Deleted(msgspec.Struct, frozen=True, array_like=True):
    """A deleted object, as stored for the cell `home`."""

    home: CellId
    key: ObjectKey


class Revoked(msgspec.Struct, frozen=True, array_like=True):
    """A revoked subscription, as stored for the cell `home`."""

    home: CellId
    key: SubscriptionKey


class InsertMetadata(Message, frozen=True, tag=100):
    request: int
    metadata: Metadata


class DeleteMetadata(Message, frozen=True, tag=101):
    """To the cells of an object's tags and to the one that keeps its active replica (§6.3)."""

    request: int
    key: ObjectKey


class SubscribePart(Message, frozen=True, tag=102):
    """A subscription's conjunctions for one cell; `past` matches are wanted at once. The subscriber was in `cell` at
    `told_s`, by its own clock. With `again`, the cell had lost the subscription; if it has ended meanwhile, only its
    matches are wanted."""

    request: int
    subscription: Subscription
    cell: CellId
    past: int
    told_s: float
    again: bool = False


class UnsubscribePart(Message, frozen=True, tag=103):
    request: int
    key: SubscriptionKey


class CellAnswer(Message, frozen=True, tag=104):
    """The request to `cell` was carried out, or refused with a reason. `past` is the number of past matches of a
    subscription."""

    request: int
    cell: CellId
    refusal: str = ""
    past: int = 0


class CellNotification(Message, frozen=True, tag=105):
    """Objects that match the subscriptions `keys`, for the subscribers among its destinations."""

    keys: tuple[SubscriptionKey, ...]
    matches: tuple[Metadata, ...]


class PastOf(Message, frozen=True, tag=106):
    """Past matches that `cell` has: with its answer to a subscription, or the answer to a `MoreRequest`."""

    cell: CellId
    piece: PastMatches


class LocationUpdate(Message, frozen=True, tag=107):
    """`node` is in `cell` now: for its subscriptions, and for the objects it holds as a passive replica (§6.2.3,
    §6.4.3 merged)."""

    node: NodeId
    cell: CellId
    told_s: float
    subscriptions: tuple[SubscriptionKey, ...]
    objects: tuple[ObjectKey, ...]
    request: int = -1
    """Not negative: request an acknowledgement with this number."""


class ReplicaAdded(Message, frozen=True, tag=108):
    """The replica's node holds the object since it retrieved it (passive replication, §6.2.2)."""

    key: ObjectKey
    replica: Replica


class CellState(Message, frozen=True, tag=109):
    """State to add. A `request` that is not negative asks for a `CellAnswer`. An object without data is to be fetched
    from the sender."""

    held: tuple[Held, ...] = ()
    parts: tuple[Part, ...] = ()
    deleted: tuple[Deleted, ...] = ()
    revoked: tuple[Revoked, ...] = ()
    objects: tuple[DataObject, ...] = ()
    late: bool = False
    """Whether the receiver may have lacked this for long, so that the notifying node may not have known it either."""
    request: int = -1


class JoinCell(Message, frozen=True, tag=110):
    """A node that joins a cell asks one of its members for the cell's state (§6.7): for the page of items that come
    after a number. `held` are the digests of what it still holds, empty if it wants all."""

    request: int
    after: int
    held: bytes = b""


class JoinedState(Message, frozen=True, tag=111):
    """The answer to a `JoinCell`: message `index` of the `messages` of a page that ends with item `last`; `more` if
    another page follows."""

    request: int
    index: int
    messages: int
    last: int
    more: bool
    state: CellState


class TakeBack(Message, frozen=True, tag=113):
    """`cell` has become populated and asks its proxy for its keys, and for those of empty cells that it is now
    closer to (§6.6.2)."""

    request: int
    cell: CellId


class Released(Message, frozen=True, tag=114):
    """To the members of a cell that was proxy for `home`: it no longer is. A few bytes are a checksum of what was
    handed over; a member that holds something else hands that over, too."""

    home: CellId
    summary: bytes


class WhoKeeps(Message, frozen=True, tag=115):
    """Sent by a proxy towards `home`: asks whether it is still the proxy."""

    home: CellId
    asker: CellId


class KeptHere(Message, frozen=True, tag=116):
    """The answer: keys of `home` belong to `cell`."""

    home: CellId
    cell: CellId


class Buckets(Message, frozen=True, tag=117):
    """Anti-entropy within a cell: the digests of the sender's state, a few bytes per bucket."""

    digests: bytes


class BucketItems(Message, frozen=True, tag=118):
    """The answer: the sender's items in the buckets that differ; `reply` asks for the receiver's list."""

    buckets: tuple[int, ...]
    items: bytes
    reply: bool


class ItemsWanted(Message, frozen=True, tag=119):
    """A request for these items."""

    items: bytes


class Unknown(Message, frozen=True, tag=121):
    """The answer to a `LocationUpdate`: the cell does not know these objects and subscriptions (it may have been empty
    meanwhile); their owner or subscriber should send them again."""

    cell: CellId
    objects: tuple[ObjectKey, ...]
    subscriptions: tuple[SubscriptionKey, ...]


class WhoHolds(Message, frozen=True, tag=122):
    """A request for the current replicas of an object, to a cell that stores its metadata."""

    request: int
    key: ObjectKey


class HeldBy(Message, frozen=True, tag=123):
    """The answer: the metadata with its replication list, or None if the cell does not know the object; the answering
    node, if it has the object; and whether the object was deleted."""

    request: int
    metadata: Metadata | None
    holder: Replica | None = None
    deleted: bool = False


class Silent(Message, frozen=True, tag=124):
    """To the other members of a cell: these subscribers were not found for so long that they count as failed
    (§6.4.3)."""

    keys: tuple[SubscriptionKey, ...]


class PartFor(Message, frozen=True, tag=125):
    """A member that lacks an object of its cell forwards a request for a part of it to another, which answers `node` in
    `cell`."""

    request: PartRequest
    node: NodeId
    cell: CellId


class KeepCopy(Message, frozen=True, tag=99):
    """From a holder of an object, to who is to be another one: its content has too few. The replicas of the metadata
    are those that are asked for it."""

    metadata: Metadata


class DropCopy(Message, frozen=True, tag=98):
    """To who holds a copy of an object: its owner deleted it. A `request` that is not negative asks for a
    `CellAnswer`."""

    key: ObjectKey
    request: int = -1


class SureState(Message, frozen=True, tag=127):
    """State to add; the receiver answers with `Confirmed`."""

    request: int
    state: CellState


class Confirmed(Message, frozen=True, tag=128):
    """The answer to these requests: their state was added."""

    requests: tuple[int, ...]


class Span(msgspec.Struct, frozen=True, array_like=True):
    """The objects published from one time until before another, with a checksum of their numbers."""

    from_s: float
    to_s: float
    sum: int


class Listed(msgspec.Struct, frozen=True, array_like=True):
    """The numbers of all objects of a span."""

    span: Span
    numbers: bytes


class CompareHint(Message, frozen=True, tag=112):
    """To a subscriber: these cells may have matches of these subscriptions that it was not notified of."""

    shares: tuple[tuple[CellId, SubscriptionKey], ...]


class Compare(Message, frozen=True, tag=120):
    """From a subscriber in `cell`: checksums of its notified matches of the receiver's share of a subscription, and the
    numbers of objects to notify it of. The answer is a `CellAnswer` if the cell has the same, else `Compared`."""

    request: int
    subscription: Subscription
    cell: CellId
    spans: tuple[Span, ...]
    wanted: bytes = b""


class Compared(Message, frozen=True, tag=129):
    """The spans in which `cell` differs: all its objects of a span, or its checksums of the span's parts."""

    request: int
    cell: CellId
    key: SubscriptionKey
    listed: tuple[Listed, ...]
    spans: tuple[Span, ...]


class Wanted(Message, frozen=True, tag=126):
    """Flooded: a request for the holders of an object, sent by `node` in `cell` for the `times`-th time; it has
    travelled `hops` hops."""

    request: int
    times: int
    key: ObjectKey
    node: NodeId
    cell: CellId
    hops: int = 0
