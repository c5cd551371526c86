"""The server of Thyme-ES: everything is stored, matched and answered here (Thyme FGCS §8).

Several servers may share the work of one that could fail: whoever is asked carries the request out, answers, and
relays it to the others; a server that comes up asks another for everything. What a server holds is in its host's
store, so it survives a restart, and so is what was deleted and revoked: a request that comes late does not bring it
back.

A client may insert, delete, subscribe and unsubscribe for itself alone. Subscriptions end with their time frames.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

import msgspec

from thyme.approaches.contents import Contents, Fetches
from thyme.approaches.deadlines import LINGERING_S, Ends
from thyme.approaches.eviction import Evictable, Rank
from thyme.approaches.expiries import Expiries
from thyme.approaches.interface import Outcome
from thyme.approaches.marks import Marks
from thyme.approaches.past import answer_in_pieces
from thyme.host import Host
from thyme.model.errors import InputError
from thyme.model.ids import NodeId, ObjectKey, SubscriptionKey
from thyme.model.matching import Cursor, IndexFull, MatchingIndex
from thyme.model.objects import Content, Metadata
from thyme.model.subscriptions import Subscription
from thyme.routing.layer import UnicastRouter
from thyme.wire.codec import DecodeError
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
TOMBSTONES = 100_000
"""Deletions remembered, so that an insertion that was repeated does not bring the object back."""
REVOKED = 100_000
"""Revoked subscriptions remembered, for the same reason."""


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
        expiries: Expiries,
    ) -> None:
        self._host = host
        self._router = router
        self._contents = contents
        self._fetches = fetches
        self._others = others
        self._step = matches_per_notification
        self._expiries = expiries
        self._index = MatchingIndex()
        self._deleted = Marks(host, "deleted object", TOMBSTONES)
        contents.is_deleted = lambda key: str(key) in self._deleted
        self._revoked = Marks(host, "revoked subscription", REVOKED)
        self._ends = Ends(host, self._drop, LINGERING_S)
        for _, value in host.store.items("object"):
            self._index.insert(_metadata.decode(value))
        for _, value in host.store.items("subscription"):
            subscription = _subscription.decode(value)
            self._index.add_subscription(subscription)
            self._ends.watch(subscription)

    def join(self) -> None:
        if self._others:
            self._router.send(self._others[0], SnapshotRequest(NO_REQUEST))

    def stored(self) -> Iterable[tuple[str, int, int]]:
        sizes = [metadata.size_bytes for metadata in self._index.objects()]
        yield "objects", len(sizes), sum(sizes)
        subscriptions = [len(msgspec.msgpack.encode(s)) for s in self._index.subscriptions()]
        yield "subscriptions", len(subscriptions), sum(subscriptions)

    def evictable(self) -> Iterator[Evictable]:
        """Clients rely on their server: nothing but what is too old, and that is gone for good."""
        for metadata in self._index.objects():
            if metadata.key.owner != self._host.node:
                drop = partial(self.let_go, metadata.key)
                yield Evictable(metadata.key, Rank.SOLE, metadata.size_bytes, metadata.published_s, drop)

    def receive(self, client: NodeId, message: Message, *, relayed: bool = False) -> bool:
        """Carry out a request; False if the message is none."""
        match message:
            case InsertRequest(_, metadata):
                if self._may(client, metadata.key.owner, message, relayed):
                    self._insert(client, message, relayed)
            case DeleteRequest(request, key):
                if self._may(client, key.owner, message, relayed):
                    self._delete(key)
                    self._answer(client, message, Acknowledged(request), relayed)
            case SubscribeRequest(_, subscription):
                if self._may(client, subscription.key.subscriber, message, relayed):
                    self._subscribe(client, message, relayed)
            case UnsubscribeRequest(request, key):
                if self._may(client, key.subscriber, message, relayed):
                    self._revoked.add(str(key))
                    self._drop(key)
                    self._answer(client, message, Acknowledged(request), relayed)
            case MoreRequest(request, subscription, cursor, limit):
                if subscription.key.subscriber == client:
                    self._send_past(subscription, cursor, limit, request)
            case PartRequest():
                self._router.send(client, self._contents.answer(message))
            case SnapshotRequest():
                if client in self._others:
                    self._send_snapshot(client)
            case Relayed(original, payload):
                if client in self._others:
                    self._on_relayed(original, payload)
            case _:
                return False
        return True

    def _may(
        self,
        client: NodeId,
        creator: NodeId,
        message: InsertRequest | DeleteRequest | SubscribeRequest | UnsubscribeRequest,
        relayed: bool,
    ) -> bool:
        """Everybody asks for themselves."""
        if client != creator and not relayed:
            refusal = f"node {client} may not ask this for node {creator}"
            self._router.send(client, Acknowledged(message.request, False, refusal))
        return client == creator

    def _insert(self, client: NodeId, message: InsertRequest, relayed: bool) -> None:
        metadata = message.metadata
        if metadata.describes(message.data):
            self._store(client, message, message.data, relayed)
        elif self._index.get(metadata.key) is not None or str(metadata.key) in self._deleted:
            self._answer(client, message, Acknowledged(message.request), relayed)
        elif (own := self._contents.read(metadata)) is not None:  # the server's own user inserts it
            self._store(client, message, own, relayed)
        else:
            source = metadata.key.owner

            def fetched(outcome: Outcome, data: Content) -> None:
                if outcome.ok:
                    self._store(client, message, data, relayed)

            self._fetches.fetch(metadata, [source, *self._others], fetched)

    def _store(self, client: NodeId, message: InsertRequest, data: Content, relayed: bool) -> None:
        metadata = message.metadata
        matching: list[Subscription] = []
        if str(metadata.key) not in self._deleted and self._expiries.watch(metadata):
            try:
                if self._contents.read(metadata) is None:
                    self._contents.keep(metadata, data)
                self._host.store.put("object", str(metadata.key), msgspec.msgpack.encode(metadata))
                matching = self._index.insert(metadata)
            except InputError as full:  # the index, or the disk
                if self._index.get(metadata.key) is None:
                    self.let_go(metadata.key)
                self._refuse(client, message.request, str(full), relayed)
                return
        self._answer(client, message, Acknowledged(message.request), relayed)
        if not relayed:
            for subscription in matching:
                self._router.send(subscription.key.subscriber, Notification(subscription.key, (metadata,)))

    def _delete(self, key: ObjectKey) -> None:
        self._deleted.add(str(key))
        self.let_go(key)

    def let_go(self, key: ObjectKey) -> None:
        """Keep nothing of an object any more."""
        self._index.withdraw(key)
        self._contents.drop(key)
        self._host.store.remove("object", str(key))

    def _subscribe(self, client: NodeId, message: SubscribeRequest, relayed: bool) -> None:
        """Answers with the newest past matches, if there are any; a repeated request is answered again."""
        subscription = message.subscription
        if str(subscription.key) not in self._revoked:
            try:
                new = self._index.add_subscription(subscription)
            except IndexFull as full:
                self._refuse(client, message.request, str(full), relayed)
                return
            if new:
                self._ends.watch(subscription)
                self._host.store.put("subscription", str(subscription.key), msgspec.msgpack.encode(subscription))
        self._relay(client, message, relayed)
        if not relayed and not self._send_past(subscription, None, message.past, message.request, or_nothing=True):
            self._router.send(client, Acknowledged(message.request))

    def _drop(self, key: SubscriptionKey) -> None:
        """A subscription was revoked, or its time is over."""
        self._ends.unwatch(key)
        self._index.unsubscribe(key)
        self._host.store.remove("subscription", str(key))

    def _send_past(
        self, subscription: Subscription, cursor: Cursor | None, limit: int, request: int, *, or_nothing: bool = False
    ) -> bool:
        """The next past matches; whether there were any. With `or_nothing`, an empty answer is left out."""
        search, missing_bytes = self._index.search, self._host.codec.missing_bytes
        carries_bytes, most = self._host.part_bytes(), self._step
        answer = answer_in_pieces(search, subscription, cursor, limit, most, missing_bytes, request, carries_bytes)
        pieces = list(answer)
        found = bool(pieces[0].matches)
        if found or not or_nothing:
            for piece in pieces:
                self._router.send(subscription.key.subscriber, piece)
        return found

    def _answer(self, client: NodeId, message: Message, answer: Acknowledged, relayed: bool) -> None:
        if not relayed:
            self._router.send(client, answer)
        self._relay(client, message, relayed)

    def _refuse(self, client: NodeId, request: int, reason: str, relayed: bool) -> None:
        if not relayed:
            self._router.send(client, Acknowledged(request, False, reason))

    def _relay(self, client: NodeId, message: Message, relayed: bool) -> None:
        """Tell the other servers what was asked here."""
        if not relayed:
            for other in self._others:
                self._router.send(other, Relayed(client, self._host.codec.encode(message)))

    def _on_relayed(self, client: NodeId, payload: bytes) -> None:
        try:
            message = self._host.codec.decode(payload)
        except DecodeError:
            return
        self.receive(client, message, relayed=True)

    def _send_snapshot(self, to: NodeId) -> None:
        """Everything, and first what another server may hold that was deleted or revoked since."""
        for name in self._deleted:
            self._pass_on(to, _key(name)[1], DeleteRequest(NO_REQUEST, ObjectKey(*_key(name))))
        for name in self._revoked:
            sid, subscriber = _key(name)
            self._pass_on(to, subscriber, UnsubscribeRequest(NO_REQUEST, SubscriptionKey(int(sid), subscriber)))
        for subscription in self._index.subscriptions():
            self._pass_on(to, subscription.key.subscriber, SubscribeRequest(NO_REQUEST, subscription, 0))
        for metadata in self._index.objects():
            self._pass_on(to, metadata.key.owner, InsertRequest(NO_REQUEST, metadata, b""))

    def _pass_on(self, to: NodeId, client: NodeId, request: Message) -> None:
        self._router.send(to, Relayed(client, self._host.codec.encode(request)))


def _key(name: str) -> tuple[str, NodeId]:
    """What a key's text is made of."""
    what, _, node = name.rpartition("@")
    return what, NodeId(int(node))
