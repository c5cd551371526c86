"""Brokers talk: one at a time, over bridges, about events and subscriptions (DRIP §V-B2, §V-C).

A broker contacts one other broker at a time: it sends one message and awaits the answer before it turns to the next
broker. Events come first. When there are none to hand over, what subscribers want is exchanged with every broker that
can be reached, so that it gets to all of them; a broker remembers what each other one has confirmed, and tells it
only the news: whole subscriptions once, then only where the subscriber is. One that moves among the brokers that the
other knows as near to it is no news, since events are brought to all of these (§V-A1); or else a lost broadcast, after
which a subscriber that stands still changes regions, would be told all over the crowd. So that nobody is taken to be
gone, it is told of again now and then all the same.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from thyme.approaches.drip.bridges import BridgeTable
from thyme.approaches.drip.memory import Memory
from thyme.approaches.drip.options import CooperationOptions
from thyme.approaches.drip.regions import Regions
from thyme.approaches.drip.routes import BrokerRoutes
from thyme.approaches.drip.spreading import Handover, Spreading
from thyme.host import Host, Timer
from thyme.model.ids import NodeId
from thyme.wire.drip import NOBODY, CarriedEvent, Interest, Relay, RelayReceived

RENEWALS = 3
"""How often a subscriber that stays is told of within the time after which it would be forgotten."""
_encoder = msgspec.msgpack.Encoder()


class _UnderWay(msgspec.Struct):
    relay: Relay
    handover: Handover | None
    timer: Timer | None = None


class Cooperation:
    """One broker's talk with the others."""

    def __init__(
        self,
        host: Host,
        options: CooperationOptions,
        memory: Memory,
        spreading: Spreading,
        bridges: BridgeTable,
        regions: Regions,
        routes: BrokerRoutes,
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
        """Say the next thing there is to say, unless an answer is awaited."""
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
            self._spreading.forget_peer(peer)
        self._knows(peer, under_way.relay.interests)
        if under_way.handover is not None:
            self._spreading.handed_over(under_way.handover, answer.known)
        self.talk()

    def heard_from(self, relay: Relay) -> None:
        """What another broker tells, it knows."""
        self._knows(relay.source, relay.interests)

    def _hand_over(self, handover: Handover) -> bool:
        carried: list[CarriedEvent] = []
        room = self._options.relay_bytes
        for key in handover.keys:
            event = self._memory.event(key)
            assert event is not None, "an event that gives way is dropped from what is to be spread"
            room -= len(event.data) + len(_encoder.encode(event.metadata))
            if carried and room < 0:
                break
            carried.append(CarriedEvent(event, handover.destinations))
        sent = msgspec.structs.replace(handover, keys=handover.keys[: len(carried)])
        if self._options.contact_s > 0.0:
            self._free_s = self._host.now() + self._options.contact_s
            self._host.after(self._options.contact_s, self.talk)
        return self._send(handover.peer, sent, (), tuple(carried), handover.offers)

    def _due_for_exchange(self, peers: list[NodeId]) -> NodeId:
        if not self._shares_interests:
            return NOBODY
        now_s = self._host.now()
        for peer in peers:
            if now_s - self._exchanged_s.get(peer, -self._options.exchange_s) >= self._options.exchange_s:
                if self._news_for(peer):
                    return peer
                self._exchanged_s[peer] = now_s
        return NOBODY

    def _exchange(self, peer: NodeId) -> bool:
        room = self._options.relay_bytes
        chosen: list[Interest] = []
        for interest in self._news_for(peer):
            room -= len(_encoder.encode(interest))
            if chosen and room < 0:
                return self._send(peer, None, tuple(chosen), ())
            chosen.append(interest)
        self._exchanged_s[peer] = self._host.now()
        return self._send(peer, None, tuple(chosen), ())

    def _news_for(self, peer: NodeId) -> list[Interest]:
        told = self._told.get(peer, {})
        news = []
        for interest in self._memory.interests():
            known = told.get(interest.subscriber)
            if known is None or interest.asked_s > known.asked_s:
                news.append(interest)
            elif self._has_moved(known, interest):
                news.append(msgspec.structs.replace(interest, subscriptions=None))
        return news

    def _has_moved(self, known: Interest, now: Interest) -> bool:
        """Whether a broker that knows this much of a subscriber has to be told where it is."""
        if now.moved_s <= known.moved_s:
            return False
        if now.moved_s - known.moved_s >= self._renew_s:
            return True
        return any(local not in known.brokers for local in now.brokers[:1])

    def _knows(self, peer: NodeId, interests: tuple[Interest, ...]) -> None:
        told = self._told.setdefault(peer, {})
        for interest in interests:
            known = told.get(interest.subscriber)
            if known is None or (interest.asked_s, interest.moved_s) > (known.asked_s, known.moved_s):
                told[interest.subscriber] = msgspec.structs.replace(interest, subscriptions=None)

    def _send(
        self,
        peer: NodeId,
        handover: Handover | None,
        interests: tuple[Interest, ...],
        events: tuple[CarriedEvent, ...],
        offers: tuple[int, ...] = (),
    ) -> bool:
        """Whether it is on its way; if not, the way to the other broker was lost, and another may be tried."""
        adjacent = peer in self._regions.adjacent_brokers()
        bridge = NOBODY if adjacent else self._bridges.best(peer)
        if not adjacent and self._routes.route_to(bridge) is None:
            self._bridges.lose(peer, bridge)
            return False
        self._numbers += 1
        relay = Relay(self._numbers, self._host.node, peer, bridge, interests, events, offers)
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
