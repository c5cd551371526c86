"""The server of Thyme-ES: everything is stored, matched and answered here (Thyme FGCS §8).

Several servers may share the work of one that could fail: whoever is asked carries the request out, answers, and
relays it to the others; a server that comes up asks another for everything. What a server holds is in its host's
store, so it survives a restart.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from thyme.approaches.contents import Contents, Fetches
from thyme.approaches.interface import Outcome
from thyme.approaches.paging import pieces_of
from thyme.host import Host
from thyme.model.ids import NodeId, SubscriptionKey
from thyme.model.matching import Batch, MatchingIndex
from thyme.model.objects import Metadata
from thyme.model.subscriptions import Subscription
from thyme.routing.layer import UnicastRouter
from thyme.wire.codec import DecodeError, decode, encode
from thyme.wire.message import Message
from thyme.wire.server import (
    DeleteRequest,
    InsertRequest,
    Relayed,
    SnapshotRequest,
    SubscribeRequest,
    UnsubscribeRequest,
)
from thyme.wire.storage import Acknowledged, MoreRequest, Notification, PartRequest

_metadata = msgspec.msgpack.Decoder(Metadata)
_subscription = msgspec.msgpack.Decoder(Subscription)
NO_REQUEST = -1


class Server:
    """The storage of a server node, and its answers."""

    def __init__(
        self,
        host: Host,
        router: UnicastRouter,
        contents: Contents,
        fetches: Fetches[NodeId],
        others: tuple[NodeId, ...],
        matches_per_notification: int,
    ) -> None:
        self._host = host
        self._router = router
        self._contents = contents
        self._fetches = fetches
        self._others = others
        self._step = matches_per_notification
        self._index = MatchingIndex()
        for _, value in host.store.items("object"):
            self._index.insert(_metadata.decode(value))
        for _, value in host.store.items("subscription"):
            self._index.add_subscription(_subscription.decode(value))

    def join(self) -> None:
        if self._others:
            self._router.send(self._others[0], SnapshotRequest(NO_REQUEST))

    def stored(self) -> Iterable[tuple[str, int, int]]:
        sizes = [metadata.size_bytes for metadata in self._index.objects()]
        yield "objects", len(sizes), sum(sizes)
        subscriptions = [len(msgspec.msgpack.encode(s)) for s in self._index.subscriptions()]
        yield "subscriptions", len(subscriptions), sum(subscriptions)

    def receive(self, client: NodeId, message: Message, *, relayed: bool = False) -> bool:
        """Carry out a request; False if the message is none."""
        match message:
            case InsertRequest():
                self._insert(client, message, relayed)
            case DeleteRequest(request, key):
                if key.owner == client:
                    self._index.delete(key)
                    self._contents.drop(key)
                    self._host.store.remove("object", str(key))
                refusal = "" if key.owner == client else "only the owner can delete an object"
                self._answer(client, message, Acknowledged(request, not refusal, refusal), relayed)
            case SubscribeRequest():
                self._subscribe(client, message, relayed)
            case UnsubscribeRequest(request, key):
                self._index.unsubscribe(key)
                self._host.store.remove("subscription", str(key))
                self._answer(client, message, Acknowledged(request), relayed)
            case MoreRequest(request, key, cursor, limit, remaining):
                batch = self._index.more(key, cursor, limit)
                self._notify(key, batch, max(0, remaining - len(batch.matches)), request)
            case PartRequest():
                self._router.send(client, self._contents.answer(message))
            case SnapshotRequest():
                self._send_snapshot(client)
            case Relayed(original, payload):
                self._on_relayed(original, payload)
            case _:
                return False
        return True

    def _insert(self, client: NodeId, message: InsertRequest, relayed: bool) -> None:
        metadata = message.metadata
        if len(message.data) == metadata.size_bytes:
            self._store(client, message, message.data, relayed)
        elif self._contents.has(metadata.key):
            self._answer(client, message, Acknowledged(message.request), relayed)
        else:
            source = metadata.key.owner

            def fetched(outcome: Outcome, data: bytes) -> None:
                if outcome.ok:
                    self._store(client, message, data, relayed)

            self._fetches.fetch(metadata.key, metadata.size_bytes, [source, *self._others], fetched)

    def _store(self, client: NodeId, message: InsertRequest, data: bytes, relayed: bool) -> None:
        metadata = message.metadata
        if not self._index.deleted(metadata.key):
            self._contents.keep(metadata.key, data)
            self._host.store.put("object", str(metadata.key), msgspec.msgpack.encode(metadata))
        matching = self._index.insert(metadata)
        self._answer(client, message, Acknowledged(message.request), relayed)
        if not relayed:
            for subscription in matching:
                self._notify(subscription.key, Batch((metadata,), 1, None))

    def _subscribe(self, client: NodeId, message: SubscribeRequest, relayed: bool) -> None:
        subscription = message.subscription
        known = self._index.subscription(subscription.key) is not None
        self._host.store.put("subscription", str(subscription.key), msgspec.msgpack.encode(subscription))
        self._answer(client, message, Acknowledged(message.request), relayed)
        if relayed:
            self._index.add_subscription(subscription)
        elif not known:
            batch = self._index.subscribe(subscription, message.past)
            if batch.matches:
                self._notify(subscription.key, batch, batch.total - len(batch.matches))

    def _answer(self, client: NodeId, message: Message, answer: Acknowledged, relayed: bool) -> None:
        if relayed:
            return
        self._router.send(client, answer)
        for other in self._others:
            self._router.send(other, Relayed(client, encode(message)))

    def _notify(self, key: SubscriptionKey, batch: Batch, remaining: int = 0, request: int = NO_REQUEST) -> None:
        pieces = pieces_of(batch.matches, self._step)
        for piece in pieces[:-1]:
            self._router.send(key.subscriber, Notification(key, piece))
        self._router.send(key.subscriber, Notification(key, pieces[-1], request, remaining, batch.cursor))

    def _on_relayed(self, client: NodeId, payload: bytes) -> None:
        try:
            message = decode(payload)
        except DecodeError:
            return
        self.receive(client, message, relayed=True)

    def _send_snapshot(self, to: NodeId) -> None:
        for subscription in self._index.subscriptions():
            request: Message = SubscribeRequest(NO_REQUEST, subscription, 0)
            self._router.send(to, Relayed(subscription.key.subscriber, encode(request)))
        for metadata in self._index.objects():
            request = InsertRequest(NO_REQUEST, metadata, b"")
            self._router.send(to, Relayed(metadata.key.owner, encode(request)))
