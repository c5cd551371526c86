"""Routes to brokers and back: on-demand routes that rarely have to be searched for (DRIP §IV-B).

A broker's broadcast leaves a route to it at every node that passes it on, as a route request would; its sequence
number is the one of the route. A packet on its way to a broker leaves the way back to its origin, so that the broker
can answer without a search. What neither knows is searched for only if the sender says that it is worth a search,
as a publication is; the others wait for the next broadcast, and a packet on its way is never searched for.
"""

from __future__ import annotations

from thyme.model.ids import NodeId
from thyme.routing.ondemand import Failed, OnDemandRouter, Route
from thyme.wire.message import Message
from thyme.wire.routing import Routed


class BrokerRoutes(OnDemandRouter):
    """On-demand routes that learn from broadcasts and from passing packets."""

    def send_searching(self, to: NodeId, message: Message) -> None:
        """Send, and look for a route if there is none."""
        if to == self._host.node or self.route_to(to):
            self.send(to, message)
            return
        packet = Routed(self._host.node, to, 0, self._host.codec.encode(message))
        super()._dispatch(packet, None, self._options.reroutes)

    def _dispatch(self, packet: Routed, failed: Failed, reroutes: int) -> None:
        if self.route_to(packet.target):
            self._pass_on(packet, failed, reroutes)
            return
        self._drop("no route")
        if failed:
            failed()

    def receive(self, sender: NodeId, message: Message) -> bool:
        if isinstance(message, Routed) and message.origin != self._host.node:
            self._learn_back(message.origin, sender, message.hops + 1)
        return super().receive(sender, message)

    def _learn_back(self, origin: NodeId, sender: NodeId, hops: int) -> None:
        """A packet carries no sequence number of its origin, so the route back keeps the one known: it never
        counts as newer than what a broadcast or a search found. A loop of two old ways ends at the hop limit."""
        expires_s = self._host.now() + self._options.route_life_s
        self._routes[origin] = Route(sender, hops, self._sequence_of(origin), expires_s)
