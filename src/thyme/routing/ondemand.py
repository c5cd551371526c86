"""On-demand routes: a route is searched when a message needs it, and kept while it works.

After AODV: a request for a target is flooded, every node on its path learns the reverse route, the target answers
along it, and packets follow. Nodes that know a route do not answer in its place: in a busy network their answers, of
routes that had just broken, were most of the traffic. Sequence numbers keep routes free of loops: a route is replaced
only by a newer one, or by a shorter one of the same age. A broken link invalidates every route over it and is
reported to the nodes that used them, so a route may live long (`route_life_s`). DRIP asks for "lightweight on-demand"
routes to brokers (§IV); Thyme-ES and Thyme-LS use them unless DSDV is set.

In a crowd most rebroadcasts of a request reach no new node. A node that received `enough_copies` of a request while it
waited to rebroadcast it does not. That may cut off nodes behind it, so all nodes rebroadcast the second request of an
origin.

A flood of an approach is as good as a request: it teaches every node the way back to its origin. Its number is the
origin's next sequence number, so that such a route is as free of loops as the others.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf

import msgspec

from thyme.host import Host, Timer
from thyme.model.bounded import Bounded
from thyme.model.ids import NodeId
from thyme.model.records import Counted, TrafficKind
from thyme.routing.broadcasts import BroadcastHandler
from thyme.routing.layer import Deliver, FloodRoutes
from thyme.wire.codec import DecodeError
from thyme.wire.message import Message
from thyme.wire.routing import Routed, RouteError, RouteReply, RouteRequest

BROKEN_AFTER = 2
"""Frames to a neighbour that the link gives up, each within `FAILURES_S` of the one before, until the link counts as
broken. In a busy network single frames are given up for want of airtime. If one failure broke all routes over a link,
their searches would take more airtime: at 196 static nodes this fed itself until nothing else was sent. A frame that
never left this node's own queue says nothing about the link and is no failure."""
FAILURES_S = 5.0
MOST_SKEW_S = 600.0
"""How far a sequence number may be from the time. Numbers start as times in milliseconds; they stay within this of it,
and others are not believed. So a forged number keeps genuine ones out for twice as long at most."""
AGAIN_S = 10.0
"""A second request of one origin for one target within this time is a retry: the first one failed."""
UNKNOWN = -1
"""No sequence number."""
MAX_ROUTES = 10_000
"""Most routes kept; the one learned first is dropped."""
JITTER_S = 0.02
"""Longest random wait before a request is passed on, so that neighbours do not collide."""
REPLY_WAIT_S = 1.0
"""How long one search may take; doubled with every further try."""


class OnDemandOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    route_life_s: float = 300.0
    """A route unused for this long is looked for again. A route that has broken is noticed when it is used."""
    tries: int = 3
    """Searches for a route before its packets are given up."""
    reroutes: int = 2
    """How often a packet whose first link failed, or that never left this node's queue, is sent again, over another
    route if there is one, before its sender is notified."""
    hop_limit: int = 64
    """A packet or a route request is dropped after so many hops."""
    enough_copies: int = 3
    """A node that has heard so many copies of a request does not repeat it; 0 to repeat every request."""
    queue_per_target: int = 2_048
    """Packets that wait for one target's route; the oldest is dropped. Twice the subscriptions of a node, which one
    insert can match."""
    memory: int = 20_000
    """Route requests remembered, to pass each on only once."""


class Route(msgspec.Struct):
    next_hop: NodeId
    hops: int
    sequence: int
    expires_s: float
    valid: bool = True


Failed = Callable[[], None] | None


class _Search(msgspec.Struct):
    waiting: list[tuple[Routed, Failed, int]]
    timer: Timer | None = None
    tries: int = 0


class OnDemandRouter:
    """A `UnicastRouter` that searches for routes when they are needed."""

    def __init__(self, host: Host, deliver: Deliver, options: OnDemandOptions | None = None) -> None:
        self._host = host
        self._deliver = deliver
        self._options = options or OnDemandOptions()
        self._routes: Bounded[NodeId, Route] = Bounded(MAX_ROUTES)
        self._searches: dict[NodeId, _Search] = {}
        self._seen: Bounded[tuple[NodeId, int], int] = Bounded(self._options.memory)
        """Requests, and the number of copies received of each."""
        self._asked_s: Bounded[tuple[NodeId, NodeId], float] = Bounded(self._options.memory, renewing=True)
        """When a request of an origin for a target was last received."""
        self._failures: Bounded[NodeId, tuple[int, float]] = Bounded(MAX_ROUTES)
        """Failures in a row of links to neighbours, and when the last one was."""
        self._requests = host.random.getrandbits(30) << 20
        # A sequence number that grows across restarts, so that neighbours' old routes never look newer.
        self._sequence = int(host.now() * 1000.0)

    def start(self) -> None:
        """Routes are made on demand; nothing runs before the first request."""

    def route_to(self, target: NodeId) -> Route | None:
        route = self._routes.get(target)
        return route if route and route.valid and route.expires_s > self._host.now() else None

    def send(self, to: NodeId, message: Message, failed: Failed = None) -> None:
        if to == self._host.node:
            self._host.after(0.0, lambda: self._deliver(to, message))
            return
        codec, reroutes = self._host.codec, self._options.reroutes
        route = self.route_to(to)
        if route is not None and route.next_hop == to:
            packet = Routed(self._host.node, to, 0, codec.encode_for_neighbour(message))
            self._pass_on(packet, failed, reroutes, message)
        else:
            self._dispatch(Routed(self._host.node, to, 0, codec.encode(message)), failed, reroutes)

    def has_room(self) -> bool:
        return not self._searches or all(
            2 * len(search.waiting) < self._options.queue_per_target for search in self._searches.values()
        )

    def broadcast_handlers(self, kind: type[Message]) -> tuple[BroadcastHandler, ...]:
        return ()

    def flood_routes(self) -> FloodRoutes:
        return self

    def next_sequence(self) -> int:
        oldest = int((self._host.now() - MOST_SKEW_S) * 1000.0)
        self._sequence = max(self._believed(self._sequence) + 1, oldest)
        return self._sequence

    def receive(self, sender: NodeId, message: Message) -> bool:
        match message:
            case Routed():
                self._on_packet(sender, message)
            case RouteRequest():
                self._on_request(sender, message)
            case RouteReply():
                self._on_reply(sender, message)
            case RouteError():
                self._on_error(sender, message)
            case _:
                return False
        return True

    def _dispatch(self, packet: Routed, failed: Failed, reroutes: int) -> None:
        """Forward a packet, or search a route first; `reroutes` is the number of link failures left."""
        to = packet.target
        if self.route_to(to):
            self._pass_on(packet, failed, reroutes)
            return
        search = self._searches.get(to)
        if search is None:
            search = self._searches[to] = _Search([])
            self._request(to)
        search.waiting.append((packet, failed, reroutes))
        if len(search.waiting) > self._options.queue_per_target:
            _, dropped, _ = search.waiting.pop(0)
            self._drop("no room while looking for a route")
            if dropped:
                dropped()

    def _request(self, target: NodeId) -> None:
        search = self._searches[target]
        if search.tries >= self._options.tries:
            self._give_up(target)
            return
        search.timer = self._host.after(REPLY_WAIT_S * 2**search.tries, lambda: self._request(target))
        search.tries += 1
        self._requests += 1
        request = RouteRequest(
            self._host.node,
            self._requests,
            self.next_sequence(),
            target,
            self._sequence_of(target),
            0,
            self._options.hop_limit,
        )
        self._remember(request)
        self._host.broadcast(request)

    def _give_up(self, target: NodeId) -> None:
        search = self._searches.pop(target)
        for _, failed, _ in search.waiting:
            self._drop("no route")
            if failed:
                failed()

    def _on_request(self, sender: NodeId, request: RouteRequest) -> None:
        key = (request.origin, request.number)
        if key in self._seen or request.origin == self._host.node:
            self._seen[key] = self._seen.get(key, 0) + 1
            return
        self._remember(request)
        now_s, asked = self._host.now(), (request.origin, request.target)
        again = now_s - self._asked_s.get(asked, -inf) < AGAIN_S
        self._asked_s[asked] = now_s
        self.learn(request.origin, sender, request.hops + 1, request.origin_sequence)
        if request.target == self._host.node:
            self._sequence = max(self.next_sequence(), self._believed(request.target_sequence))
            reply = RouteReply(request.origin, request.target, self._sequence, 0)
            self._send_reply(sender, reply)
            return
        if request.hops + 1 < request.hop_limit:
            onward = msgspec.structs.replace(request, hops=request.hops + 1)
            delay_s = self._host.random.uniform(0.0, JITTER_S)
            self._host.after(delay_s, lambda: self._repeat(onward, again))

    def _repeat(self, request: RouteRequest, again: bool) -> None:
        """Rebroadcast a request, unless enough neighbours have done so."""
        enough = self._options.enough_copies
        if again or not enough or self._seen.get((request.origin, request.number), 0) < enough:
            self._host.broadcast(request)

    def _send_reply(self, to: NodeId, reply: RouteReply) -> None:
        self._host.unicast(to, reply, lambda: self._link_failed(to), lambda: self._drop("reply left too late"))

    def _on_reply(self, sender: NodeId, reply: RouteReply) -> None:
        self.learn(reply.target, sender, reply.hops + 1, reply.target_sequence)
        if reply.origin != self._host.node:
            back = self.route_to(reply.origin)
            if back is None:
                self._drop("reply lost its way back")
                return
            self._send_reply(back.next_hop, msgspec.structs.replace(reply, hops=reply.hops + 1))
            return
        search = self._searches.pop(reply.target, None)
        if search is None:
            return
        if search.timer:
            search.timer.cancel()
        for packet, failed, reroutes in search.waiting:
            self._dispatch(packet, failed, reroutes)

    def _on_packet(self, sender: NodeId, packet: Routed) -> None:
        if packet.target == self._host.node:
            try:
                payload = self._host.codec.decode(packet.payload)
            except DecodeError:
                self._drop("unreadable")
                return
            self._deliver(packet.origin, payload)
            return
        if packet.hops + 1 >= self._options.hop_limit:
            self._drop("hop limit")
            return
        # An intermediate node whose route has just expired searches a new one itself.
        onward = msgspec.structs.replace(packet, hops=packet.hops + 1)
        self._dispatch(onward, None, self._options.reroutes)

    def _pass_on(self, packet: Routed, failed: Failed, reroutes: int, message: Message | None = None) -> None:
        """Over the route that there is. Of what was encoded for a neighbour, the message is given: on another way it
        needs more."""
        route = self._routes[packet.target]
        route.expires_s = self._host.now() + self._options.route_life_s
        next_hop = route.next_hop

        def failed_link() -> None:
            self._link_failed(next_hop)
            lost()

        def lost() -> None:
            if reroutes > 0:
                payload = packet.payload if message is None else self._host.codec.encode(message)
                self._dispatch(msgspec.structs.replace(packet, payload=payload), failed, reroutes - 1)
                return
            self._drop("link gave up")
            if failed:
                failed()

        self._host.unicast(next_hop, packet, failed_link, unsent=lost)

    def _on_error(self, sender: NodeId, error: RouteError) -> None:
        lost = []
        for target, sequence in error.targets:
            route = self._routes.get(target)
            if route and route.valid and route.next_hop == sender:
                route.valid = False
                route.sequence = max(route.sequence, sequence)
                lost.append((target, route.sequence))
        if lost:
            self._host.broadcast(RouteError(tuple(lost)))

    def _link_failed(self, next_hop: NodeId) -> None:
        failures, last_s = self._failures.pop(next_hop, (0, -inf))
        now_s = self._host.now()
        failures = failures + 1 if now_s - last_s < FAILURES_S else 1
        if failures >= BROKEN_AFTER:
            self._break(next_hop)
        else:
            self._failures[next_hop] = (failures, now_s)

    def _break(self, next_hop: NodeId) -> None:
        lost = []
        for target, route in self._routes.items():
            if route.valid and route.next_hop == next_hop:
                route.valid = False
                route.sequence += 1
                lost.append((target, route.sequence))
        if lost:
            self._host.broadcast(RouteError(tuple(lost)))

    def learn(self, target: NodeId, next_hop: NodeId, hops: int, sequence: int) -> None:
        if target == self._host.node or self._believed(sequence) == UNKNOWN:
            return
        known, last = self.route_to(target), self._sequence_of(target)
        if sequence > last or (sequence == last and (known is None or hops < known.hops)):
            expires_s = self._host.now() + self._options.route_life_s
            self._routes[target] = Route(next_hop, hops, sequence, expires_s)

    def _sequence_of(self, target: NodeId) -> int:
        route = self._routes.get(target)
        return self._believed(route.sequence) if route else UNKNOWN

    def _believed(self, sequence: int) -> int:
        """The number, or `UNKNOWN` if it is of the future."""
        return sequence if sequence <= (self._host.now() + MOST_SKEW_S) * 1000.0 else UNKNOWN

    def _remember(self, request: RouteRequest) -> None:
        self._seen[(request.origin, request.number)] = 1

    def _drop(self, reason: str) -> None:
        self._host.record(Counted(TrafficKind.DROPPED, "Routed", reason=reason))
