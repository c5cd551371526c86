"""What neighbours in Thyme-LS say to each other to know the same subscriptions (tags 40–49)."""

from __future__ import annotations

from thyme.model.subscriptions import Subscription
from thyme.wire.message import Message
from thyme.wire.storage import Revocation


class KnownDigest(Message, frozen=True, tag=40):
    """What the sender knows, summed up in a few bytes and said to whoever is in range, now and then."""

    control = True
    digest: bytes


class KnownBuckets(Message, frozen=True, tag=41):
    """The same by bucket: the neighbour knows something else."""

    digests: bytes


class KnownItems(Message, frozen=True, tag=42):
    """The answer: the numbers of what the sender knows in the buckets that differ."""

    buckets: tuple[int, ...]
    items: bytes


class KnownWanted(Message, frozen=True, tag=43):
    """Send me what has these numbers."""

    items: bytes


class KnownNews(Message, frozen=True, tag=44):
    """Subscriptions and revocations that the neighbour lacks, or that are new to the sender as well."""

    subscriptions: tuple[Subscription, ...]
    revoked: tuple[Revocation, ...]
