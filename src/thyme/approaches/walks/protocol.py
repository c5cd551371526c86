"""Directional random walks as an event system: brokers, Bloom filters and notifications (walks paper §III, §V).

Publishers and subscribers begin a walk with their first operation and are part of the overlay from then on
(walker.py). Subscriptions are advertised along the walks as filter cells; each node of the overlay keeps one
counting filter per branch (branches.py), and where walks meet, these decide which branches an event takes. A
subscriber checks the event against its whole query. Contents stay with their publisher and are fetched back
along the way that the event came. If that way is unknown or brings no answer, because the overlay was mended since,
the request is repeated along all branches, and the answer shows the new way.

Where the paper is silent: publishers answer for the past, with their own objects, as soon as they hear of a
subscription (events.py). A walk that found nobody is repeated (walker.py). Broken paths are walked again
(upkeep.py): a branch that is gone is dropped with all that was behind it; what is cut off from the oldest walk
dissolves, and those of it who have subscriptions, or events that somebody may not have received, begin a walk.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf

import msgspec

from thyme.approaches.contents import Contents, Fetches
from thyme.approaches.entry import Entry
from thyme.approaches.inbox import ENDED_S
from thyme.approaches.interface import (
    Capabilities,
    Done,
    Outcome,
    ReactiveStore,
)
from thyme.approaches.interface import Fetched as FetchedDone
from thyme.approaches.requests import Requests
from thyme.approaches.walks.branches import EVERYTHING, Branches
from thyme.approaches.walks.events import Outbox, Passages
from thyme.approaches.walks.filters import cells_of_conjunctions
from thyme.approaches.walks.membership import Membership, WalkCallbacks
from thyme.approaches.walks.options import ADVERTS_PER_FRAME, DirectionalWalksOptions
from thyme.approaches.walks.upkeep import Upkeep
from thyme.approaches.walks.walker import Walker
from thyme.host import Host, StoreFull
from thyme.model.bounded import Bounded
from thyme.model.errors import InputError
from thyme.model.ids import NodeId, ObjectKey, SubscriptionKey
from thyme.model.objects import Content, Metadata
from thyme.model.records import Counted, Joined, TrafficKind
from thyme.model.subscriptions import Subscription
from thyme.wire.message import Message
from thyme.wire.storage import PartReply, PartRequest
from thyme.wire.walks import Advert, Advertised, Event, Fetch, Fetched, Present, Unlinked

ASKED = "walks subscription asked"
"""When a subscription was made, by its number."""

REFUSED_S = 5.0
"""How long to wait after the disk refused an event, before the subscription is advertised again."""
AGAIN_S = 2.0
"""A node that was cut off walks again within so long: nodes beyond it have learnt of it by then."""


class DirectionalWalks(ReactiveStore):
    """One node of the walks' overlay."""

    capabilities = Capabilities(past_is_best_effort=True)

    def __init__(self, host: Host, options: DirectionalWalksOptions | None = None) -> None:
        self.options = options or DirectionalWalksOptions()
        super().__init__(host, self.options.limits)
        if self.options.paper:
            self.capabilities = Capabilities(answers_past=False)
        self._inbox.removed = lambda sid: host.store.remove(ASKED, str(sid))
        self._contents = Contents(host)
        self._contents.is_deleted = self.deleted
        self._requests = Requests(host, self.options.retry)
        self._fetches: Fetches[NodeId] = Fetches(self._requests, self._ask, self.options.contents, self._tell_progress)
        self.branches = Branches(host.node, self.options.filters, self.options.subscriptions_known)
        around = WalkCallbacks(
            self._send,
            self._tell,
            self._on_advertised,
            self._forget,
            self._lose,
            self._arrived,
            lambda: not self._takes_part,
            self._dissolve,
        )
        walking = self.options.walker
        self.membership = Membership(host, self.branches, around, walking.rest_s)
        self.walker = Walker(host, self.branches, self.membership, walking, around, repeats=not self.options.paper)
        self._upkeep = Upkeep(host, self.branches, self.membership, self.options.check_s, self._send, self._lose)
        self._takes_part = len(self._inbox) > 0
        self._settled = False
        self._waiting: list[tuple[Event | None, Done]] = []
        self._passages = Passages(self.options.events_remembered)
        self._asked: Bounded[int, None] = Bounded(self.options.retry.pending)
        self._outbox = Outbox(host, self.options.filters, self.options.published)
        self._refused: set[SubscriptionKey] = set()
        """Subscriptions whose events the disk refused."""
        self.forwarded = 0
        self.dead_ends = 0

    def start(self) -> None:
        """Nothing is sent before the first operation: nodes that take no part stay silent."""

    def join(self) -> None:
        self.host.record(Joined())
        self._upkeep.start()
        for own in self._inbox:
            self._stand(own.subscription)
        if len(self._inbox) or len(self._outbox):
            self._takes_part = True
            self._enter()

    def stop(self) -> None:
        for branch in self.branches:
            self.host.unicast(branch, Unlinked())

    def receive(self, sender: NodeId, message: Message) -> None:
        self._upkeep.heard(sender)
        if self.walker.receive(sender, message) or self.membership.receive(sender, message):
            return
        match message:
            case Unlinked():
                self.membership.unlink(sender)
                self._lose(sender, told=True)
            case Fetched():
                self._on_fetched(sender, message)
            case Advertised() | Event() | Fetch() | Present() if sender not in self.branches:
                self.host.unicast(sender, Unlinked())
            case Present() if sender == self.membership.anchor:
                # Each uses the other as its path to the oldest walk.
                self._lose(sender)
            case Advertised(adverts):
                self._on_advertised(sender, adverts)
            case Event(to=None):
                self._on_event(sender, message)
            case Event():
                self._on_late(sender, message)
            case Fetch():
                self._on_fetch(sender, message)
            case _:
                pass

    def _expire(self, key: ObjectKey) -> None:
        self._contents.drop(key)
        self._outbox.drop(key)

    def _was_inserted(self, key: ObjectKey) -> bool:
        return self._contents.has(key)

    def _insert(self, metadata: Metadata, data: Content, done: Done, replicate: bool | None) -> Metadata:
        self._contents.keep(metadata, data)
        self._when_settled(Event(metadata, 0), done)
        return metadata

    def _delete(self, key: ObjectKey, done: Done) -> None:
        self._contents.drop(key)
        self._outbox.drop(key)
        done(Outcome())

    def _check_subscription(self, subscription: Subscription) -> None:
        if subscription.frame.ended(self.host.now()) and not self.capabilities.answers_past:
            raise InputError("the paper's walks keep nothing for later: the time frame must reach into the future")

    def _subscribe(self, subscription: Subscription, done: Done) -> None:
        self.host.store.put(ASKED, str(subscription.key.sid), msgspec.msgpack.encode(self.host.now()))
        self._stand(subscription)
        self._when_settled(None, done)

    def _unsubscribe(self, subscription: Subscription, done: Done) -> None:
        revocation = self._advert(subscription, revoked=True)
        self._inbox.remove(subscription.key.sid)
        self._advertise(revocation)
        done(Outcome())

    def _retrieve(self, metadata: Metadata, done: FetchedDone) -> None:
        if metadata.key.owner == self.node:
            self._contents.deliver(metadata, done)
        else:
            self._fetches.fetch(metadata, [metadata.key.owner], done)

    def pause(self, key: ObjectKey) -> None:
        self._fetches.pause(key)

    def _fetching(self, key: ObjectKey) -> bool:
        return self._fetches.fetching(key)

    def stored(self) -> Iterable[tuple[str, int, int]]:
        yield "branches", len(self.branches), 0
        yield "subscriptions", self.branches.subscriptions, 0
        yield "events forwarded", self.forwarded, 0
        yield "events at a dead end", self.dead_ends, 0

    def _stand(self, subscription: Subscription) -> None:
        """Advertise an own subscription until its time frame ends, or until publishers had the time to answer."""
        advert = self._advert(subscription)
        self._advertise(advert)
        if advert.end_s is not None:
            self.host.after(max(0.0, advert.end_s - self.host.now()), lambda: self._end(subscription))

    def _end(self, subscription: Subscription) -> None:
        self._advertise(self._advert(subscription, revoked=True))

    def _advert(self, subscription: Subscription, *, revoked: bool = False) -> Advert:
        cells = cells_of_conjunctions(subscription.conjunctions, self.options.filters)
        stored = self.host.store.get(ASKED, str(subscription.key.sid))
        now_s = self.host.now()
        asked_s = msgspec.msgpack.decode(stored, type=float) if stored else now_s
        start_s, end_s = subscription.frame.start_s, subscription.frame.end_s
        since_s = asked_s if self.options.paper else -inf if start_s is None else start_s
        if end_s is not None:
            end_s = max(end_s, asked_s + ENDED_S)
        return Advert(subscription.key, cells, since_s, revoked, now_s, end_s)

    def _enter(self) -> None:
        if self.membership.walk is None:
            self._settled = False
            self.walker.begin()
            self.host.after(self.options.settle_s, self._settle)

    def _when_settled(self, event: Event | None, done: Done) -> None:
        """Continue once this node's walk has met another, or is known to be alone."""
        self._takes_part = True
        self._waiting.append((event, done))
        walk = self.membership.walk
        if walk is None:
            self._enter()
        elif self._settled or self.membership.overlay != walk or walk.initiator != self.node:
            self._settle()
            self.walker.look_again()

    def _arrived(self) -> None:
        """This node's walk cannot continue now: nodes that were cut off may be in range again."""
        self._settle()
        self._requests.repeat()

    def _settle(self) -> None:
        self._settled = True
        waiting, self._waiting = self._waiting, []
        for event, done in waiting:
            if event is not None and self._contents.has(event.metadata.key):
                self._outbox.add(event.metadata, self.branches.adverts_for(self.node))
                self._on_event(self.node, event)
            done(Outcome())

    def _advertise(self, advert: Advert) -> None:
        self._on_advertised(self.node, (advert,))

    def _on_advertised(self, source: NodeId, adverts: Sequence[Advert]) -> None:
        if source != self.node:
            adverts = self._without_own(source, adverts)
        learnt = (self.branches.learn(source, advert) for advert in adverts)
        news = [advert for advert in learnt if advert is not None]
        if not news:
            return
        self._outbox.lost_sight_of(advert.key for advert in news if advert.revoked)
        for branch in self.branches:
            if branch != source:
                self._tell(branch, news)
        self._send_after(news)

    def _without_own(self, source: NodeId, adverts: Sequence[Advert]) -> Sequence[Advert]:
        """Drop adverts of this node's own subscriptions. If one is advertised that has ended, its revocation was
        lost: send it again."""
        own = [one for one in adverts if one.key.subscriber == self.node and one.key.sid != EVERYTHING]
        if not own:
            return adverts
        now_s = self.host.now()
        stale = [one for one in own if not one.revoked and self._inbox.find(one.key) is None]
        if stale:
            self._tell(source, [msgspec.structs.replace(one, revoked=True, told_s=now_s) for one in stale])
        return [one for one in adverts if one not in own]

    def _send_after(self, news: Iterable[Advert]) -> None:
        """Own events for subscriptions that become known only now."""
        for advert in news:
            for metadata in self._outbox.unsent(advert):
                self._on_late(self.node, Event(metadata, 0, advert.key))

    def _tell(self, branch: NodeId, adverts: Sequence[Advert]) -> None:
        """Advertise to a branch the subscriptions that are not behind it."""
        for i in range(0, len(adverts), ADVERTS_PER_FRAME):
            self._send(branch, Advertised(tuple(adverts[i : i + ADVERTS_PER_FRAME])))

    def _on_event(self, source: NodeId, event: Event) -> None:
        metadata = event.metadata
        if not self._passages.spread(metadata.key, source):
            return
        wanted = [self._accept(own.subscription.key, event) for own in self._inbox]
        onward = self.branches.matching(metadata.tags, source)
        for branch in onward:
            self.forwarded += 1
            self._send(branch, Event(metadata, event.hops + 1))
        if source != self.node and not onward and not any(wanted):
            self.dead_ends += 1

    def _on_late(self, source: NodeId, event: Event) -> None:
        """An event for one subscription follows the path to it."""
        assert event.to is not None
        self._passages.note(event.metadata.key, source)
        if event.to.subscriber == self.node:
            self._accept(event.to, event)
            return
        branch = self.branches.way_to(event.to)
        if branch is not None and branch != source:
            self.forwarded += 1
            self._send(branch, msgspec.structs.replace(event, hops=event.hops + 1))

    def _accept(self, key: SubscriptionKey, event: Event) -> bool:
        try:
            return self._inbox.accept(key, event.metadata, event.hops)
        except StoreFull:
            self.host.record(Counted(TrafficKind.DROPPED, "Event", reason="the store is full"))
            if key not in self._refused:
                self._refused.add(key)
                self.host.after(REFUSED_S, lambda: self._advertise_again(key))
            return True

    def _advertise_again(self, key: SubscriptionKey) -> None:
        """The disk refused events for this subscription: publishers send theirs again to a later advert."""
        self._refused.discard(key)
        own = self._inbox.find(key)
        if own is not None:
            self._advertise(self._advert(own.subscription))

    def _send(self, branch: NodeId, message: Message, tries: int = 1) -> None:
        def failed() -> None:
            if branch not in self.branches:
                return
            if tries >= self.options.link_tries:
                self._lose(branch)
            else:
                self.host.after(self.options.link_retry_s, lambda: self._send(branch, message, tries + 1))

        self.host.unicast(branch, message, failed)

    def _forget(self, branch: NodeId) -> None:
        revoked = self.branches.drop(branch)
        self._outbox.lost_sight_of(advert.key for advert in revoked)
        for other in self.branches:
            self._tell(other, revoked)

    def _lose(self, branch: NodeId, told: bool = False) -> None:
        """A branch is gone, or says so: remove what was behind it, or dissolve if it led to the oldest walk."""
        if branch not in self.branches:
            return
        cut_off = branch == self.membership.anchor
        if not told:
            self.host.unicast(branch, Unlinked())
        self._forget(branch)
        if cut_off or (len(self.branches) == 0 and not self.walker.walking):
            self._dissolve()
        else:
            self.walker.lost(branch)

    def _dissolve(self) -> None:
        """Leave the overlay, inform the nodes that depend on this one, and walk again soon if there is a reason."""
        for branch in self.branches:
            self.host.unicast(branch, Unlinked())
            self._outbox.lost_sight_of(advert.key for advert in self.branches.drop(branch))
        self.walker.leave()
        for own in self._inbox:
            advert = self._advert(own.subscription)
            if advert.end_s is None or advert.end_s > self.host.now():
                self.branches.learn(self.node, advert)
        if len(self._inbox) or self._waiting or len(self._outbox):
            self.host.after(self.host.random.uniform(0.0, AGAIN_S), self._enter)

    def _ask(self, owner: NodeId, request: PartRequest) -> None:
        """A request that is repeated, or whose way is unknown, is a search."""
        way = self._passages.last_branch(request.key)
        search = request.request in self._asked or way not in self.branches
        self._asked[request.request] = None
        self._on_fetch(self.node, Fetch(request.key, (), request.request, request.offset, request.size, search))

    def _on_fetch(self, sender: NodeId, fetch: Fetch) -> None:
        way = fetch.way if sender == self.node else (*fetch.way, sender)
        if fetch.key.owner == self.node:
            answer = self._contents.answer(PartRequest(fetch.request, fetch.key, fetch.offset, fetch.size))
            self._on_fetched(
                self.node,
                Fetched(fetch.key, way, fetch.request, answer.found, answer.offset, answer.total_bytes, answer.part),
            )
        elif self.node not in fetch.way:
            onward = list(self.branches) if fetch.search else [self._passages.last_branch(fetch.key)]
            for branch in onward:
                if branch is not None and branch in self.branches and branch != sender:
                    self._send(branch, msgspec.structs.replace(fetch, way=way))

    def _on_fetched(self, sender: NodeId, fetched: Fetched) -> None:
        if sender in self.branches:
            self._passages.note(fetched.key, sender)
        if fetched.way:
            self._send(fetched.way[-1], msgspec.structs.replace(fetched, way=fetched.way[:-1]))
            return
        self._fetches.on_reply(
            PartReply(fetched.request, fetched.key, fetched.found, fetched.offset, fetched.total_bytes, fetched.part)
        )


ENTRY = Entry(DirectionalWalks.capabilities, DirectionalWalksOptions, DirectionalWalks)
