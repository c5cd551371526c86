"""Exchanges between brokers: one at a time, over bridges, of events and subscriptions (DRIP §V-B2, §V-C).

A broker contacts one other broker at a time: it sends one message and waits for the answer before it contacts the next.
Events come first. When there are none to forward, it exchanges subscriptions with every reachable broker, so that they
spread to all brokers. A broker remembers what every other broker has confirmed and sends only changes: a whole
subscription once, then only the subscriber's region. A move between brokers that the other side knows as near the
subscriber is not sent, since events go to all of these (§V-A1); otherwise one lost broadcast, after which a stationary
subscriber changes regions, would be announced to the whole crowd. Unchanged subscribers are repeated at intervals, so
that they do not expire.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from thyme.approaches.drip.bridges import BridgeTable
from thyme.approaches.drip.broker_memory import BrokerMemory
from thyme.approaches.drip.options import CooperationOptions
from thyme.approaches.drip.regions import Regions
from thyme.approaches.drip.routes import BrokerRoutes
from thyme.approaches.drip.spreading import EventTransfer, Spreading
from thyme.approaches.tombstones import Tombstones
from thyme.host import Host, Timer
from thyme.model.ids import NodeId, ObjectKey
from thyme.wire.drip import NOBODY, CarriedEvent, Interest, Relay, RelayReceived
from thyme.wire.storage import Tombstone

DELETIONS_AT_ONCE = 10
"""Most entries in one message: with their signatures they fit a frame."""
RENEWALS = 3
"""How often an unchanged subscriber is repeated within its expiry time."""
_encoder = msgspec.msgpack.Encoder()


class _UnderWay(msgspec.Struct):
    relay: Relay
    handover: EventTransfer | None
    timer: Timer | None = None


RELAY_BYTES = 1_200
"""Subscriptions and events in one message, at most: below 802.11's 1500 bytes; a single event always goes."""


class Cooperation:
    """One broker's exchanges with the others."""

    def __init__(
        self,
        host: Host,
        options: CooperationOptions,
        memory: BrokerMemory,
        spreading: Spreading,
        bridges: BridgeTable,
        regions: Regions,
        routes: BrokerRoutes,
        tombstones: Tombstones,
        shares_interests: bool,
        crosses_bridges: bool,
        interest_life_s: float,
    ) -> None:
        self._host = host
        self._options = options
        self._memory = memory
        self._spreading = spreading
        self._bridges = bridges
        self._regions = regions
        self._routes = routes
        self._tombstones = tombstones
        self._told_deleted: dict[NodeId, set[ObjectKey]] = {}
        self._shares_interests = shares_interests
        self._crosses_bridges = crosses_bridges
        self._renew_s = interest_life_s / RENEWALS if options.moves == "beyond" else 0.0
        self._under_way: _UnderWay | None = None
        self._numbers = host.random.getrandbits(30) << 20
        self._lives: dict[NodeId, int] = {}
        self._told: dict[NodeId, dict[NodeId, Interest]] = {}
        self._exchanged_s: dict[NodeId, float] = {}
        self._free_s = 0.0

    def stop(self) -> None:
        if self._under_way is not None and self._under_way.timer is not None:
            self._under_way.timer.cancel()
        self._under_way = None

    def peers(self) -> list[NodeId]:
        """Brokers that can be contacted now: neighbours, then those behind a bridge, nearest first."""
        adjacent = self._regions.adjacent_brokers()
        if not self._crosses_bridges:
            return adjacent
        return [*adjacent, *(other for other in self._bridges.reachable() if other not in adjacent)]

    def talk(self) -> None:
        """Send the next message, unless an answer is pending."""
        while self._under_way is None:
            peers = self.peers()
            if not peers:
                return
            handover = self._spreading.next(peers) if self._host.now() >= self._free_s else None
            if handover is not None:
                sent = self._hand_over(handover)
            else:
                peer = self._due_for_exchange(peers)
                if peer == NOBODY:
                    return
                sent = self._exchange(peer)
            if sent:
                return

    def answered(self, answer: RelayReceived) -> None:
        under_way = self._under_way
        if under_way is None or under_way.relay.number != answer.number:
            return
        self._end()
        peer = under_way.relay.target
        if self._lives.setdefault(peer, answer.region) != answer.region:
            self._lives[peer] = answer.region
            self._told.pop(peer, None)
            self._told_deleted.pop(peer, None)
            self._spreading.forget_peer(peer)
        self._knows(peer, under_way.relay)
        if under_way.handover is not None:
            self._spreading.handed_over(under_way.handover, answer.known)
        self.talk()

    def heard_from(self, relay: Relay) -> None:
        """Another broker knows what it sends."""
        self._knows(relay.source, relay)

    def _hand_over(self, handover: EventTransfer) -> bool:
        carried: list[CarriedEvent] = []
        room = RELAY_BYTES
        for key in handover.keys:
            event = self._memory.event(key)
            assert event is not None, "an event that gives way is dropped from what is to be spread"
            room -= len(event.data) + len(_encoder.encode(event.metadata))
            if carried and room < 0:
                break
            carried.append(CarriedEvent(event, handover.destinations))
        sent = msgspec.structs.replace(handover, keys=handover.keys[: len(carried)])
        return self._send(handover.peer, sent, (), tuple(carried), handover.offers)

    def _due_for_exchange(self, peers: list[NodeId]) -> NodeId:
        now_s = self._host.now()
        for peer in peers:
            if self._deletions_for(peer):  # at once, before a new subscriber is told of what is gone
                return peer
            if now_s - self._exchanged_s.get(peer, -self._options.exchange_s) >= self._options.exchange_s:
                if self._news_for(peer):
                    return peer
                self._exchanged_s[peer] = now_s
        return NOBODY

    def _exchange(self, peer: NodeId) -> bool:
        deleted = self._deletions_for(peer)
        if deleted:
            return self._send(peer, None, (), (), deleted=tuple(deleted[:DELETIONS_AT_ONCE]))
        room = RELAY_BYTES
        chosen: list[Interest] = []
        for interest in self._news_for(peer):
            room -= len(_encoder.encode(interest))
            if chosen and room < 0:
                return self._send(peer, None, tuple(chosen), ())
            chosen.append(interest)
        self._exchanged_s[peer] = self._host.now()
        return self._send(peer, None, tuple(chosen), ())

    def _deletions_for(self, peer: NodeId) -> list[Tombstone]:
        told = self._told_deleted.get(peer, ())
        return [one for one in self._tombstones if one.key not in told]

    def _news_for(self, peer: NodeId) -> list[Interest]:
        told = self._told.get(peer, {})
        news: list[Interest] = []
        if not self._shares_interests:
            return news
        for interest in self._memory.interests():
            known = told.get(interest.subscriber)
            if known is None or interest.asked_s > known.asked_s:
                news.append(interest)
            elif self._has_moved(known, interest):
                news.append(msgspec.structs.replace(interest, subscriptions=None))
        return news

    def _has_moved(self, known: Interest, now: Interest) -> bool:
        """Whether a broker with this information about a subscriber needs its new region."""
        if now.moved_s <= known.moved_s:
            return False
        if now.moved_s - known.moved_s >= self._renew_s:
            return True
        return any(local not in known.brokers for local in now.brokers[:1])

    def _knows(self, peer: NodeId, relay: Relay) -> None:
        self._told_deleted.setdefault(peer, set()).update(one.key for one in relay.deleted)
        told = self._told.setdefault(peer, {})
        for interest in relay.interests:
            known = told.get(interest.subscriber)
            if known is None or (interest.asked_s, interest.moved_s) > (known.asked_s, known.moved_s):
                told[interest.subscriber] = msgspec.structs.replace(interest, subscriptions=None)

    def _send(
        self,
        peer: NodeId,
        handover: EventTransfer | None,
        interests: tuple[Interest, ...],
        events: tuple[CarriedEvent, ...],
        offers: tuple[int, ...] = (),
        deleted: tuple[Tombstone, ...] = (),
    ) -> bool:
        """Whether the message was sent; if not, the route to the broker was lost, and another broker can be tried."""
        adjacent = peer in self._regions.adjacent_brokers()
        bridge = NOBODY if adjacent else self._bridges.best(peer)
        if not adjacent and self._routes.route_to(bridge) is None:
            self._bridges.lose(peer, bridge)
            return False
        self._numbers += 1
        relay = Relay(self._numbers, self._host.node, peer, bridge, interests, events, offers, deleted)
        self._under_way = _UnderWay(relay, handover)
        failed = self._failure_of(relay.number)
        self._under_way.timer = self._host.after(self._options.answer_wait_s, failed)
        if adjacent:
            self._host.unicast(peer, relay, failed)
        else:
            self._routes.send(bridge, relay, failed)
        return True

    def _failure_of(self, number: int) -> Callable[[], None]:
        def failed() -> None:
            under_way = self._under_way
            if under_way is None or under_way.relay.number != number:
                return
            self._end()
            relay = under_way.relay
            if relay.bridge == NOBODY:
                self._regions.lose_neighbour(relay.target)
            else:
                self._bridges.lose(relay.target, relay.bridge)
            self.talk()

        return failed

    def _end(self) -> None:
        assert self._under_way is not None
        if self._under_way.timer is not None:
            self._under_way.timer.cancel()
        self._under_way = None
