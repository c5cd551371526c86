"""DRIP: publish/subscribe over dynamic Voronoi regions (Yuan and Wu).

The k most able nodes are brokers; every other node belongs to the region of its nearest broker, by message delay.
Subscriptions and events go to the local broker, which floods matching events in its region and hands them to other
brokers over bridge nodes. Here the parts meet: bootstrap (`election`), regions, routes, bridges, the subscriber's side
and, while this node is one, the broker's.

What the paper is silent about and what was chosen is in the docs page of this approach.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from thyme.approaches.drip.bridges import Bridge
from thyme.approaches.drip.broker import Broker
from thyme.approaches.drip.broker_memory import forget_events
from thyme.approaches.drip.election import Election, standing_of
from thyme.approaches.drip.options import DripOptions, advice
from thyme.approaches.drip.regions import Regions
from thyme.approaches.drip.routes import BrokerRoutes
from thyme.approaches.drip.subscriber import Subscriber
from thyme.approaches.entry import Entry
from thyme.approaches.eviction import Evictable
from thyme.approaches.interface import Capabilities, Done, Fetched, Outcome, ReactiveStore, ignore
from thyme.approaches.requests import Requests
from thyme.approaches.tombstones import LIFE_S, Tombstones
from thyme.host import Host, Timer
from thyme.model.bounded import Bounded
from thyme.model.errors import InputError
from thyme.model.ids import NodeId, ObjectKey
from thyme.model.objects import Content, DataObject, Metadata
from thyme.model.records import Counted, Joined, TrafficKind
from thyme.model.subscriptions import Subscription
from thyme.wire.drip import (
    NOBODY,
    BridgeStatus,
    Deletion,
    Existing,
    Presence,
    Publication,
    Published,
    Quit,
    RegionDeletion,
    RegionEvent,
    Registered,
    Registration,
    Relay,
    RelayReceived,
)
from thyme.wire.message import Message
from thyme.wire.storage import Tombstone

FLOODS_REMEMBERED = 5_000
"""Floods in a region, to pass each on only once."""
FLOOD_JITTER_S = 0.01
"""Longest random wait before a flood in a region is passed on, so that neighbours do not send at once."""
ORPHAN_S = 60.0
"""A node that has heard no broker for this long calls for a new selection."""


class Drip(ReactiveStore):
    """One node of DRIP."""

    capabilities = Capabilities(past_is_best_effort=True, delivers_contents=True)

    def __init__(self, host: Host, options: DripOptions | None = None) -> None:
        self.options = options or DripOptions()
        if self.options.paper:
            self.options = self.options.as_in_the_paper()
        super().__init__(host, self.options.limits)
        standing = standing_of(self.options, host.node)
        timing = self.options.regions
        self.routes = BrokerRoutes(host, self._on_message, self.options.routes)
        self.regions = Regions(
            host, self.routes, timing, self.options.likely_brokers, standing, self._on_moved, self._on_met_broker
        )
        self.election = Election(host, self.options.brokers_of, standing, timing.bootstrap_s, self._on_elected)
        self.bridge = Bridge(host, self.regions, self.routes, self.options.bridges)
        self.tombstones = Tombstones(host, self.options.limits.deletions)
        self._requests = Requests(host, self.options.retry)
        self.subscriber = Subscriber(
            host, self.options, self._inbox, self.regions, self.routes, self._requests, self.tombstones, self._is_over
        )
        self.broker: Broker | None = None
        self._flooded: Bounded[tuple[int, ObjectKey], None] = Bounded(FLOODS_REMEMBERED)
        self._timer: Timer | None = None
        self._joins_s = -1.0
        self._joined = False
        self._orphan_since_s = 0.0

    def advice(self) -> str:
        crowd = self.election.all_known()
        return "" if crowd is None or crowd == 1 else advice(self.options, crowd)

    def start(self) -> None:
        self.routes.start()

    def join(self) -> None:
        self._joins_s = self._orphan_since_s = self.host.now()
        self.election.begin()
        self.bridge.start()
        self._timer = self.host.after(self.host.random.uniform(0.0, self.options.regions.period_s), self._tick)

    def stop(self) -> None:
        if self.broker is not None:
            self.broker.stop()
        self.election.stop()
        self.regions.stop()
        self.bridge.stop()
        if self._timer is not None:
            self._timer.cancel()

    def receive(self, sender: NodeId, message: Message) -> None:
        match message:
            case Presence():
                self.election.hear_broker(message.broker, message.standing)
                self.regions.hear(sender, message)
            case Existing():
                self.election.hear(message)
            case RegionEvent():
                self._on_region_event(message)
            case RegionDeletion():
                self._on_region_deletion(message)
            case Relay():
                self._on_relay(sender, message, direct=True)
            case RelayReceived():
                self._on_relay_received(message)
            case _:
                self.routes.receive(sender, message)

    def _expire(self, key: ObjectKey) -> None:
        self.subscriber.contents.drop(key)
        if self.broker is not None:
            self.broker.drop(key)

    def _was_inserted(self, key: ObjectKey) -> bool:
        return self.subscriber.contents.has(key)

    def _check_insertion(self, metadata: Metadata, data: Content) -> None:
        size_bytes = metadata.size_bytes + len(metadata.summary)
        if size_bytes > self.options.content_bytes:
            raise InputError(
                f"object {metadata.key.oid!r} has {size_bytes} bytes of content and summary; DRIP sends contents along "
                f"with their event, at most {self.options.content_bytes} bytes (setting content_bytes): publish a "
                "smaller one"
            )

    def _insert(self, metadata: Metadata, data: Content, done: Done, replicate: bool | None) -> Metadata:
        assert isinstance(data, bytes), "larger ones are refused"
        self.subscriber.contents.keep(metadata, data)
        event = DataObject(metadata, data)
        self.subscriber.deliver(event, 0)
        self._publish(event, done)
        return metadata

    def _delete(self, key: ObjectKey, done: Done) -> None:
        self._drop_deleted(Tombstone(key, self.host.now() + LIFE_S))
        self._ask_broker(lambda number: Deletion(number, key), done)

    def _is_over(self, metadata: Metadata) -> bool:
        """Whether an object was deleted or has expired; else it may be stored."""
        return metadata.key in self.tombstones or not self._expiries.watch(metadata)

    def _drop_deleted(self, deleted: Tombstone) -> bool:
        """Forget a deleted object, and that there may be copies of it on their way; whether this is news."""
        news = self.tombstones.add(deleted.key, deleted.until_s)
        self.subscriber.contents.drop(deleted.key)
        return news

    def _subscribe(self, subscription: Subscription, done: Done) -> None:
        self.subscriber.asks_more(done)

    def _unsubscribe(self, subscription: Subscription, done: Done) -> None:
        self._inbox.remove(subscription.key.sid)
        self.subscriber.changed(done)

    def _retrieve(self, metadata: Metadata, done: Fetched) -> None:
        """Reads the content that came with the notification; sends nothing."""
        self.subscriber.contents.deliver(metadata, done)

    def evictable(self) -> Iterator[Evictable]:
        return self.subscriber.contents.delivered(self.node, self.subscriber.contents.drop)

    def stored(self) -> Iterable[tuple[str, int, int]]:
        yield "own subscriptions", len(self._inbox), 0
        if self.broker is not None:
            yield "events", self.broker.memory.event_count, self.broker.memory.size_bytes
            yield "subscribers known", len(self.broker.memory.interests()), 0
            yield "members", len(self.broker.members), 0

    def _publish(self, event: DataObject, done: Done) -> None:
        self._ask_broker(lambda number: Publication(number, event), done)

    def _ask_broker(self, request: Callable[[int], Message], done: Done) -> None:
        """To the local broker, which may be another one at each try."""

        def send(number: int) -> None:
            broker = self.regions.local_broker
            if broker != NOBODY:
                self.routes.send_searching(broker, request(number))

        self._requests.begin(send, done)

    def _on_message(self, origin: NodeId, message: Message) -> None:
        """What came over several hops."""
        match message:
            case Relay():
                self._on_relay(origin, message, direct=False)
            case RelayReceived():
                self._on_relay_received(message)
            case Registered(ok=True):
                self.subscriber.on_registered(message)
            case Published(request, ok=True):
                self._requests.resolve(request, Outcome())
            case Registered() | Published():
                self.regions.forget(origin)
            case Registration() | Publication() | Deletion() | Quit() | BridgeStatus():
                self._on_broker_message(origin, message)
            case _:
                self._drop(message, "not expected")

    def _on_broker_message(
        self, origin: NodeId, message: Registration | Publication | Deletion | Quit | BridgeStatus
    ) -> None:
        broker = self.broker
        match message:
            case Registration(request):
                answer = broker.on_registration(origin, message) if broker else Registered(request, False)
                self.routes.send(origin, answer)
            case Publication(request):
                reply = broker.on_publication(message) if broker else Published(request, False)
                self.routes.send(origin, reply)
            case Deletion(request, key):
                if broker:
                    self._on_deleted(Tombstone(key, self.host.now() + LIFE_S))
                self.routes.send(origin, Published(request, broker is not None))
            case Quit() if broker:
                broker.on_quit(message)
            case BridgeStatus() if broker:
                broker.on_status(origin, message)
            case _:
                self._drop(message, "not a broker")

    def _on_relay(self, sender: NodeId, relay: Relay, *, direct: bool) -> None:
        if relay.target != self.node:
            self.bridge.carry(relay)
        elif self.broker is None:
            self._drop(relay, "not a broker")
        else:
            answer = self.broker.on_relay(relay)
            if direct:
                self.host.unicast(sender, answer)
            else:
                self.routes.send(sender, answer)

    def _on_relay_received(self, answer: RelayReceived) -> None:
        if answer.source != self.node:
            self.bridge.carry_back(answer)
        elif self.broker is not None:
            self.broker.cooperation.answered(answer)

    def _on_region_event(self, message: RegionEvent) -> None:
        flooded = (message.region, message.event.metadata.key)
        if flooded in self._flooded or self._is_over(message.event.metadata):
            return
        self._flooded[flooded] = None
        self.subscriber.deliver(message.event, message.hops + 1)
        self._flood_on(RegionEvent(message.region, message.event, message.hops + 1))

    def _on_region_deletion(self, message: RegionDeletion) -> None:
        if self._drop_deleted(message.deleted):
            self._flood_on(RegionDeletion(message.region, message.deleted, message.hops + 1))

    def _flood_on(self, onward: RegionEvent | RegionDeletion) -> None:
        if onward.region == self.regions.region and onward.hops < self.options.regions.hop_limit:
            wait_s = self.host.random.uniform(0.0, FLOOD_JITTER_S)
            self.host.after(wait_s, lambda: self.host.broadcast(onward))

    def _on_deleted(self, deleted: Tombstone) -> None:
        """The broker learnt of a deletion: it informs its region and neighbouring brokers."""
        assert self.broker is not None
        self._drop_deleted(deleted)
        if self.broker.forget(deleted):
            self.host.broadcast(RegionDeletion(self.regions.own_region, deleted, 0))

    def _on_brokered(self, event: DataObject, in_region: bool) -> None:
        """The broker side got a new event."""
        self.subscriber.deliver(event, 0)
        if in_region:
            self._flooded[(self.regions.own_region, event.metadata.key)] = None
            self.host.broadcast(RegionEvent(self.regions.own_region, event, 0))

    def _on_elected(self) -> None:
        """This node became a broker, or is one no longer."""
        if self.election.in_office:
            self.broker = Broker(
                self.host,
                self.options,
                self.regions,
                self.routes,
                self.tombstones,
                self._is_over,
                self._on_brokered,
                self._on_deleted,
            )
            self.regions.start_region()
            return
        former, self.broker = self.broker, None
        assert former is not None
        former.stop()
        forget_events(self.host)
        self.regions.end_region()
        for event in former.unfinished():
            self._publish(event, ignore)

    def _on_moved(self, old: NodeId, new: NodeId) -> None:
        if new == NOBODY:
            self._orphan_since_s = self.host.now()
            return
        if not self._joined and self._joins_s >= 0.0:
            self._joined = True
            self.host.record(Joined(self.host.now() - self._joins_s))
        self.subscriber.moved(old)

    def _on_met_broker(self) -> None:
        if self.broker is not None:
            self.broker.cooperation.talk()

    def _tick(self) -> None:
        """Once per period: forget what fell silent, and do what is due."""
        self._timer = self.host.after(self.options.regions.period_s, self._tick)
        self.regions.expire()
        self.tombstones.expire(self.host.now())
        self.subscriber.refresh()
        if self.broker is not None:
            self.broker.tick()
        elif self.regions.local_broker == NOBODY:
            now_s = self.host.now()
            if now_s - self._orphan_since_s >= ORPHAN_S:
                self._orphan_since_s = now_s
                self.election.begin_anew()

    def _drop(self, message: Message, reason: str) -> None:
        self.host.record(Counted(TrafficKind.DROPPED, type(message).__name__, reason=reason))


ENTRY = Entry(Drip.capabilities, DripOptions, Drip, relative_cost=3, advice=advice)
