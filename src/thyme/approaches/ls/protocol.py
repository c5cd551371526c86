"""Thyme-LS: local storage and subscription flooding (Thyme FGCS §5).

Inserts and deletes happen in the owner's own storage. Subscriptions and unsubscriptions are flooded, so every node
holds all of them, and matching is local: on insertion against the subscriptions held, and on hearing a
subscription against the objects held. Notifications and retrievals travel between owner and subscriber over a
unicast router. A node that (re)joins asks its neighbours for the subscriptions; a few answer, after a coin toss
and a random wait.

A subscription ends with its time frame, everywhere. The subscriptions that a node knows, and the revocations, are in
its store, so that a node that returns matches only those "of which it was unaware" (§9.3.2).

Where the paper is silent: a flooded (un)subscription counts as carried out when a neighbour is heard passing it on,
and is flooded again otherwise, unless nobody at all is in range; the objects of a node that was off are matched
against what it learns on joining (§9.3.2), and the reply to a join names revoked subscriptions as well; where
notifications are sure, the newest subscriptions before a crash are asked and answered again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import inf

import msgspec

from thyme.approaches.contents import Contents, Fetches
from thyme.approaches.entry import Entry
from thyme.approaches.interface import Capabilities, Done, Fetched, Outcome, ReactiveStore
from thyme.approaches.ls.agreement import Agreement, News
from thyme.approaches.ls.answers import Answers
from thyme.approaches.ls.joining import Joining
from thyme.approaches.ls.known import Known
from thyme.approaches.ls.notification_queues import MEET_S, MET_JITTER_S, NotificationQueues
from thyme.approaches.ls.options import LocalStorageOptions
from thyme.approaches.pager import Pager
from thyme.approaches.past import answer_in_pieces
from thyme.approaches.requests import Requests, RetryOptions
from thyme.host import Host
from thyme.model.ids import NodeId, ObjectKey, SubscriptionKey
from thyme.model.matching import Cursor, MatchingIndex, MatchingLimits
from thyme.model.objects import Content, Metadata
from thyme.model.subscriptions import Subscription
from thyme.routing.broadcasts import BroadcastHandler
from thyme.routing.flooding import MANY_NEIGHBOURS, Flooding
from thyme.wire.local import Met, Told
from thyme.wire.message import Message
from thyme.wire.storage import (
    Acknowledged,
    MoreRequest,
    Notification,
    PartReply,
    PartRequest,
    PastMatches,
    Revocation,
    Subscribed,
    Unsubscribed,
)

MetadataDecoder = msgspec.msgpack.Decoder(Metadata)

KNOWN_SUBSCRIPTIONS = 100_000
"""Subscriptions of others that a node keeps; further ones are dropped."""
ECHO = RetryOptions(timeout_s=1.0)
"""How long a flood waits to be heard from a neighbour before it is repeated."""
RETRY_JITTER_S = 0.5
"""Longest random delay before a flood is repeated: floods that started at the same time have collided."""
LIVE_JITTER_S = 0.005
"""Longest random delay before a live node floods a message or answers a subscription. In the simulator the delay keeps
frames of one instant from colliding in the air; below a live node there is a network that takes turns by itself, and a
link that repeats what is lost."""


class LocalStorage(ReactiveStore):
    """One node of Thyme-LS."""

    capabilities = Capabilities()

    def __init__(self, host: Host, options: LocalStorageOptions) -> None:
        self.options = options
        super().__init__(host, options.limits)
        self.router = options.router(host, self._on_message)
        self._flooding = Flooding(
            host,
            self._on_flooded,
            self.options.flooding,
            self.router.flood_routes(),
            lambda: self._agreement.neighbours,
        )
        self._requests = Requests(host, self.options.retry)
        self._echoes = Requests(host, ECHO)
        self._contents = Contents(host)
        self._contents.is_deleted = self.deleted
        self._fetches: Fetches[NodeId] = Fetches(
            self._requests, self.router.send, self.options.contents, self._tell_progress
        )
        limits = self.options.limits
        self._pager: Pager[NodeId] = Pager(self._inbox, self._requests, self.router.send, self.options.past_matches)
        self._index = MatchingIndex(MatchingLimits(subscriptions=KNOWN_SUBSCRIPTIONS, tombstones=limits.deletions))
        self._known = Known(host, self._index, self.options.revoked_s, sure=self.options.telling.sure)
        self._answers = Answers(
            host,
            self.options.answers,
            self.router,
            lambda key: self._index.subscription(key) is not None,
            self._queue_past,
        )
        self._joining = Joining(host, self.options.join, self._known.to_hand_over, self._learn, self._on_joined)
        telling = self.options.telling
        most = self.options.matches_per_notification
        self._queues = NotificationQueues(host, telling, self._index, self.router.send, most) if telling.sure else None
        self._met_s = -inf
        self._agreement = Agreement(
            host,
            self.options.agreement,
            self._known,
            lambda news: self._learn(news.subscriptions, news.revoked),
            self._on_met if telling.sure else None,
        )

    def start(self) -> None:
        self.router.start()
        for _, value in self.host.store.items("object"):
            self._index.insert(MetadataDecoder.decode(value))
        self._known.load()
        if self._queues is not None:
            self._queues.load()

    def join(self) -> None:
        self._joining.start()
        self._agreement.start()

    def stop(self) -> None:
        self._joining.stop()
        self._agreement.stop()

    def receive(self, sender: NodeId, message: Message) -> None:
        self._joining.heard(sender)
        if self._flooding.receive(sender, message) or self.router.receive(sender, message):
            return
        if self._joining.joined and self._agreement.receive(sender, message):
            return
        self._joining.receive(sender, message)

    def broadcast_handlers(self, kind: type[Message]) -> tuple[BroadcastHandler, ...]:
        for layer in (self._flooding, self.router, self._agreement):
            if handlers := layer.broadcast_handlers(kind):
                return (self._joining.broadcast_handler(), *handlers)
        return ()

    def _expire(self, key: ObjectKey) -> None:
        self._index.withdraw(key)
        self._contents.drop(key)
        self.host.store.remove("object", str(key))

    def _was_inserted(self, key: ObjectKey) -> bool:
        return self._index.get(key) is not None

    def _insert(self, metadata: Metadata, data: Content, done: Done, replicate: bool | None) -> Metadata:
        self._contents.keep_own(metadata, data)
        self.host.store.put("object", str(metadata.key), msgspec.msgpack.encode(metadata))
        for subscription in self._index.insert(metadata):
            self._notify(subscription.key, metadata)
        done(Outcome())
        return metadata

    def _delete(self, key: ObjectKey, done: Done) -> None:
        self._index.delete(key)
        self._contents.drop(key)
        self.host.store.remove("object", str(key))
        done(Outcome())

    def _subscribe(self, subscription: Subscription, done: Done) -> None:
        own = self._inbox.get(subscription.key.sid)
        self._known.add(subscription)
        self._answer(subscription, self.options.past_matches)
        self.host.after(self.options.collect_s, lambda: self._pager.give(own, lambda _: None))
        self._flood(Subscribed(subscription, self.options.past_matches), done)

    def _next_sid(self) -> int:
        """A number that no node knows, even if this node has lost its store."""
        number = self._inbox.next_sid()
        while SubscriptionKey(number, self.node) in self._known:
            number += 1
        return number

    def _unsubscribe(self, subscription: Subscription, done: Done) -> None:
        key, now_s = subscription.key, self.host.now()
        self._inbox.remove(key.sid)
        self._known.revoke(key, now_s)
        self._flood(Unsubscribed(key, now_s), done)

    def _retrieve(self, metadata: Metadata, done: Fetched) -> None:
        if metadata.key.owner == self.node:
            self._contents.deliver(metadata, done)
        else:
            self._fetches.fetch(metadata, [metadata.key.owner], done)

    def pause(self, key: ObjectKey) -> None:
        self._fetches.pause(key)

    def _fetching(self, key: ObjectKey) -> bool:
        return self._fetches.fetching(key)

    def more(self, sid: int, done: Done, most: int = 0) -> None:
        own = self._inbox.get(sid)
        self._expect_room()
        self._pager.give(own, self._begun(done), most)

    def has_room(self) -> bool:
        return self.router.has_room() and (self._queues is None or self._queues.has_room())

    def stored(self) -> Iterable[tuple[str, int, int]]:
        sizes = [metadata.size_bytes for metadata in self._index.objects()]
        yield "objects", len(sizes), sum(sizes)
        subscriptions = [len(msgspec.msgpack.encode(s)) for s in self._index.subscriptions()]
        yield "subscriptions", len(subscriptions), sum(subscriptions)

    def _flood(self, message: Message, done: Done) -> None:
        if self.host.alone():  # there is nobody to wait for
            self._flooding.flood(message, lambda: None)
            done(Outcome())
            return
        since_s = self.host.now()

        waits_s = [self.options.flooding.jitter_s]

        def send(number: int) -> None:
            wait_s = self.host.random.uniform(0.0, waits_s[-1])
            waits_s.append(RETRY_JITTER_S)
            self.host.after(wait_s, lambda: self._flooding.flood(message, lambda: self._echoed(number)))

        def ended(outcome: Outcome) -> None:
            # With no neighbour in range there is no one to flood to; a node that joins later asks for it.
            done(Outcome() if self._joining.silent_since(since_s) else outcome)

        self._echoes.begin(send, ended)

    def _echoed(self, number: int) -> None:
        self._echoes.resolve(number, Outcome())

    def _on_flooded(self, origin: NodeId, message: Message) -> None:
        match message:
            case Subscribed(subscription, past) if past < 0:
                self._known.add(subscription)
                self._answer(subscription, -past)
            case Subscribed(subscription, past):
                self._on_subscription(subscription, past)
            case Unsubscribed(key, at_s):
                self._known.revoke(key, at_s)
            case Met():
                self._try_all()
            case _:
                pass

    def _on_subscription(self, subscription: Subscription, past: int) -> bool:
        """Match a subscription if it is new; whether it was."""
        new = self._known.add(subscription)
        if new:
            self._answer(subscription, past)
        return new

    def _answer(self, subscription: Subscription, limit: int) -> None:
        """Send the newest of this node's matches to the subscriber, if there are any."""
        pieces = list(self._past(subscription, None, limit))
        if pieces[0].matches and subscription.key.subscriber == self.node:
            self._send_pieces(pieces)
        elif pieces[0].matches:
            self._answers.send(pieces)

    def _queue_past(self, key: SubscriptionKey) -> None:
        """An answer was lost: its subscriber, which may not know of it, is notified of all of it."""
        subscription = self._index.subscription(key)
        if self._queues is not None and subscription is not None:
            for metadata in self._index.search(subscription, self.options.telling.kept).matches:
                self._queues.tell(key, metadata)

    def _past(
        self, subscription: Subscription, cursor: Cursor | None, limit: int, request: int = -1
    ) -> Iterator[PastMatches]:
        most = self.options.matches_per_notification
        missing_bytes, carries_bytes = self.host.codec.missing_bytes, self.host.part_bytes()
        return answer_in_pieces(
            self._index.search, subscription, cursor, limit, most, missing_bytes, request, carries_bytes
        )

    def _send_pieces(self, pieces: Iterable[PastMatches]) -> None:
        for piece in pieces:
            if piece.key.subscriber == self.node:
                self._pager.on_piece(self.node, piece)
            else:
                self.router.send(piece.key.subscriber, piece)

    def _notify(self, key: SubscriptionKey, metadata: Metadata) -> None:
        if key.subscriber == self.node:
            self._inbox.accept(key, metadata)
        elif self._queues is not None:
            self._queues.tell(key, metadata)
        else:
            self.router.send(key.subscriber, Notification(key, (metadata,)))

    def _on_joined(self) -> None:
        """A crash may have undone the effects of the newest subscriptions."""
        self._agreement.listen()
        for subscription in self._known.interrupted:
            self._answer(subscription, self.options.past_matches)
            if self._inbox.find(subscription.key) is not None:
                self._flood(Subscribed(subscription, -self.options.past_matches), lambda _: None)
        self._known.interrupted.clear()

    def _on_met(self) -> None:
        """A new neighbour is in range: announce it, unless another node does. The announcement before is heeded for
        `MEET_S`, in a crowd longer, and further ones wait."""
        met_s, crowd = self.host.now(), max(1.0, self._agreement.neighbours / MANY_NEIGHBOURS)
        wait_s = max(0.0, self._met_s + MEET_S * crowd - met_s)

        def say() -> None:
            if self._met_s < met_s:
                self._flooding.flood(Met())
                self._try_all()

        self.host.after(wait_s + self.host.random.uniform(0.0, MET_JITTER_S), say)

    def _try_all(self) -> None:
        self._met_s = self.host.now()
        if self._queues is not None:
            self._queues.meet()

    def _on_told(self, origin: NodeId, message: Told) -> None:
        self._inbox.accept_all(message.key, message.matches)
        if message.request >= 0:
            self.router.send(origin, Acknowledged(message.request))

    def _on_message(self, origin: NodeId, message: Message) -> None:
        if self._queues is not None:
            self._queues.heard_of(origin)
        match message:
            case Told():
                self._on_told(origin, message)
            case Acknowledged(request):
                if self._queues is not None:
                    self._queues.acknowledged(request)
            case Notification(key, matches):
                self._inbox.accept_all(key, matches)
            case PastMatches():
                self._pager.on_piece(origin, message)
            case MoreRequest(request, subscription, cursor, limit):
                if subscription.key.subscriber == origin:
                    self._send_pieces(self._past(subscription, cursor, limit, request))
            case PartRequest():
                self.router.send(origin, self._contents.answer(message))
            case PartReply():
                self._fetches.on_reply(message)
            case _:
                self._joining.receive(origin, message)

    def _learn(self, subscriptions: tuple[Subscription, ...], revoked: tuple[Revocation, ...]) -> News:
        """Store items of a neighbour; returns the new ones. An own subscription that is over but still known to others
        is revoked again."""
        gone = [(key, at_s) for key, at_s in revoked if self._known.revoke(key, at_s)]
        added = []
        for subscription in subscriptions:
            key = subscription.key
            if key.subscriber != self.node:
                if self._on_subscription(subscription, self.options.past_matches):
                    added.append(subscription)
            elif not self._inbox.was_used(key.sid):
                self._known.add(subscription)  # made before this node lost its store
            elif self._known.revoke(key, self.host.now()):
                gone.append((key, self.host.now()))
        return added, gone


HEARD_PER_S = 10.0
"""Checksums that a live node receives in a second: in larger crowds each node sends its own less often."""
ENTRY = Entry(
    LocalStorage.capabilities,
    LocalStorageOptions,
    LocalStorage,
    {
        "telling": {"sure": True},
        "answers": {"jitter_s": LIVE_JITTER_S},
        "flooding": {"jitter_s": LIVE_JITTER_S},
        "agreement": {"heard_per_s": HEARD_PER_S},
    },
    LocalStorageOptions.wide_ids,
)
