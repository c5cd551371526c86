"""What SocialCast nodes say to their neighbours (tags 160–179; SocialCast §III, Fig. 1).

A control message tells who its sender is as a carrier and as a subscriber; a data message carries an object whole,
for its receiver to read, to carry, or both. A copy that is to be carried on is offered, accepted and released, so
that it is never in two places (`approaches.socialcast.handovers`). Messages are told apart by a 63-bit digest of
their key, so that the last λ of them fit a control message whatever objects are called.
"""

from __future__ import annotations

from hashlib import blake2b

import msgspec

from thyme.model.frames import TimeFrame
from thyme.model.ids import ObjectKey
from thyme.model.normal_forms import Conjunction
from thyme.model.objects import Metadata
from thyme.wire.message import Message

Topic = tuple[str, ...]
"""The positive tags of a conjunction, sorted: what utilities are about."""

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
    """An object to read, and copies of it to carry once they are released. No two offers of a node have the same
    number."""

    data: Data
    number: int

    def forwarded_by(self, sender: int) -> bool:
        return self.data.forwarded_by(sender)


class Accept(Message, frozen=True, tag=163):
    """To the sender of an offer: it was received, and its copies are kept aside."""

    control = True
    number: int


class Release(Message, frozen=True, tag=164):
    """To who accepted an offer: its copies are no longer here, carry them."""

    control = True
    number: int


def identifier(key: ObjectKey) -> int:
    """The number by which nodes remember a message."""
    digest = blake2b(f"{key.owner}/{key.oid}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1
