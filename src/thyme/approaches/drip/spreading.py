"""Which broker is to get which event: multi-copy-multi-destination, and the epidemic baseline SF (DRIP §V-B2, §VI-A).

With multi-copy-multi-destination the source of an event first gives copies to the m nearest brokers that it can talk
to. They, and the source too, bring it to the interested brokers as they meet them: the l nearest brokers of each
subscriber that it matches, which change as the subscriber moves. Nobody else gets it. Whether an interested broker
passes it on to the other interested ones is the setting `passing`. With SF every broker gives every event to every
broker that it can talk to and which lacks it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol as Interface

import msgspec

from thyme.approaches.drip.broker_memory import event_number
from thyme.approaches.drip.following import Following
from thyme.model.ids import NodeId, ObjectKey
from thyme.wire.drip import Interest


class EventTransfer(msgspec.Struct, frozen=True):
    """What to say to one broker about events: hand some over, or offer some by number."""

    peer: NodeId
    keys: tuple[ObjectKey, ...] = ()
    copy: bool = False
    """Whether it is one of the m copies, which its receiver carries on to the `destinations`."""
    destinations: tuple[NodeId, ...] = ()
    offers: tuple[int, ...] = ()


class Spreading(Interface):
    """The events of one broker that others are to get."""

    def hold(self, key: ObjectKey, destinations: Iterable[NodeId], copies: int) -> None: ...
    def follow(self, key: ObjectKey, interests: Iterable[Interest], here: bool) -> None:
        """Bring the event to these subscribers, wherever they move; `here`: it is being told in their region."""

    def moved(self, interest: Interest) -> None:
        """A subscriber has other nearest brokers."""

    def has(self, peer: NodeId, key: ObjectKey) -> None:
        """The other broker has the event."""

    def drop(self, key: ObjectKey) -> None: ...
    def next(self, peers: Iterable[NodeId]) -> EventTransfer | None:
        """What to do next, given who can be talked to, nearest first."""

    def handed_over(self, handover: EventTransfer, known: tuple[int, ...]) -> None: ...
    def forget_peer(self, peer: NodeId) -> None:
        """The other broker began a new life and knows nothing."""

    def unfinished(self) -> list[ObjectKey]: ...


class _Held(msgspec.Struct):
    destinations: dict[NodeId, None]
    copies: int
    given: dict[NodeId, None]


class MultiCopyMultiDestination:
    """`Spreading` as DRIP does it."""

    def __init__(self, node: NodeId, events_per_relay: int, offers: int, following: Following) -> None:
        self._node = node
        self._offers = offers
        self._following = following
        self._asked: dict[NodeId, dict[ObjectKey, None]] = {}
        self._events_per_relay = events_per_relay
        self._held: dict[ObjectKey, _Held] = {}
        self._for: dict[NodeId, dict[ObjectKey, None]] = {}
        self._to_copy: dict[ObjectKey, None] = {}

    def hold(self, key: ObjectKey, destinations: Iterable[NodeId], copies: int) -> None:
        """Bring an event to its destinations; a source gives `copies` of it away, a carrier none."""
        held = self._held.get(key)
        first = held is None
        if held is None:
            held = self._held[key] = _Held({}, 0, {})
        for broker in destinations:
            if broker != self._node and broker not in held.given:
                held.destinations[broker] = None
                self._for.setdefault(broker, {})[key] = None
        if copies and (first or not held.given):
            held.copies = copies
        if held.copies > 0 and held.destinations:
            self._to_copy[key] = None

    def follow(self, key: ObjectKey, interests: Iterable[Interest], here: bool) -> None:
        self._following.begin(key, interests, here)

    def moved(self, interest: Interest) -> None:
        for key in self._following.moved(interest):
            held = self._held.get(key)
            if held is not None:
                if interest.brokers and (interest.brokers[0] == self._node or interest.brokers[0] in held.given):
                    self._following.arrived(key, interest.brokers[0])
                else:
                    self.hold(key, interest.brokers, 0)

    def has(self, peer: NodeId, key: ObjectKey) -> None:
        held = self._held.get(key)
        if held is None:
            return
        self._following.arrived(key, peer)
        held.given[peer] = None
        held.destinations.pop(peer, None)
        self._no_longer_for(peer, key)
        if not held.destinations:
            self._to_copy.pop(key, None)

    def drop(self, key: ObjectKey) -> None:
        held = self._held.pop(key, None)
        self._following.drop(key)
        self._to_copy.pop(key, None)
        for broker in held.destinations if held else ():
            self._no_longer_for(broker, key)

    def _no_longer_for(self, broker: NodeId, key: ObjectKey) -> None:
        for lists in (self._for, self._asked):
            keys = lists.get(broker)
            if keys is not None:
                keys.pop(key, None)
                if not keys:
                    del lists[broker]

    def next(self, peers: Iterable[NodeId]) -> EventTransfer | None:
        listed = list(peers)
        for key in self._to_copy:
            held = self._held[key]
            for peer in listed:
                if peer not in held.given:
                    others = tuple(broker for broker in held.destinations if broker != peer)
                    return EventTransfer(peer, (key,), copy=True, destinations=others)
        for peer in listed:
            waiting = self._for.get(peer)
            if waiting:
                unasked = [key for key in waiting if key not in self._asked.get(peer, ())]
                if len(unasked) > self._events_per_relay:
                    return EventTransfer(peer, offers=tuple(event_number(key) for key in unasked[: self._offers]))
                return EventTransfer(peer, tuple(list(waiting)[: self._events_per_relay]))
        return None

    def handed_over(self, handover: EventTransfer, known: tuple[int, ...]) -> None:
        for key in handover.keys:
            held = self._held.get(key)
            if held is not None and handover.copy:
                held.copies -= 1
                if held.copies <= 0:
                    self._to_copy.pop(key, None)
            self.has(handover.peer, key)
        if handover.offers:
            offered, had = set(handover.offers), set(known)
            for key in list(self._for.get(handover.peer, ())):
                number = event_number(key)
                if number in had:
                    self.has(handover.peer, key)
                elif number in offered:
                    self._asked.setdefault(handover.peer, {})[key] = None

    def forget_peer(self, peer: NodeId) -> None:
        """Nothing is delivered to a destination twice: its subscribers were notified."""

    def unfinished(self) -> list[ObjectKey]:
        return [key for key, held in self._held.items() if held.destinations]


class EpidemicSpreading:
    """`Spreading` as the baseline SF does it. A broker that is met with several events at hand is first asked which
    of them it lacks, as epidemic routing exchanges summaries."""

    def __init__(self, events_per_relay: int, offers: int) -> None:
        self._events_per_relay = events_per_relay
        self._offers = offers
        self._events: dict[ObjectKey, int] = {}
        self._lacking: dict[NodeId, dict[ObjectKey, None]] = {}
        self._asked: dict[NodeId, dict[ObjectKey, None]] = {}

    def hold(self, key: ObjectKey, destinations: Iterable[NodeId], copies: int) -> None:
        if key not in self._events:
            self._events[key] = event_number(key)
            for lacking in self._lacking.values():
                lacking[key] = None

    def follow(self, key: ObjectKey, interests: Iterable[Interest], here: bool) -> None:
        """Every broker gets every event anyway."""

    def moved(self, interest: Interest) -> None:
        """Every broker gets every event anyway."""

    def has(self, peer: NodeId, key: ObjectKey) -> None:
        self._of(peer).pop(key, None)

    def drop(self, key: ObjectKey) -> None:
        self._events.pop(key, None)
        for lists in (self._lacking, self._asked):
            for keys in lists.values():
                keys.pop(key, None)

    def next(self, peers: Iterable[NodeId]) -> EventTransfer | None:
        for peer in peers:
            lacking = self._of(peer)
            if not lacking:
                continue
            asked = self._asked.setdefault(peer, {})
            unasked = [key for key in lacking if key not in asked]
            if len(unasked) > self._events_per_relay:
                return EventTransfer(peer, offers=tuple(self._events[key] for key in unasked[: self._offers]))
            return EventTransfer(peer, tuple(list(lacking)[: self._events_per_relay]))
        return None

    def handed_over(self, handover: EventTransfer, known: tuple[int, ...]) -> None:
        lacking, asked = self._of(handover.peer), self._asked.setdefault(handover.peer, {})
        for key in handover.keys:
            lacking.pop(key, None)
            asked.pop(key, None)
        if handover.offers:
            offered, had = set(handover.offers), set(known)
            for key in list(lacking):
                if self._events[key] in had:
                    lacking.pop(key)
                elif self._events[key] in offered:
                    asked[key] = None

    def forget_peer(self, peer: NodeId) -> None:
        self._lacking.pop(peer, None)
        self._asked.pop(peer, None)

    def unfinished(self) -> list[ObjectKey]:
        return list(self._events)

    def _of(self, peer: NodeId) -> dict[ObjectKey, None]:
        lacking = self._lacking.get(peer)
        if lacking is None:
            lacking = self._lacking[peer] = dict.fromkeys(self._events)
        return lacking
