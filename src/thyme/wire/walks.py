"""Messages of directional random walks (tags 180–199).

A walk is identified by its start time and its first node; identifiers order walks, the older first. Subscriptions are
sent as the cells of a Bloom filter that they set, never as queries.
"""

from __future__ import annotations

from typing import ClassVar

import msgspec

from thyme.model.ids import NodeId, ObjectKey, SubscriptionKey
from thyme.model.objects import Metadata
from thyme.wire.message import Message


class WalkName(msgspec.Struct, frozen=True, array_like=True, order=True):
    began_s: float
    initiator: NodeId


class Advert(msgspec.Struct, frozen=True, array_like=True):
    """A subscription: its start, the filter cells of each of its conjunctions, whether it was `revoked`, and the end of
    its time frame. Of two adverts of a subscription, the one that its subscriber sent later counts."""

    key: SubscriptionKey
    cells: tuple[tuple[int, ...], ...]
    since_s: float
    revoked: bool = False
    told_s: float = 0.0
    end_s: float | None = None


class Token(msgspec.Struct, frozen=True, array_like=True):
    """A walker's state: its walk, its step, the step at which it stops after meeting an overlay, and the last attempt
    that a younger overlay blocked."""

    walk: WalkName
    attempt: int = 1
    step: int = 0
    rests_at: int | None = None
    shut_in: int = 0


class Probe(Message, frozen=True, tag=180):
    """The walk's last node asks for its neighbours, at its `step` in its `attempt`; the walker came from `before`."""

    control: ClassVar[bool] = True
    walk: WalkName
    attempt: int
    step: int
    before: NodeId | None = None


class Offer(Message, frozen=True, tag=181):
    """A neighbour answers `to`. Nodes that overhear it know that the sender is beside the walk.

    `marked` of its neighbours are beside the walk (with weight (1): were beside `before`), and `second` are known to be
    in the second neighbourhood. `overlay` is the oldest walk that the sender is connected to, if any; `visited` if this
    attempt of the walk has been there.
    """

    control: ClassVar[bool] = True
    walk: WalkName
    attempt: int
    step: int
    to: NodeId
    marked: int
    second: int
    overlay: WalkName | None
    visited: bool


class WalkerMoved(Message, frozen=True, tag=182):
    """The walker moves to the receiver, which becomes part of the walk."""

    control: ClassVar[bool] = True
    token: Token
    adverts: tuple[Advert, ...]


class WalkerReturned(Message, frozen=True, tag=183):
    """The walker found no next node and goes back; `pruned` if the sender leaves the walk."""

    control: ClassVar[bool] = True
    token: Token
    pruned: bool


class WalksMet(Message, frozen=True, tag=184):
    """The walk ends here: the receiver, which is on an older overlay, becomes a broker."""

    control: ClassVar[bool] = True
    walk: WalkName


class Anchored(Message, frozen=True, tag=185):
    """The receiver's part of the overlay is now connected to an older walk, whose subscriptions went before this."""

    control: ClassVar[bool] = True
    overlay: WalkName


class Advertised(Message, frozen=True, tag=186):
    """Subscriptions behind the sender, new or revoked."""

    adverts: tuple[Advert, ...]

    def forwarded_by(self, sender: int) -> bool:
        return all(advert.key.subscriber != sender for advert in self.adverts)


class Event(Message, frozen=True, tag=187):
    """A published object, forwarded along the walks to all that may match it, or to one subscription alone."""

    metadata: Metadata
    hops: int
    to: SubscriptionKey | None = None

    def forwarded_by(self, sender: int) -> bool:
        return self.metadata.key.owner != sender


class Fetch(Message, frozen=True, tag=188):
    """A request for a part of an object; `way` is the path of the answer. It goes back along the event's path, or
    along all branches if it searches for the owner."""

    key: ObjectKey
    way: tuple[NodeId, ...]
    request: int
    offset: int
    size: int
    search: bool = False

    def forwarded_by(self, sender: int) -> bool:
        return bool(self.way)


class Fetched(Message, frozen=True, tag=189):
    """The part, or `found = False`; goes back along `way`, whose last node is the next receiver."""

    key: ObjectKey
    way: tuple[NodeId, ...]
    request: int
    found: bool
    offset: int = 0
    total_bytes: int = 0
    part: bytes = b""

    def forwarded_by(self, sender: int) -> bool:
        return self.key.owner != sender


class Unlinked(Message, frozen=True, tag=190):
    """The sender does not know the receiver as a neighbour in the overlay (any more)."""

    control: ClassVar[bool] = True


class Rested(Message, frozen=True, tag=191):
    """The receiver's walk met an overlay: its walker, wherever it is, may soon stop."""

    control: ClassVar[bool] = True
    overlay: WalkName


class Beside(Message, frozen=True, tag=192):
    """The sender overheard an offer and so is in the second neighbourhood of the walk (cost (2) only)."""

    control: ClassVar[bool] = True
    walk: WalkName
    step: int


class Present(Message, frozen=True, tag=193):
    """Keep-alive: the sender uses the receiver as its path to the oldest walk."""

    control: ClassVar[bool] = True
