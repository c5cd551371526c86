"""SocialCast: messages carried by people who will meet those interested (SocialCast §III).

Once per period T, at a phase of its own, every node (1) re-computes its utilities and broadcasts them with its
interests and the last λ messages it received, (2) looks for a better carrier for each copy in its buffer, and (3)
sends: a message to every interested neighbour that lacks it, which reads it without carrying it, and copies to
better carriers, which leave this node's buffer. A subscriber that is also the better carrier gets one message that
says so. The paper's Fig. 2 disagrees with its text in places; the text is followed, and the docs page lists them.

A copy changes hands in three steps (`handovers`), so that a lost acknowledgement cannot make two of one.

Beyond the paper: an owner may delete a message; the tombstone goes to everybody who is met, and where it is known the
message is neither told nor carried any more. Subscriptions are queries over several tags with a time frame, and the
full query is checked on both sides; a publisher may set a time limit besides the hops; γ may follow the conditions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from random import Random

import msgspec

from thyme.approaches.entry import Entry
from thyme.approaches.eviction import Evictable
from thyme.approaches.interface import Capabilities, Done, Fetched, Outcome, ReactiveStore
from thyme.approaches.socialcast.buffers import Buffer, BufferedMessage, RecentMessages
from thyme.approaches.socialcast.handovers import Handovers
from thyme.approaches.socialcast.neighbours import Neighbour, Neighbourhood
from thyme.approaches.socialcast.options import SocialCastOptions
from thyme.approaches.socialcast.prophet import Predictabilities
from thyme.approaches.socialcast.readable import ReadableContents
from thyme.approaches.socialcast.routers import (
    BestCarrier,
    Epidemic,
    Handover,
    Prophet,
    RandomCarrier,
    Router,
    SprayAndWait,
)
from thyme.approaches.socialcast.utilities import CarrierScore, Utilities
from thyme.approaches.tombstones import Tombstones
from thyme.host import Host, Timer
from thyme.model.errors import InputError
from thyme.model.ids import NodeId, ObjectKey
from thyme.model.objects import Content, Metadata
from thyme.model.records import Counted, Joined, Sampled, TrafficKind
from thyme.model.subscriptions import Subscription
from thyme.wire.message import Message
from thyme.wire.socialcast import UNIT, Accept, Control, Data, Deletions, Offer, Release, Topic, Wanted, identifier

BUFFERED = "buffered copies"
DELETIONS_TOLD = 100
"""Deleted objects that a control message names, the latest."""
DELETIONS_AT_ONCE = 20
"""Deletions that a neighbour is sent in one message, the latest that it does not know of: with their signatures about
3 kB."""

NEIGHBOUR_LIFETIME_PERIODS = 1.05
"""A neighbour not heard for longer is gone; everybody speaks once per period."""


class SocialCast(ReactiveStore):
    """One node of SocialCast."""

    capabilities = Capabilities(stores=False, past_is_best_effort=True, delivers_contents=True)

    def __init__(self, host: Host, options: SocialCastOptions | None = None) -> None:
        self.options = options or SocialCastOptions()
        if self.options.paper:
            self.options = self.options.as_in_the_paper()
        super().__init__(host, self.options.limits)
        limits = self.options.limits
        self.buffer = Buffer(host, self.options.buffer_copies)
        self._tombstones = Tombstones(host, limits.deletions)
        self.readable = ReadableContents(host, self.options.contents, self.options.read_s, self._tombstones)
        self._memory = RecentMessages(self.options.memory_ids)
        lifetime_s = self.options.period_s * NEIGHBOUR_LIFETIME_PERIODS
        near = self._neighbourhood = Neighbourhood(lifetime_s, self.options.neighbours, self.options.given_ids)
        self.handovers = Handovers(host, self.options, self.buffer, near.lose, near.take_back)
        self.score = _score_of(self.options)
        self._router = _router_of(self.options, self.score, host.random)
        self._wanted: tuple[Wanted, ...] = ()
        self._timer: Timer | None = None
        self._sampled_s = 0.0
        for held in self.buffer:
            self._memory.add(held.id)

    def start(self) -> None:
        self._announce_interests()
        self._timer = self.host.after(self.host.random.uniform(0.0, self.options.period_s), self._turn)

    def join(self) -> None:
        self.host.record(Joined())

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def receive(self, sender: NodeId, message: Message) -> None:
        match message:
            case Control():
                self._on_control(sender, message)
            case Data():
                self._on_data(sender, message)
            case Offer():
                self._on_offer(sender, message)
            case Accept():
                self.handovers.on_accept(sender, message.number)
            case Deletions():
                self._on_deletions(message)
            case Release():
                self._on_release(sender, message.number)
            case _:
                pass

    def _expire(self, key: ObjectKey) -> None:
        self._drop_deleted(key)

    def _was_inserted(self, key: ObjectKey) -> bool:
        return key in self.readable

    def _check_insertion(self, metadata: Metadata, data: Content) -> None:
        if metadata.size_bytes > self.options.content_bytes:
            raise InputError(
                f"object {metadata.key.oid!r} has {metadata.size_bytes} bytes; SocialCast carries contents within its "
                f"messages, at most {self.options.content_bytes} (setting content_bytes): publish a smaller one that "
                "says where to get it"
            )

    def _insert(self, metadata: Metadata, data: Content, done: Done, replicate: bool | None) -> Metadata:
        assert isinstance(data, bytes), "larger ones are refused"
        lifetime_s = self.options.lifetime_of(metadata.tags)
        expires_s = metadata.published_s + lifetime_s if lifetime_s > 0.0 else None
        if metadata.expires_s is not None:
            expires_s = metadata.expires_s
        self.readable.keep(metadata, data, expires_s)
        self._memory.add(identifier(metadata.key))
        copies = tuple(range(self._copies_for(metadata.tags)))
        published = Data(metadata, data, 0, copies, expires_s)
        self.buffer.add(published, copies, 0)
        self._deliver(published, 0)
        done(Outcome())
        return metadata

    def _delete(self, key: ObjectKey, done: Done) -> None:
        held = self.buffer.get(identifier(key))
        self._tombstones.add(key, held.expires_s if held else None)
        self._drop_deleted(key)
        done(Outcome())

    def _on_deletions(self, message: Deletions) -> None:
        for one in message.deleted:
            if self._tombstones.add(one.key, one.until_s):
                self._drop_deleted(one.key)

    def _drop_deleted(self, key: ObjectKey) -> None:
        self.readable.drop(key)
        id_ = identifier(key)
        held = self.buffer.get(id_)
        for copy in list(held.copies) if held else ():
            self.buffer.remove(id_, copy)

    def _pass_on_deletions(self, present: Iterable[Neighbour]) -> None:
        known = {identifier(one.key): one for one in self._tombstones}
        for neighbour in present:
            lacking = [id_ for id_ in known if id_ not in neighbour.deleted][-DELETIONS_AT_ONCE:]
            if lacking:
                neighbour.deleted.update(lacking)
                self.host.unicast(neighbour.node, Deletions(tuple(known[id_] for id_ in lacking)))

    def _check_subscription(self, subscription: Subscription) -> None:
        size_bytes = len(msgspec.msgpack.encode(_wanted([own.subscription for own in self._inbox] + [subscription])))
        if size_bytes > self.options.control_bytes // 2:
            raise InputError(
                f"with this one, this node's subscriptions take {size_bytes} bytes; at most "
                f"{self.options.control_bytes // 2} fit a control message: unsubscribe from some or ask for less"
            )

    def _subscribe(self, subscription: Subscription, done: Done) -> None:
        self._announce_interests()
        self._deliver_what_is_here()
        done(Outcome())

    def _unsubscribe(self, subscription: Subscription, done: Done) -> None:
        self._inbox.remove(subscription.key.sid)
        self._announce_interests()
        done(Outcome())

    def _retrieve(self, metadata: Metadata, done: Fetched) -> None:
        """Reads the content that came with the notification; sends nothing."""
        self.readable.deliver(metadata, done)

    def evictable(self) -> Iterator[Evictable]:
        return self.readable.evictable()

    def stored(self) -> Iterable[tuple[str, int, int]]:
        yield "copies", len(self.buffer), self.buffer.size_bytes
        yield "copies on offer", *self.handovers.on_offer()
        yield "contents", len(self.readable), 0
        yield "subscriptions", len(self._inbox), len(msgspec.msgpack.encode(self._wanted))

    def _turn(self) -> None:
        """The three phases, one after the other."""
        self._timer = self.host.after(self.options.period_s, self._turn)
        now_s = self.host.now()
        present = self._neighbourhood.present(now_s)
        if any(wanted.frame.end_s is not None for wanted in self._wanted):
            self._announce_interests()
        self.score.observe(present, [wanted.conjunction.positive for wanted in self._wanted])
        self.host.broadcast(self._control())
        self._sample(now_s)
        self.handovers.settle_overdue()
        self.readable.expire(now_s)
        if len(self._tombstones):
            self._tombstones.expire(now_s)
            for held in self.buffer:
                if held.metadata.key in self._tombstones:  # a hand-over was taken back
                    self._drop_deleted(held.metadata.key)
            self._pass_on_deletions(present.values())
        if len(self.buffer) == 0:
            return
        self.buffer.expire(now_s)
        if present:
            self._router.begin(present)
            takers: dict[tuple[str, ...], list[Neighbour]] = {}
            for held in self.buffer:
                tags = held.metadata.tags
                if tags not in takers:
                    takers[tags] = [neighbour for neighbour in present.values() if neighbour.matches(tags)]
                handovers = self._router.handovers(held)
                if handovers or takers[tags]:
                    self._disseminate(held, handovers, takers[tags])

    def _control(self) -> Control:
        topics, utilities, elsewhere = self.score.table()
        kept = self._that_fit(topics)
        deleted = tuple(identifier(one.key) for one in self._tombstones)[-DELETIONS_TOLD:]
        told = self._memory.told()
        return Control(self._wanted, tuple(topics[:kept]), tuple(utilities[:kept]), elsewhere, told, deleted)

    def _that_fit(self, topics: list[Topic]) -> int:
        """How many topics fit the control message: all of them, unless tags are very long."""
        room = self.options.control_bytes // 2
        for count, topic in enumerate(topics):
            room -= 8 + sum(4 * len(tag) + 5 for tag in topic)
            if room < 0:
                return count
        return len(topics)

    def _disseminate(self, held: BufferedMessage, handovers: Iterable[Handover], takers: list[Neighbour]) -> None:
        lacking = [one for one in takers if held.id not in one.received]
        hops = min(held.copies.values()) if lacking else 0
        for handover in handovers:
            self._hand_over(held, handover)
        for neighbour in lacking:
            if held.id not in neighbour.received and neighbour.wants(held.metadata):
                neighbour.give(held.id)
                lost = partial(self._neighbourhood.lose, neighbour.node, held.id)
                self.host.unicast(neighbour.node, held.data(hops), lost)

    def _hand_over(self, held: BufferedMessage, handover: Handover) -> None:
        """Give copies to a neighbour to carry. Those that this node carries on as well need no care."""
        data = held.data(max(held.copies[copy] for copy in handover.copies), handover.copies)
        if handover.keeps:
            handover.to.give(held.id)
            self.host.unicast(handover.to.node, data, partial(self._neighbourhood.lose, handover.to.node, held.id))
        elif self.options.handover == "link":
            handover.to.give(held.id)
            self._send_by_link(held.id, handover.to.node, data)
        elif not self.handovers.full:
            handover.to.give(held.id)
            self.handovers.offer(held.id, handover.to.node, data)

    def _send_by_link(self, id_: int, to: NodeId, data: Data) -> None:
        for copy in data.copies:
            self.buffer.remove(id_, copy)

        def failed() -> None:
            self._neighbourhood.lose(to, id_)
            self.buffer.add(data, data.copies, data.hops)

        self.host.unicast(to, data, failed)

    def _on_offer(self, sender: NodeId, offer: Offer) -> None:
        self.handovers.answer(sender, offer, carries=self._read(sender, offer.data))

    def _on_release(self, sender: NodeId, number: int) -> None:
        data = self.handovers.released(sender, number)
        if data is None:
            self._drop("Release", "not kept aside")
        elif data.metadata.key in self._tombstones:
            self._drop("Release", "deleted")
        elif self._has_expired(data):
            self._drop("Release", "expired")
        else:
            self._carry(data)

    def _on_control(self, sender: NodeId, control: Control) -> None:
        if len(control.topics) != len(control.utilities):
            self._drop("Control", "malformed")
        elif not self._neighbourhood.hear(sender, control, self.host.now()):
            self._drop("Control", "too many neighbours")
        self.handovers.on_heard(sender)

    def _on_data(self, sender: NodeId, data: Data) -> None:
        if self._read(sender, data):
            self._carry(data)

    def _read(self, sender: NodeId, data: Data) -> bool:
        """Hand it to the application, if it is wanted; whether it has copies that may be carried on."""
        if not data.metadata.describes(data.content):
            self._drop("Data", "not what its metadata says")
            return False
        hops = data.hops + 1
        id_ = identifier(data.metadata.key)
        self._memory.add(id_)
        self._neighbourhood.has(sender, id_)
        if data.metadata.key in self._tombstones:
            self._drop("Data", "deleted")
            return False
        if self._has_expired(data):
            self._drop("Data", "expired")
            return False
        self._deliver(data, hops)
        if data.copies and 0 < self.options.ttl_hops <= hops:
            self._drop("Data", "hops")
            return False
        return bool(data.copies)

    def _has_expired(self, data: Data) -> bool:
        """Whether the lifetime that the settings give it, or its owner's, is over."""
        lapsed = data.expires_s is not None and data.expires_s <= self.host.now()
        return lapsed or not self._expiries.watch(data.metadata)

    def _carry(self, data: Data) -> None:
        pushed_out = self.buffer.pushed_out
        self.buffer.add(data, data.copies, data.hops + 1)
        if self.buffer.pushed_out > pushed_out:
            self._drop("Data", "buffer full")

    def _deliver_what_is_here(self) -> None:
        """To a new subscription: what this node carries or has on offer, and what has not expired."""
        now_s = self.host.now()
        self.buffer.expire(now_s)
        for held in self.buffer:
            self._deliver(held.data(0), min(held.copies.values()))
        for data in self.handovers:
            if data.metadata.key not in self._tombstones and not self._has_expired(data):
                self._deliver(data, data.hops)

    def _deliver(self, data: Data, hops: int) -> None:
        # The content is kept first: the application may ask for it as soon as it is told.
        metadata = data.metadata
        owned = metadata.key.owner == self.node
        wanted = any(own.subscription.matches(metadata) for own in self._inbox)
        if wanted and not owned and metadata.key not in self.readable:
            self.readable.keep(metadata, data.content, data.expires_s)
        if wanted:
            for own in self._inbox:
                self._inbox.accept(own.subscription.key, metadata, hops)

    def _announce_interests(self) -> None:
        """Interests as the next control message tells them: of subscriptions that are not over."""
        now_s = self.host.now()
        open_still = [own.subscription for own in self._inbox if own.over_s() > now_s]
        wanted = _wanted(open_still)
        if wanted != self._wanted:
            self._wanted = wanted

    def _copies_for(self, tags: tuple[str, ...]) -> int:
        """γ, or a number that depends on the best carrier in range: far from all subscribers, nearly twice as many."""
        if self.options.routing in ("epidemic", "prophet"):
            return 1
        if not self.options.adapt_copies:
            return self.options.copies
        present = self._neighbourhood.present(self.host.now()).values()
        best = max([self.score.score(tags), *(neighbour.score(tags) for neighbour in present)])
        return 1 + round(2 * (self.options.copies - 1) * (1.0 - min(best, UNIT) / UNIT))

    def _sample(self, now_s: float) -> None:
        every_s = self.options.sample_every_s
        if every_s > 0.0 and now_s >= self._sampled_s + every_s:
            self._sampled_s = now_s - now_s % every_s
            self.host.record(Sampled(BUFFERED, float(len(self.buffer))))

    def _drop(self, name: str, reason: str) -> None:
        self.host.record(Counted(TrafficKind.DROPPED, name, reason=reason))


def _wanted(subscriptions: Iterable[Subscription]) -> tuple[Wanted, ...]:
    found = (Wanted(one, subscription.frame) for subscription in subscriptions for one in subscription.conjunctions)
    return tuple(dict.fromkeys(found))


def _score_of(options: SocialCastOptions) -> CarrierScore:
    return Predictabilities(options.prophet) if options.routing == "prophet" else Utilities(options.utilities)


def _router_of(options: SocialCastOptions, score: CarrierScore, random: Random) -> Router:
    match options.routing:
        case "prediction":
            return BestCarrier(score, round(UNIT * options.hysteresis))
        case "none":
            return RandomCarrier(random)
        case "epidemic":
            return Epidemic()
        case "spray":
            return SprayAndWait()
        case "prophet":
            return Prophet(score)


ENTRY = Entry(SocialCast.capabilities, SocialCastOptions, SocialCast)
