"""What the nodes and cells of Thyme-DCS say to each other (tags 100–129; Thyme FGCS §6).

Requests to a cell are answered with `CellAnswer`, which names the cell that was meant, since one request may go to
several. `CellState` is how anything that a cell's members must all know is passed on: to the rest of the cell after
a request, to a node that joins, to the proxy of a cell that empties, to a member that missed something.
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
    """The share of a subscription that one cell evaluates: the conjunctions whose keys hash to `home`, and where
    the subscriber was at `told_s`, by its own clock (§6.4). The cell has known it since `since_s`."""

    home: CellId
    subscription: Subscription
    cell: CellId
    told_s: float
    since_s: float


class Deleted(msgspec.Struct, frozen=True, array_like=True):
    """An object that its owner deleted, as the cell `home` has to know it."""

    home: CellId
    key: ObjectKey


class Revoked(msgspec.Struct, frozen=True, array_like=True):
    """A subscription that its subscriber ended, as the cell `home` has to know it."""

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
    """A subscription's conjunctions for one cell; `past` matches are wanted at once. Its subscriber was in `cell` at
    `told_s`, by its own clock. If it is made `again`, since the cell does not know it any more, and has ended
    meanwhile, only its matches are wanted."""

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
    """The request to `cell` was carried out, or refused with a reason. `spread` tells of tags that this cell shares
    with others: (tag, number of cells), and `past` how many past matches of a subscription it has."""

    request: int
    cell: CellId
    refusal: str = ""
    spread: tuple[tuple[str, int], ...] = ()
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
    §6.4.3 merged). What was published from `since_s` on may have missed it."""

    node: NodeId
    cell: CellId
    told_s: float
    subscriptions: tuple[SubscriptionKey, ...]
    objects: tuple[ObjectKey, ...]
    since_s: float | None = None
    request: int = -1
    """If not negative: answer me."""
    passed_on: bool = False
    """By a cell that shares a hot tag with this one: it goes no further."""


class ReplicaAdded(Message, frozen=True, tag=108):
    """The replica's node holds the object since it retrieved it (passive replication, §6.2.2)."""

    key: ObjectKey
    replica: Replica
    passed_on: bool = False
    """By a cell that shares a hot tag with this one: it goes no further."""


class CellState(Message, frozen=True, tag=109):
    """Things to know. `request` asks for a `CellAnswer` if it is not negative. An object without its data is to be
    fetched from the sender."""

    held: tuple[Held, ...] = ()
    parts: tuple[Part, ...] = ()
    deleted: tuple[Deleted, ...] = ()
    revoked: tuple[Revoked, ...] = ()
    objects: tuple[DataObject, ...] = ()
    keepers: tuple[NodeId, ...] = ()
    """Where only some members are to keep `objects`: who. Empty: all of them."""
    spread: tuple[tuple[str, int], ...] = ()
    """Hot tags of this cell, and over how many cells each is spread."""
    request: int = -1


class JoinCell(Message, frozen=True, tag=110):
    """A node that joins a cell asks one of its members for the cell's state (§6.7): for the page of items that come
    after a number. `held` are the digests of what it still holds, empty if it wants all."""

    request: int
    after: int
    held: bytes = b""


class JoinedState(Message, frozen=True, tag=111):
    """The answer to a `JoinCell`: message `index` of the `messages` of a page, which ends with item `last`; whether
    there is `more` after it."""

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
    """To the members of a cell that stood in for `home`: it no longer does. What was given away is summed up in a few
    bytes: who held something else has to give that away, too."""

    home: CellId
    summary: bytes


class WhoKeeps(Message, frozen=True, tag=115):
    """A proxy asks, by sending this towards `home`, whether it is still the one."""

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
    """The answer: which items the sender holds in the buckets that differ; `reply` asks for the same back."""

    buckets: tuple[int, ...]
    items: bytes
    reply: bool


class ItemsWanted(Message, frozen=True, tag=119):
    """Send me these items."""

    items: bytes


class SpreadInsert(Message, frozen=True, tag=120):
    """An insertion that the cell `home` passes on to another cell of a hot tag; the answer goes to the owner, in
    `home`'s name."""

    request: int
    metadata: Metadata
    owner_cell: CellId
    home: CellId


class Unknown(Message, frozen=True, tag=121):
    """The answer to a `LocationUpdate`: the cell does not know these objects and subscriptions (it may have been empty
    meanwhile); their owner and subscriber should send them again."""

    cell: CellId
    objects: tuple[ObjectKey, ...]
    subscriptions: tuple[SubscriptionKey, ...]


class WhoHolds(Message, frozen=True, tag=122):
    """To a cell that keeps an object's metadata: where are its replicas now?"""

    request: int
    key: ObjectKey


class HeldBy(Message, frozen=True, tag=123):
    """The answer: the metadata with its replication list, or None if the cell does not know the object; who answers, if
    it has the object itself; and whether the object was deleted."""

    request: int
    metadata: Metadata | None
    holder: Replica | None = None
    deleted: bool = False


class Silent(Message, frozen=True, tag=124):
    """To the rest of a cell: the subscribers of these were not found for so long that they have failed (§6.4.3)."""

    keys: tuple[SubscriptionKey, ...]


class PartFor(Message, frozen=True, tag=125):
    """Where only some members keep an object: one that does not passes a question for a part of it on to one that
    should, who answers `node` in `cell`."""

    request: PartRequest
    node: NodeId
    cell: CellId


class SureState(Message, frozen=True, tag=127):
    """Things to know, of which whoever is told says that it holds them."""

    request: int
    state: CellState


class Confirmed(Message, frozen=True, tag=128):
    """The answer to all these: what they told is held here."""

    requests: tuple[int, ...]


class Wanted(Message, frozen=True, tag=126):
    """To everybody: who has this object? Asked by `node`, who is in `cell`, for the `times`-th time. It came `hops`
    hops."""

    request: int
    times: int
    key: ObjectKey
    node: NodeId
    cell: CellId
    hops: int = 0
