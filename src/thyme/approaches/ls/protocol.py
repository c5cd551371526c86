"""Thyme-LS: local storage and subscription flooding (Thyme FGCS §5).

Inserts and deletes happen in the owner's own storage. Subscriptions and unsubscriptions are flooded, so every node
holds all of them, and matching is local: on insertion against the subscriptions held, and on hearing a
subscription against the objects held. Notifications and retrievals travel between owner and subscriber over a
unicast router. A node that (re)joins asks its neighbours for the subscriptions; a few answer, after a coin toss
and a random wait.

Where the paper is silent: a flooded (un)subscription counts as carried out when a neighbour is heard passing it on,
and is flooded again otherwise, unless nobody at all is in range; the objects of a node that was off are matched
against what it learns on joining (§9.3.2), and the reply to a join names revoked subscriptions as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from thyme.approaches.contents import ContentOptions, Contents, Fetches
from thyme.approaches.inbox import Inbox
from thyme.approaches.interface import (
    Capabilities,
    Done,
    Failure,
    Fetched,
    Notify,
    Outcome,
    ReactiveStore,
    StoreLimits,
)
from thyme.approaches.ls.joining import Joining, JoinOptions
from thyme.approaches.paging import ask_for_more, pieces_of
from thyme.approaches.requests import Requests, RetryOptions
from thyme.host import Host
from thyme.model.bounded import Bounded
from thyme.model.errors import InputError
from thyme.model.frames import TimeFrame
from thyme.model.ids import NodeId, ObjectKey, SubscriptionKey
from thyme.model.matching import Batch, Cursor, MatchingIndex
from thyme.model.objects import Metadata
from thyme.model.queries import Query
from thyme.model.subscriptions import Subscription
from thyme.routing.flooding import Flooding, FloodingOptions
from thyme.routing.hearing import Ear
from thyme.routing.layer import Deliver, UnicastRouter
from thyme.wire.message import Message
from thyme.wire.storage import MoreRequest, Notification, PartReply, PartRequest, Subscribed, Unsubscribed

MetadataDecoder = msgspec.msgpack.Decoder(Metadata)
RouterFactory = Callable[[Host, Deliver], UnicastRouter]


class LocalStorageOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    past_matches: int = 10
    """n: how many of the most recent past matches each node sends at once (§3.3)."""
    retry: RetryOptions = RetryOptions()
    echo: RetryOptions = RetryOptions(timeout_s=1.0)
    """How long a flood waits to be heard from a neighbour before it is repeated."""
    contents: ContentOptions = ContentOptions()
    join: JoinOptions = JoinOptions()
    flooding: FloodingOptions = FloodingOptions()
    limits: StoreLimits = StoreLimits()
    revoked_memory: int = 1_000
    """Unsubscriptions remembered, to hand them to nodes that were off."""
    matches_per_notification: int = 8
    """A notification of more matches than this is sent in several frames."""


class LocalStorage(ReactiveStore):
    """One node of Thyme-LS."""

    capabilities = Capabilities()

    def __init__(self, host: Host, router: RouterFactory, options: LocalStorageOptions | None = None) -> None:
        self.options = options or LocalStorageOptions()
        super().__init__(host, self.options.limits)
        self._flooding = Flooding(host, self._on_flooded, self.options.flooding)
        self._router = router(host, self._on_message)
        self._requests = Requests(host, self.options.retry)
        self._echoes = Requests(host, self.options.echo)
        self._contents = Contents(host)
        self._fetches: Fetches[NodeId] = Fetches(self._requests, self._router.send, self.options.contents)
        limits = self.options.limits
        self._inbox: Inbox[NodeId] = Inbox(host, limits.own_subscriptions, limits.notified_memory)
        self._index = MatchingIndex()
        self._revoked: Bounded[SubscriptionKey, None] = Bounded(self.options.revoked_memory)
        self._joining = Joining(host, self.options.join, self._subscriptions_to_hand_over, self._learn)

    def start(self) -> None:
        self._router.start()
        for _, value in self.host.store.items("object"):
            self._index.insert(MetadataDecoder.decode(value))
        for own in self._inbox:
            self._index.add_subscription(own.subscription)

    def join(self) -> None:
        self._joining.start()

    def stop(self) -> None:
        self._joining.stop()

    def receive(self, sender: NodeId, message: Message) -> None:
        self._joining.heard(sender)
        if self._flooding.receive(sender, message) or self._router.receive(sender, message):
            return
        self._joining.receive(sender, message)

    def ears(self, kind: type[Message]) -> tuple[Ear, ...]:
        router = self._router.ears(kind)
        return (self._joining.ear(), *router) if router else ()

    def _was_inserted(self, key: ObjectKey) -> bool:
        return self._index.get(key) is not None or self._index.deleted(key)

    def _insert(self, metadata: Metadata, data: bytes, done: Done, replicate: bool | None) -> Metadata:
        self._contents.keep(metadata.key, data)
        self.host.store.put("object", str(metadata.key), msgspec.msgpack.encode(metadata))
        for subscription in self._index.insert(metadata):
            self._notify(subscription.key, Batch((metadata,), 1, None))
        done(Outcome())
        return metadata

    def delete(self, oid: str, done: Done) -> None:
        key = ObjectKey(oid, self.node)
        if self._index.get(key) is None:
            raise InputError(f"this node has no object {oid!r} to delete; only the owner can delete an object")
        self._names.use(oid)
        self._index.delete(key)
        self._contents.drop(key)
        self.host.store.remove("object", str(key))
        done(Outcome())

    def subscribe(
        self, query: Query, frame: TimeFrame, notify: Notify, done: Done, *, sid: int | None = None
    ) -> SubscriptionKey:
        number = self._inbox.next_sid() if sid is None else sid
        subscription = Subscription.to_query(SubscriptionKey(number, self.node), query, frame)
        self._expect_room()
        self._inbox.add(subscription, notify)
        self._match_own(subscription)
        self._flood(Subscribed(subscription, self.options.past_matches), self._begun(done))
        return subscription.key

    def unsubscribe(self, sid: int, done: Done) -> None:
        key = self._inbox.get(sid).subscription.key
        self._expect_room()
        self._inbox.remove(sid)
        self._revoke(key)
        self._flood(Unsubscribed(key), self._begun(done))

    def retrieve(self, metadata: Metadata, done: Fetched) -> None:
        if metadata.key.owner == self.node:
            found = self._contents.has(metadata.key)
            outcome = Outcome() if found else Outcome(Failure.NOT_FOUND)
            done(outcome, self._contents.read(metadata.key) if found else b"")
            return
        self._fetches.fetch(metadata.key, metadata.size_bytes, [metadata.key.owner], done)

    def more(self, sid: int, done: Done) -> None:
        own = self._inbox.get(sid)

        def ask(source: NodeId, number: int, cursor: Cursor, left: int) -> None:
            limit = self.options.past_matches
            self._router.send(source, MoreRequest(number, own.subscription.key, cursor, limit, left))

        ask_for_more(own, self._requests, ask, done)

    def remaining(self, sid: int) -> int:
        return self._inbox.get(sid).remaining

    def resume(self, notify: Notify) -> tuple[SubscriptionKey, ...]:
        return self._inbox.resume(notify)

    def roomy(self) -> bool:
        return self._router.roomy()

    def stored(self) -> Iterable[tuple[str, int, int]]:
        sizes = [metadata.size_bytes for metadata in self._index.objects()]
        yield "objects", len(sizes), sum(sizes)
        subscriptions = [len(msgspec.msgpack.encode(s)) for s in self._index.subscriptions()]
        yield "subscriptions", len(subscriptions), sum(subscriptions)

    def _flood(self, message: Message, done: Done) -> None:
        since_s = self.host.now()

        def send(number: int) -> None:
            self._flooding.flood(message, lambda: self._echoed(number))

        def ended(outcome: Outcome) -> None:
            # With nobody in range there is nobody to tell: whoever comes will ask on joining.
            done(Outcome() if self._joining.silent_since(since_s) else outcome)

        self._echoes.begin(send, ended)

    def _echoed(self, number: int) -> None:
        self._echoes.resolve(number, Outcome())

    def _on_flooded(self, origin: NodeId, message: Message) -> None:
        match message:
            case Subscribed(subscription, past):
                self._on_subscription(subscription, past)
            case Unsubscribed(key):
                self._revoke(key)
            case _:
                pass

    def _on_subscription(self, subscription: Subscription, past: int) -> None:
        if subscription.key in self._revoked or self._index.subscription(subscription.key):
            return
        batch = self._index.subscribe(subscription, past)
        if batch.matches:
            self._notify(subscription.key, batch, batch.total - len(batch.matches))

    def _match_own(self, subscription: Subscription) -> None:
        for metadata in self._index.subscribe(subscription, self.options.past_matches).matches:
            self._inbox.accept(subscription.key, metadata)

    def _revoke(self, key: SubscriptionKey) -> None:
        self._index.unsubscribe(key)
        self._revoked[key] = None

    def _notify(self, key: SubscriptionKey, batch: Batch, remaining: int = 0, request: int = -1) -> None:
        if key.subscriber == self.node:
            for metadata in batch.matches:
                self._inbox.accept(key, metadata)
            return
        pieces = pieces_of(batch.matches, self.options.matches_per_notification)
        for piece in pieces[:-1]:
            self._router.send(key.subscriber, Notification(key, piece))
        self._router.send(key.subscriber, Notification(key, pieces[-1], request, remaining, batch.cursor))

    def _on_message(self, origin: NodeId, message: Message) -> None:
        match message:
            case Notification():
                self._on_notification(origin, message)
            case MoreRequest(request, key, cursor, limit, remaining):
                batch = self._index.more(key, cursor, limit)
                self._notify(key, batch, max(0, remaining - len(batch.matches)), request)
            case PartRequest():
                self._router.send(origin, self._contents.answer(message))
            case PartReply():
                self._fetches.on_reply(message)
            case _:
                self._joining.receive(origin, message)

    def _on_notification(self, origin: NodeId, message: Notification) -> None:
        for metadata in message.matches:
            self._inbox.accept(message.key, metadata)
        own = self._inbox.find(message.key)
        if own is not None and message.request >= 0:
            own.cursors.pop(origin, None)
        if own is not None and message.cursor is not None and message.remaining > 0:
            own.cursors[origin] = (message.cursor, message.remaining)
        self._requests.resolve(message.request, Outcome())

    def _subscriptions_to_hand_over(self) -> tuple[list[Subscription], list[SubscriptionKey]]:
        self._index.expire(self.host.now())
        return list(self._index.subscriptions()), list(self._revoked)

    def _learn(self, subscriptions: tuple[Subscription, ...], revoked: tuple[SubscriptionKey, ...]) -> None:
        for key in revoked:
            self._revoke(key)
        for subscription in subscriptions:
            if subscription.key.subscriber != self.node:
                self._on_subscription(subscription, self.options.past_matches)
