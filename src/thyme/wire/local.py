"""What neighbours in Thyme-LS say to each other to know the same subscriptions, and notifications that are acknowledged
(tags 40–49)."""

from __future__ import annotations

from thyme.model.ids import SubscriptionKey
from thyme.model.objects import Metadata
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


class Told(Message, frozen=True, tag=45):
    """Objects that match a subscription; its subscriber answers with `Acknowledged`, unless the number is below 0."""

    request: int
    key: SubscriptionKey
    matches: tuple[Metadata, ...]


class Met(Message, frozen=True, tag=46):
    """Flooded: two neighbours hear each other who did not before, so somebody may be in reach again."""

    control = True
