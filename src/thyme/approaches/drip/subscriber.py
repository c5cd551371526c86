"""A node's own side of DRIP: its subscriptions, their registration, and the events it received (§V-A).

A node keeps a copy of its subscriptions. When its local broker changes, it sends a Quit to the former one and registers
with the new one. It also registers when its subscriptions change, and periodically with the same broker, because a Quit
may get lost. A registration names the events received recently, and its answer has the others that the broker
remembers, in several rounds if there are many. Nodes that never subscribed do not register, and neither do those whose
subscriptions were revoked or have ended, once a broker knows it.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

from thyme.approaches.contents import Contents
from thyme.approaches.drip.broker_memory import event_number
from thyme.approaches.drip.options import DripOptions
from thyme.approaches.drip.regions import Regions
from thyme.approaches.drip.routes import BrokerRoutes
from thyme.approaches.inbox import Inbox
from thyme.approaches.interface import Done, Outcome
from thyme.approaches.requests import Requests
from thyme.approaches.tombstones import Tombstones
from thyme.host import Host
from thyme.model.bounded import Bounded
from thyme.model.ids import NodeId
from thyme.model.objects import DataObject, Metadata
from thyme.wire.drip import NOBODY, Interest, Quit, Registered, Registration

RECEIVED_EVENTS = 10_000
"""Events that a subscriber recognises among those offered."""


class Subscriber:
    """The subscriptions of one node and their registration."""

    def __init__(
        self,
        host: Host,
        options: DripOptions,
        inbox: Inbox[NodeId],
        regions: Regions,
        routes: BrokerRoutes,
        requests: Requests,
        tombstones: Tombstones,
        is_over: Callable[[Metadata], bool],
    ) -> None:
        self._host = host
        self._options = options
        self._regions = regions
        self._routes = routes
        self._requests = requests
        self._is_over = is_over
        self.contents = Contents(host)
        self.contents.is_deleted = tombstones.__contains__
        self._inbox = inbox
        self._asked_s = host.now() if len(self._inbox) else -1.0
        self._moved_s = -1.0
        self._received: Bounded[int, None] = Bounded(RECEIVED_EVENTS)
        for key in self._inbox.delivered_to_any():
            # An event delivered for only one of two subscriptions may be new to the other.
            self._received[event_number(key)] = None
        self._reached = Registered(0, True)
        self._round = 0
        self._latest = -1
        self._waiting: list[Done] = []

    def asks_more(self, done: Done) -> None:
        """There is a new subscription: any event that brokers remember may match it."""
        self._received.clear()
        self._reached = Registered(0, True)
        self.changed(done)

    def changed(self, done: Done) -> None:
        """The set of subscriptions changed: inform the broker, then call `done`."""
        self._asked_s = self._host.now()
        self._waiting.append(done)
        self.register()

    def moved(self, old: NodeId) -> None:
        """The local broker changed."""
        if self._asked_s < 0.0:
            return
        if old not in (NOBODY, self._host.node):
            self._routes.send(old, Quit(self._host.node, self._host.now()))
        self.register()

    def refresh(self) -> None:
        if self._asked_s >= 0.0 and self._host.now() - self._moved_s >= self._options.refresh_s:
            self.register()

    def register(self) -> None:
        """Register with the local broker, with retries; this supersedes an earlier registration."""
        self._round += 1
        this = self._round

        def ended(outcome: Outcome) -> None:
            if this == self._round:
                if outcome.ok and len(self._inbox) == 0:
                    self._asked_s = -1.0
                waiting, self._waiting = self._waiting, []
                for done in waiting:
                    done(outcome)

        self._requests.begin(lambda number: self._send(this, number), ended)

    def on_registered(self, answer: Registered) -> None:
        if answer.request not in self._requests:
            return
        for event in answer.events:
            self.deliver(event, 0)
        latest = answer.request == self._latest
        if latest:
            # An earlier one had other subscriptions.
            self._reached = answer
        self._requests.resolve(answer.request, Outcome())
        if answer.left and latest:
            # After the answer to an earlier one, the latest is under way and goes on by itself: two that each began
            # another would outdate each other for ever.
            self.register()

    def deliver(self, event: DataObject, hops: int) -> bool:
        """Notify the user if a subscription matches; returns whether one did for the first time."""
        metadata = event.metadata
        if self._is_over(metadata):
            return False
        matching = [own.subscription for own in self._inbox if own.subscription.matches(metadata)]
        if not matching:
            return False
        # The content is kept first: the application may ask for it as soon as it is told.
        if not self.contents.has(metadata.key) and not self.contents.keep(metadata, event.data):
            return False
        self._received[event_number(metadata.key)] = None
        accepted = [self._inbox.accept(subscription.key, metadata, hops) for subscription in matching]
        return any(accepted)

    def _send(self, this: int, number: int) -> None:
        broker = self._regions.local_broker
        if this != self._round:
            # Superseded: end it, but not before it is listed.
            self._host.after(0.0, lambda: self._supersede(number))
        elif broker != NOBODY:
            self._latest = number
            told = self._reached
            registration = Registration(
                number, self._interest(), self._known(), told.region, told.reached, told.offered if told.offers else 0
            )
            self._routes.send(broker, registration)

    def _known(self) -> tuple[int, ...]:
        """The events received, of the broker's offer or else recently."""
        if self._reached.offers:
            return tuple(number for number in self._reached.offers if number in self._received)
        latest = islice(reversed(self._received), self._options.known_events)
        return tuple(latest)

    def _supersede(self, number: int) -> None:
        self._requests.resolve(number, Outcome())

    def _interest(self) -> Interest:
        now_s = self._host.now()
        # Never equal to the one before, or brokers would take it for the same.
        self._moved_s = max(now_s, self._moved_s + 1e-6)
        # A frame that has ended may still be waiting for what was published within it.
        ended_s = now_s - self._options.interest_life_s
        wanted = tuple(own.subscription for own in self._inbox if not own.subscription.frame.ended(ended_s))
        brokers = self._regions.brokers(self._options.likely_brokers)
        return Interest(self._host.node, self._asked_s, self._moved_s, brokers, wanted)
