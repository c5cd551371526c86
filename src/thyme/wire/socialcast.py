"""Messages between neighbours in SocialCast (tags 160–179; SocialCast §III, Fig. 1).

A control message describes its sender as a carrier and as a subscriber; a data message carries a whole object, for its
receiver to read, to carry, or both. A copy to be carried is offered, accepted and released, so that it is never in two
places (`approaches.socialcast.handovers`). A message is identified by a 63-bit digest of its key, so that the last λ of
them fit a control message whatever the names of the objects.
"""

from __future__ import annotations

from hashlib import blake2b

import msgspec

from thyme.model.frames import TimeFrame
from thyme.model.ids import ObjectKey
from thyme.model.normal_forms import Conjunction
from thyme.model.objects import Metadata
from thyme.wire.message import Message
from thyme.wire.storage import Tombstone

Topic = tuple[str, ...]
"""The positive tags of a conjunction, sorted; utilities refer to these."""

UNIT = 1_000
"""Utilities travel as thousandths."""


class Wanted(msgspec.Struct, frozen=True, array_like=True):
    """One conjunction of a subscription, and the time frame in which publications are wanted."""

    conjunction: Conjunction
    frame: TimeFrame = TimeFrame()


class Control(Message, frozen=True, tag=160):
    """CONTROL⟨U, I, R⟩: utilities, interests, and the last λ messages received.

    `utilities[k]` is the sender's as a carrier for `topics[k]`, in thousandths; for all other topics it is
    `elsewhere`.
    """

    control = True
    wanted: tuple[Wanted, ...]
    topics: tuple[Topic, ...]
    utilities: tuple[int, ...]
    elsewhere: int
    received: tuple[int, ...]
    deleted: tuple[int, ...] = ()
    """The latest deleted objects that the sender knows of, by their identifiers."""


class Data(Message, frozen=True, tag=161):
    """DATA: an object, after `hops` hops. The receiver carries on the copies named; none means that it is only
    delivered."""

    metadata: Metadata
    content: bytes
    hops: int
    copies: tuple[int, ...] = ()
    expires_s: float | None = None
    """The publisher's own time limit, if it set one."""

    def forwarded_by(self, sender: int) -> bool:
        return self.metadata.key.owner != sender


class Offer(Message, frozen=True, tag=162):
    """An object to read, and copies of it to carry once they are released. Offer numbers of a node are unique."""

    data: Data
    number: int

    def forwarded_by(self, sender: int) -> bool:
        return self.data.forwarded_by(sender)


class Accept(Message, frozen=True, tag=163):
    """To the sender of an offer: it was received, and its copies are reserved."""

    control = True
    number: int


class Release(Message, frozen=True, tag=164):
    """To the node that accepted an offer: the sender has dropped its copies; carry them."""

    control = True
    number: int


class Deletions(Message, frozen=True, tag=165):
    """Deleted objects, to a neighbour that does not know of the deletions."""

    deleted: tuple[Tombstone, ...]

    def forwarded_by(self, sender: int) -> bool:
        return all(one.key.owner != sender for one in self.deleted)


def identifier(key: ObjectKey) -> int:
    """The number that identifies a message."""
    digest = blake2b(f"{key.owner}/{key.oid}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1
