"""Bridge nodes: where two regions touch, and how brokers' messages get across (DRIP §V-B1).

A bridge node (1) is no broker, (2) has two brokers M and N as its nearest and second nearest, and (3) has a
neighbour whose local broker is N. It tells its local broker M so periodically. M reaches N over a bridge node, which
hands the message to its neighbour in N's region, which sends it on to N. Brokers that are neighbours need no bridge.
"""

from __future__ import annotations

from collections.abc import Callable

from thyme.approaches.drip.options import BridgeOptions
from thyme.approaches.drip.regions import Regions
from thyme.approaches.drip.routes import BrokerRoutes
from thyme.host import Host, Timer
from thyme.model.ids import NodeId
from thyme.model.records import Counted, TrafficKind
from thyme.wire.drip import NOBODY, BridgeStatus, Relay, RelayReceived

BRIDGES_PER_BROKER = 32
"""Bridges remembered to one broker; a message needs one."""


class Bridge:
    """The bridge side of a node: telling its broker, and carrying messages across."""

    def __init__(self, host: Host, regions: Regions, routes: BrokerRoutes, options: BridgeOptions) -> None:
        self._host = host
        self._regions = regions
        self._routes = routes
        self._options = options
        self._timer: Timer | None = None

    def start(self) -> None:
        self._timer = self._host.after(self._host.random.uniform(0.0, self._options.status_s), self._tell)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def other_side(self) -> NodeId:
        """The broker N to which this node is a bridge; `NOBODY` if it is none."""
        nearest = self._regions.nearest
        if self._regions.own_region or len(nearest) < 2:
            return NOBODY
        return nearest[1].broker if self._regions.neighbours_of(nearest[1].broker) else NOBODY

    def carry(self, relay: Relay) -> None:
        """A message to or from across the border that this node is to pass on."""
        if relay.bridge == self._host.node:
            self._cross(relay, self._options.crossings)
        else:
            self._routes.send(relay.target, relay)

    def carry_back(self, answer: RelayReceived) -> None:
        if answer.bridge == self._host.node:
            self._routes.send(answer.source, answer)
        else:
            self._host.unicast(answer.bridge, answer)

    def _cross(self, relay: Relay, tries: int) -> None:
        across = self._regions.neighbours_of(relay.target)
        if not across or tries == 0:
            self._host.record(Counted(TrafficKind.DROPPED, "Relay", reason="no neighbour across"))
            return

        def failed() -> None:
            self._regions.lose_neighbour(across[0])
            self._cross(relay, tries - 1)

        self._host.unicast(across[0], relay, failed)

    def _tell(self) -> None:
        self._timer = self._host.after(self._options.status_s, self._tell)
        self._regions.expire()
        other = self.other_side()
        if other != NOBODY:
            local, second = self._regions.nearest[:2]
            self._routes.send(local.broker, BridgeStatus(other, local.delay_s + second.delay_s))


class BridgeTable:
    """The broker side: which bridges lead to which other brokers."""

    def __init__(self, now: Callable[[], float], options: BridgeOptions) -> None:
        self._now = now
        self._options = options
        self._bridges: dict[NodeId, dict[NodeId, tuple[float, float]]] = {}

    def hear(self, bridge: NodeId, status: BridgeStatus) -> None:
        for other in list(self._bridges):
            if other != status.other:
                self.lose(other, bridge)
        bridges = self._bridges.setdefault(status.other, {})
        if bridge in bridges or len(bridges) < BRIDGES_PER_BROKER:
            bridges[bridge] = (status.delay_s, self._now())

    def lose(self, other: NodeId, bridge: NodeId) -> None:
        bridges = self._bridges.get(other, {})
        bridges.pop(bridge, None)
        if not bridges:
            self._bridges.pop(other, None)

    def reachable(self) -> dict[NodeId, float]:
        """The other brokers that can be contacted now, nearest first, with their delays."""
        delays = {other: min(delay_s for delay_s, _ in fresh.values()) for other, fresh in self._fresh()}
        return dict(sorted(delays.items(), key=lambda entry: (entry[1], entry[0])))

    def best(self, other: NodeId) -> NodeId:
        """The bridge to `other` that told last; `NOBODY` if there is none."""
        fresh = dict(self._fresh()).get(other)
        return max(fresh, key=lambda bridge: (fresh[bridge][1], bridge)) if fresh else NOBODY

    def _fresh(self) -> list[tuple[NodeId, dict[NodeId, tuple[float, float]]]]:
        oldest_s = self._now() - self._options.life_s
        found = []
        for other, bridges in list(self._bridges.items()):
            fresh = {bridge: told for bridge, told in bridges.items() if told[1] >= oldest_s}
            if fresh:
                self._bridges[other] = fresh
                found.append((other, fresh))
            else:
                del self._bridges[other]
        return found
