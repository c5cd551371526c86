"""A broker: it collects subscriptions and events, matches them, and notifies (DRIP §V-A).

Its members are the subscribers that registered with it. An event that matches a member is flooded in the region; one
that matches subscribers elsewhere goes to other brokers. A member that registers is sent the remembered matching events
that it lacks at once: they may be older than its registration.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from thyme.approaches.drip.bridges import BridgeTable
from thyme.approaches.drip.broker_memory import SEEN_EVENTS, BrokerMemory, event_number
from thyme.approaches.drip.cooperation import Cooperation
from thyme.approaches.drip.following import Following
from thyme.approaches.drip.options import MEMBER_LIFE_S, DripOptions
from thyme.approaches.drip.regions import Regions
from thyme.approaches.drip.routes import BrokerRoutes
from thyme.approaches.drip.spreading import EpidemicSpreading, MultiCopyMultiDestination, Spreading
from thyme.approaches.tombstones import Tombstones
from thyme.host import Host
from thyme.model.bounded import Bounded
from thyme.model.ids import NodeId, ObjectKey
from thyme.model.objects import DataObject, Metadata
from thyme.model.records import Copied
from thyme.wire.drip import (
    BridgeStatus,
    Interest,
    Publication,
    Published,
    Quit,
    Registered,
    Registration,
    Relay,
    RelayReceived,
)
from thyme.wire.storage import Tombstone

OFFERS = 200
"""Events whose numbers are offered to another broker at once, to learn which of them it lacks: 1.6 kB."""
CATCH_UP_OFFERS = 100
"""If a node may lack more than `catch_up_events`, so many numbers are offered at once, to learn which it lacks."""


class Broker:
    """The broker side of a node, while it is one."""

    def __init__(
        self,
        host: Host,
        options: DripOptions,
        regions: Regions,
        routes: BrokerRoutes,
        tombstones: Tombstones,
        is_over: Callable[[Metadata], bool],
        notify: Callable[[DataObject, bool], None],
        deleted: Callable[[Tombstone], None],
    ) -> None:
        """`is_over` says whether an object was deleted or has expired.

        `notify(event, in_region)` delivers an event to this node's own user, and floods it in the region if set;
        `deleted` is called for deletions from other brokers."""
        self._host = host
        self._options = options
        self._regions = regions
        self._is_over = is_over
        self._notify = notify
        self._deleted = deleted
        self._forgotten: Bounded[ObjectKey, None] = Bounded(SEEN_EVENTS)
        self.memory = BrokerMemory(host, options)
        self.members: dict[NodeId, float] = {}
        self._bridges = BridgeTable(host.now, options.bridges)
        talk = options.cooperation
        epidemic = options.relay == "sf"
        following = Following(host.now, talk.follow_s, options.regions.life_s)
        self._spreading: Spreading = (
            EpidemicSpreading(talk.events_per_relay, OFFERS)
            if epidemic
            else MultiCopyMultiDestination(host.node, talk.events_per_relay, OFFERS, following)
        )
        self.cooperation = Cooperation(
            host,
            talk,
            self.memory,
            self._spreading,
            self._bridges,
            regions,
            routes,
            tombstones,
            shares_interests=not epidemic,
            crosses_bridges=not epidemic or options.sf_contacts == "bridges",
            interest_life_s=options.interest_life_s,
        )
        if epidemic:
            for key in self.memory.events():
                self._spreading.hold(key, (), 0)

    def stop(self) -> None:
        self.cooperation.stop()

    def tick(self) -> None:
        """Remove silent members, and contact the brokers that can be reached now."""
        now_s = self._host.now()
        self.members = {member: until_s for member, until_s in self.members.items() if until_s > now_s}
        self.memory.expire(now_s)
        self.cooperation.talk()

    def unfinished(self) -> list[DataObject]:
        """Events that other brokers still need."""
        found = (self.memory.event(key) for key in self._spreading.unfinished())
        return [event for event in found if event is not None]

    def forget(self, deleted: Tombstone) -> bool:
        """An owner deleted an object: its events are no longer kept, spread or accepted. Returns whether that was new
        here."""
        key = deleted.key
        if key in self._forgotten:
            return False
        self._forgotten[key] = None
        self.drop(key)
        self.cooperation.talk()
        return True

    def drop(self, key: ObjectKey) -> None:
        """Keep nothing of an object any more."""
        if self.memory.event(key) is not None:
            self.memory.remove(key)
        self._spreading.drop(key)

    def on_publication(self, publication: Publication) -> Published:
        whole = publication.event.whole
        if whole:
            self.publish(publication.event)
        return Published(publication.request, whole)

    def publish(self, event: DataObject) -> None:
        """Be the source of an event: a node of this region, or this one, detected it."""
        if self.memory.knows(event.metadata.key) or self._is_over(event.metadata):
            return
        self._bring(event, self._take(event), self._options.copies)
        self.cooperation.talk()

    def on_registration(self, subscriber: NodeId, registration: Registration) -> Registered:
        interest = registration.interest
        self.memory.learn(interest)
        if subscriber != self._host.node:
            self.members[subscriber] = self._host.now() + MEMBER_LIFE_S
        self.cooperation.talk()
        return _answer_to(registration, self.memory, self._regions.own_region, self._options)

    def on_quit(self, message: Quit) -> None:
        known = self.memory.interest(message.subscriber)
        if known is None or known.moved_s <= message.moved_s:
            self.members.pop(message.subscriber, None)

    def on_status(self, bridge: NodeId, status: BridgeStatus) -> None:
        self._bridges.hear(bridge, status)
        self.cooperation.talk()

    def on_relay(self, relay: Relay) -> RelayReceived:
        self.cooperation.heard_from(relay)
        for interest in relay.interests:
            self._learn(interest)
        for deleted in relay.deleted:
            self._deleted(deleted)
        for carried in relay.events:
            if not carried.event.whole or self._is_over(carried.event.metadata):
                continue
            if not self.memory.knows(carried.event.metadata.key):
                interested = self._take(carried.event)
                if carried.destinations or self._options.passing == "interested":
                    self._bring(carried.event, interested, 0)
            self._hold(carried.event, carried.destinations, 0)
            self._spreading.has(relay.source, carried.event.metadata.key)
        known = self._known_of(relay.offers)
        self._host.after(0.0, self.cooperation.talk)
        return RelayReceived(relay.number, relay.source, relay.bridge, self._regions.own_region, known)

    def _take(self, event: DataObject) -> list[Interest]:
        """Store a new event and notify this region and all matching subscribers elsewhere."""
        gone = self.memory.add(event)
        if gone is not None:
            self._spreading.drop(gone)
        self._host.record(Copied(event.metadata.key))
        interested = self.memory.wanted_by(event.metadata)
        local = [interest for interest in interested if interest.subscriber in self.members]
        self._notify(event, bool(local))
        # A member that left before the next broadcast may have been outside the region during the flood.
        self._spreading.follow(event.metadata.key, local, here=True)
        return interested

    def _bring(self, event: DataObject, interested: Iterable[Interest], copies: int) -> None:
        """Send it towards matching subscribers elsewhere, as far as this broker knows their subscriptions."""
        if self.memory.event(event.metadata.key) is not None:
            elsewhere = [interest for interest in interested if not self._is_local(interest.subscriber)]
            self._spreading.hold(event.metadata.key, _brokers_of(elsewhere), copies)
            self._spreading.follow(event.metadata.key, elsewhere, here=False)

    def _hold(self, event: DataObject, destinations: Iterable[NodeId], copies: int) -> None:
        if self.memory.event(event.metadata.key) is not None:
            self._spreading.hold(event.metadata.key, destinations, copies)

    def _learn(self, interest: Interest) -> None:
        """Another broker announced a subscriber: send matching events, if its subscriptions are new."""
        newer, asks_anew = self.memory.learn(interest)
        if newer and interest.brokers[:1] != (self._host.node,):
            self.members.pop(interest.subscriber, None)
        if newer:
            self._spreading.moved(interest)
        if asks_anew and not self._is_local(interest.subscriber):
            for event in self.memory.matches(interest.subscriptions or (), self._options.past_matches):
                self._hold(event, interest.brokers, self._options.copies)

    def _known_of(self, offers: tuple[int, ...]) -> tuple[int, ...]:
        if not offers:
            return ()
        here = self.memory.numbers()
        return tuple(number for number in offers if number in here)

    def _is_local(self, subscriber: NodeId) -> bool:
        return subscriber in self.members or subscriber == self._host.node


def _brokers_of(interests: Iterable[Interest]) -> list[NodeId]:
    return list(dict.fromkeys(broker for interest in interests for broker in interest.brokers))


def _answer_to(registration: Registration, memory: BrokerMemory, region: int, options: DripOptions) -> Registered:
    """The next events that the subscriber lacks, or an offer of many; `region` names this life of the broker.

    A broker numbers events as they arrive, and a subscriber says up to which arrival it has everything, so each is
    asked about once. If more lie beyond that than one answer holds, their numbers are offered first, and the subscriber
    names those that it has. Whatever was missed is found as long as the broker remembers it (DRIP §V-A1, §V-A3).
    """
    same = registration.region == region
    after, sifted = (registration.after, registration.sifted) if same else (0, 0)
    listed = memory.arrived_after(after, registration.interest.subscriptions or ())
    sifting = sifted > after
    known = set(registration.known)
    asked = [arrival for arrival in listed if not sifting or arrival[0] <= sifted]
    lacking = [(number, key) for number, key in asked if event_number(key) not in known]
    if not sifting and len(lacking) > options.catch_up_events:
        offered = lacking[:CATCH_UP_OFFERS]
        numbers = tuple(event_number(key) for _, key in offered)
        return Registered(registration.request, True, (), len(lacking), region, after, numbers, offered[-1][0])
    chosen = lacking[: options.catch_up_events]
    end = sifted if sifting else memory.arrivals
    reached = chosen[-1][0] if len(chosen) < len(lacking) else end
    events = tuple(event for _, key in chosen if (event := memory.event(key)) is not None)
    left = sum(1 for number, _ in listed if number > reached)
    return Registered(registration.request, True, events, left, region, reached)
