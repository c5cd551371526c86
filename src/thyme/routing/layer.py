"""What a routing layer is to the approach above it.

A layer is given its host and a `deliver` callback. The approach passes every frame that arrives to its layers in
turn; a layer answers whether the frame was its own. A layer that carries an approach's message over several hops
hands it up with `deliver(origin, message)`: who sent it first, and what. Payloads travel as encoded bytes, so a
node that only forwards never looks inside.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol as Interface

from thyme.model.ids import NodeId
from thyme.routing.broadcasts import BroadcastHandler
from thyme.wire.message import Message

Deliver = Callable[[NodeId, Message], None]


class Layer(Interface):
    """A piece of routing with messages of its own."""

    def start(self) -> None: ...
    def receive(self, sender: NodeId, message: Message) -> bool:
        """Handle a frame if it is this layer's own; False if it is not."""


class FloodRoutes(Interface):
    """Routes back to those whose floods arrive."""

    def next_sequence(self) -> int:
        """A number for a flood of this node, larger than all before."""

    def learn(self, origin: NodeId, next_hop: NodeId, hops: int, sequence: int) -> None:
        """A flood of `origin` arrived from `next_hop`, `hops` hops away from its origin."""


class UnicastRouter(Layer, Interface):
    """A layer that gets a message to one node over several hops (DSDV, on-demand routes)."""

    def send(self, to: NodeId, message: Message, failed: Callable[[], None] | None = None) -> None:
        """Best effort; `failed` is called if this node finds out that it cannot be done."""

    def has_room(self) -> bool:
        """Whether the queues of packets that wait for a route have room. Callers that can wait ask before they send."""

    def broadcast_handlers(self, kind: type[Message]) -> tuple[BroadcastHandler, ...]:
        """How broadcasts of a type are handled at many nodes with one call instead of by `receive`; empty if they are
        not."""

    def flood_routes(self) -> FloodRoutes | None:
        """Where floods are reported, if this router learns routes from them."""
