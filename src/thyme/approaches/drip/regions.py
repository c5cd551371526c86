"""Dynamic Voronoi regions: which brokers are nearest, by the delay of their broadcasts (DRIP §IV-B).

A broker broadcasts its presence periodically. Whoever hears it takes the delay, by the clock that all share, and
keeps the l nearest brokers; a broadcast that would not be among them is neither kept nor passed on, so every
broadcast ends where l others are nearer. The nearest broker is the local one. A newer broadcast replaces what the
same broker's last one said; a broker that falls silent is forgotten.

Each frame also says which region its sender is in: that is how nodes know their neighbours' local brokers, and so
whether they are bridges (§V-B1). Brokers pass others' broadcasts on by the same rule.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from thyme.approaches.drip.options import RegionOptions
from thyme.approaches.drip.routes import BrokerRoutes
from thyme.host import Host, Timer
from thyme.model.ids import NodeId
from thyme.model.records import Moved
from thyme.wire.drip import NOBODY, Presence

REGION_BITS = 20


class Nearby(msgspec.Struct):
    """A broker as its last broadcast showed it."""

    broker: NodeId
    region: int
    sequence: int
    delay_s: float
    hops: int
    heard_s: float


HOP_JITTER_S = 0.0005
"""Longest random part of `hop_wait_s`, of 5 ms: small enough that ten hops never look longer than eleven."""


class Regions:
    """One node's view of the regions; `moved(old, new)` is called when its local broker changes, and `met_broker` when
    this node is a broker and another one came into range."""

    def __init__(
        self,
        host: Host,
        routes: BrokerRoutes,
        options: RegionOptions,
        keep: int,
        standing: float,
        moved: Callable[[NodeId, NodeId], None],
        met_broker: Callable[[], None],
    ) -> None:
        self._host = host
        self._routes = routes
        self._options = options
        self._keep = max(keep, 2)
        self._standing = standing
        self._moved = moved
        self._met_broker = met_broker
        self._nearest: list[Nearby] = []
        self._last_heard: dict[NodeId, int] = {}
        self._neighbours: dict[NodeId, tuple[NodeId, float]] = {}
        self._timer: Timer | None = None
        self.own_region = 0
        """The region that this node maintains as a broker; 0 if it is none."""
        self.local_broker = NOBODY

    @property
    def region(self) -> int:
        """The region that this node is in; 0 if it is in none."""
        if self.own_region:
            return self.own_region
        return self._nearest[0].region if self._nearest else 0

    @property
    def nearest(self) -> list[Nearby]:
        """Other brokers, nearest first: l of them, at most."""
        return self._nearest

    def brokers(self, most: int) -> tuple[NodeId, ...]:
        """The nearest brokers, this node itself first if it is one."""
        own = (self._host.node,) if self.own_region else ()
        return (*own, *(nearby.broker for nearby in self._nearest))[:most]

    def start_region(self) -> None:
        """Be a broker from now on, with a region id that no other broker and no earlier life of this one has."""
        self.own_region = ((self._host.node + 1) << REGION_BITS) | self._host.random.getrandbits(REGION_BITS)
        self._timer = self._host.after(self._host.random.uniform(0.0, self._options.period_s), self._broadcast)
        self._choose()

    def end_region(self) -> None:
        self.own_region = 0
        self.stop()
        self._choose()

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def hear(self, sender: NodeId, presence: Presence) -> None:
        now_s = self._host.now()
        if presence.attached == sender and self.own_region and not self._met_lately(sender, now_s):
            self._host.after(0.0, self._met_broker)
        self._meet(sender, presence.attached, now_s)
        # Further copies of a broadcast come later, so its first one decides.
        broker, sequence = presence.broker, presence.sequence
        if broker == self._host.node or self._last_heard.get(broker) == sequence:
            return
        self._last_heard[broker] = sequence
        delay_s = max(0.0, now_s - presence.sent_s)
        found = Nearby(presence.broker, presence.region, presence.sequence, delay_s, presence.hops + 1, now_s)
        if not self._admit(found):
            return
        self._routes.learn(presence.broker, sender, presence.hops + 1, presence.sequence)
        self._choose()
        if presence.hops + 1 < self._options.hop_limit:
            wait_s = self._options.hop_wait_s + self._host.random.uniform(0.0, HOP_JITTER_S)
            self._host.after(wait_s, lambda: self._pass_on(presence))

    def forget(self, broker: NodeId) -> None:
        """The broker is none any more, or gone."""
        self._nearest = [nearby for nearby in self._nearest if nearby.broker != broker]
        self._choose()

    def expire(self) -> None:
        """Forget brokers and neighbours that fell silent."""
        self._last_heard.clear()
        now_s = self._host.now()
        oldest_s = now_s - self._options.life_s
        if any(nearby.heard_s < oldest_s for nearby in self._nearest):
            self._nearest = [nearby for nearby in self._nearest if nearby.heard_s >= oldest_s]
            self._choose()
        gone_s = now_s - self._options.neighbour_life_s
        self._neighbours = {node: told for node, told in self._neighbours.items() if told[1] >= gone_s}

    def neighbours_of(self, broker: NodeId) -> list[NodeId]:
        """Neighbours whose local broker is `broker`, the last heard first."""
        gone_s = self._host.now() - self._options.neighbour_life_s
        found = [
            (-heard_s, node)
            for node, (attached, heard_s) in self._neighbours.items()
            if attached == broker and heard_s >= gone_s
        ]
        return [node for _, node in sorted(found)]

    def adjacent_brokers(self) -> list[NodeId]:
        """Brokers that are neighbours, by number."""
        gone_s = self._host.now() - self._options.neighbour_life_s
        return sorted(node for node, (at, heard_s) in self._neighbours.items() if at == node and heard_s >= gone_s)

    def lose_neighbour(self, node: NodeId) -> None:
        self._neighbours.pop(node, None)

    def _met_lately(self, node: NodeId, now_s: float) -> bool:
        known = self._neighbours.get(node)
        return known is not None and known[0] == node and known[1] >= now_s - self._options.neighbour_life_s

    def _meet(self, sender: NodeId, attached: NodeId, now_s: float) -> None:
        if sender in self._neighbours or len(self._neighbours) < self._options.neighbours:
            self._neighbours[sender] = (attached, now_s)

    def _admit(self, found: Nearby) -> bool:
        """Whether it is news and among the l nearest: then it is kept."""
        others = []
        for nearby in self._nearest:
            if nearby.broker != found.broker:
                others.append(nearby)
            elif nearby.region == found.region and nearby.sequence >= found.sequence:
                return False
        others.append(found)
        others.sort(key=lambda nearby: (nearby.delay_s, nearby.broker))
        if len(others) > self._keep and others[-1] is found:
            return False
        self._nearest = others[: self._keep]
        return True

    def _choose(self) -> None:
        """Attach to the nearest broker."""
        chosen = NOBODY
        if self.own_region:
            chosen = self._host.node
        elif self._nearest:
            chosen = self._nearest[0].broker
        if chosen != self.local_broker:
            old, self.local_broker = self.local_broker, chosen
            self._host.record(Moved("region", old, chosen))
            self._moved(old, chosen)

    def _broadcast(self) -> None:
        self._timer = self._host.after(self._options.period_s, self._broadcast)
        node, sequence = self._host.node, self._routes.next_sequence()
        self._host.broadcast(Presence(node, self.own_region, sequence, self._host.now(), 0, self._standing, node))

    def _pass_on(self, presence: Presence) -> None:
        onward = msgspec.structs.replace(presence, hops=presence.hops + 1, attached=self.local_broker)
        self._host.broadcast(onward)
