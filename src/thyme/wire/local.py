"""Messages of Thyme-LS (tags 40–49): anti-entropy between neighbours, and acknowledged notifications."""

from __future__ import annotations

from thyme.model.ids import SubscriptionKey
from thyme.model.objects import Metadata
from thyme.model.subscriptions import Subscription
from thyme.wire.message import Message
from thyme.wire.storage import Revocation


class KnownDigest(Message, frozen=True, tag=40):
    """A digest of the subscriptions that the sender knows, broadcast from time to time."""

    control = True
    digest: bytes


class KnownBuckets(Message, frozen=True, tag=41):
    """The same per bucket, sent to a neighbour whose digest differs."""

    digests: bytes


class KnownItems(Message, frozen=True, tag=42):
    """The answer: the numbers of what the sender knows in the buckets that differ."""

    buckets: tuple[int, ...]
    items: bytes


class KnownWanted(Message, frozen=True, tag=43):
    """A request for the items with these numbers."""

    items: bytes


class KnownNews(Message, frozen=True, tag=44):
    """Subscriptions and revocations that the neighbour lacks, or that are new to the sender as well."""

    spreads = True
    subscriptions: tuple[Subscription, ...]
    revoked: tuple[Revocation, ...]


class Told(Message, frozen=True, tag=45):
    """Objects that match a subscription; its subscriber answers with `Acknowledged`, unless the number is below 0."""

    request: int
    key: SubscriptionKey
    matches: tuple[Metadata, ...]


class Met(Message, frozen=True, tag=46):
    """Flooded: there is a new link between two nodes, so that other nodes may be reachable again."""

    control = True
