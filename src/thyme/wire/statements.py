"""Statements: the parts of messages that only their author may make, and that are signed.

Only the owner may insert or delete an object, and only the subscriber may make or end a subscription. This module lists
which messages carry such statements, and the bytes of each that are signed; a statement has the same bytes in all
messages and approaches. What changes on the way (replicas, positions, hops) is not part of it. The proof of an object
is in its metadata (`Metadata.seal`), that of any other statement beside the message (`signing`).

Not signed, because other nodes may send them on behalf of the author: adverts of directional walks, which relays sum
up; where a subscriber is (`LocationUpdate`); that a subscriber has failed (`Silent`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from thyme.model.ids import NodeId, ObjectKey, SubscriptionKey
from thyme.model.objects import DataObject, Metadata
from thyme.model.subscriptions import Subscription
from thyme.wire import cells, drip, local, server, socialcast, storage, walks
from thyme.wire.message import Message

_encode = msgspec.msgpack.Encoder().encode


class Statement(msgspec.Struct, frozen=True, gc=False):
    author: NodeId
    said: bytes
    is_object: bool = False
    """Whether its proof is in the metadata of the object."""


def object_statement(metadata: Metadata) -> Statement:
    """That the author owns this object, with this content and this end."""
    key = metadata.key
    said: tuple[object, ...] = (
        "object",
        key,
        metadata.tags,
        metadata.summary,
        metadata.published_s,
        metadata.size_bytes,
        metadata.digest,
    )
    if metadata.expires_s is not None:
        said = (*said, metadata.expires_s)
    return Statement(key.owner, _encode(said), True)


def subscription_statement(subscription: Subscription) -> Statement:
    said = ("subscription", subscription.key, subscription.conjunctions, subscription.frame)
    return Statement(subscription.key.subscriber, _encode(said))


def end_statement(key: SubscriptionKey) -> Statement:
    return Statement(key.subscriber, _encode(("ended", key)))


def deletion_statement(key: ObjectKey) -> Statement:
    return Statement(key.owner, _encode(("deleted", key)))


def interest_statement(interest: drip.Interest) -> Statement:
    """All that a subscriber wants from an instant on, which ends what it no longer wants."""
    return Statement(interest.subscriber, _encode(("interest", interest.asked_s, interest.subscriptions)))


def _of_state(state: cells.CellState) -> Iterator[Statement]:
    for part in state.parts:
        yield subscription_statement(part.subscription)
    for deleted in state.deleted:
        yield deletion_statement(deleted.key)
    for revoked in state.revoked:
        yield end_statement(revoked.key)


def _of_known(subscriptions: Iterable[Subscription], revoked: Iterable[storage.Revocation]) -> Iterator[Statement]:
    for subscription in subscriptions:
        yield subscription_statement(subscription)
    for key, _ in revoked:
        yield end_statement(key)


def _of_interests(interests: Iterable[drip.Interest]) -> Iterator[Statement]:
    return (interest_statement(one) for one in interests if one.subscriptions is not None)


def _of_deletions(deleted: Iterable[storage.Tombstone]) -> Iterator[Statement]:
    return (deletion_statement(one.key) for one in deleted)


def _objects_of_state(state: cells.CellState) -> Iterator[Metadata]:
    yield from (held.metadata for held in state.held)
    yield from _described(state.objects)


def _described(objects: Iterable[DataObject]) -> Iterator[Metadata]:
    return (thing.metadata for thing in objects)


STATEMENTS: dict[type[Message], Callable[[Any], Iterable[Statement]]] = {
    storage.Subscribed: lambda m: (subscription_statement(m.subscription),),
    storage.Unsubscribed: lambda m: (end_statement(m.key),),
    storage.JoinReply: lambda m: _of_known(m.subscriptions, m.revoked),
    local.KnownNews: lambda m: _of_known(m.subscriptions, m.revoked),
    server.DeleteRequest: lambda m: (deletion_statement(m.key),),
    server.SubscribeRequest: lambda m: (subscription_statement(m.subscription),),
    server.UnsubscribeRequest: lambda m: (end_statement(m.key),),
    cells.DeleteMetadata: lambda m: (deletion_statement(m.key),),
    cells.SubscribePart: lambda m: (subscription_statement(m.subscription),),
    cells.UnsubscribePart: lambda m: (end_statement(m.key),),
    cells.DropCopy: lambda m: (deletion_statement(m.key),),
    cells.CellState: _of_state,
    cells.JoinedState: lambda m: _of_state(m.state),
    cells.SureState: lambda m: _of_state(m.state),
    drip.Registration: lambda m: _of_interests((m.interest,)),
    drip.Relay: lambda m: (*_of_interests(m.interests), *_of_deletions(m.deleted)),
    drip.Deletion: lambda m: (deletion_statement(m.key),),
    drip.RegionDeletion: lambda m: (deletion_statement(m.deleted.key),),
    socialcast.Deletions: lambda m: _of_deletions(m.deleted),
}
"""What a message says besides of objects, in its order."""

OBJECTS: dict[type[Message], Callable[[Any], Iterable[Metadata]]] = {
    storage.Notification: lambda m: m.matches,
    storage.PastMatches: lambda m: m.matches,
    local.Told: lambda m: m.matches,
    server.InsertRequest: lambda m: (m.metadata,),
    cells.InsertMetadata: lambda m: (m.metadata,),
    cells.KeepCopy: lambda m: (m.metadata,),
    cells.CellNotification: lambda m: m.matches,
    cells.PastOf: lambda m: m.piece.matches,
    cells.HeldBy: lambda m: () if m.metadata is None else (m.metadata,),
    cells.CellState: _objects_of_state,
    cells.JoinedState: lambda m: _objects_of_state(m.state),
    cells.SureState: lambda m: _objects_of_state(m.state),
    drip.Publication: lambda m: (m.event.metadata,),
    drip.Registered: lambda m: _described(m.events),
    drip.RegionEvent: lambda m: (m.event.metadata,),
    drip.Relay: lambda m: _described(carried.event for carried in m.events),
    socialcast.Data: lambda m: (m.metadata,),
    socialcast.Offer: lambda m: (m.data.metadata,),
    walks.Event: lambda m: (m.metadata,),
}
"""The objects that a message tells of."""

LAST: frozenset[type[Message]] = frozenset(
    {storage.Notification, storage.PastMatches, local.Told, cells.CellNotification, cells.PastOf}
)
"""What tells a subscriber of objects, who passes none of them on."""
