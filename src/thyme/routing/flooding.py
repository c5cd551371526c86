"""Flooding: a message to every node that can be reached (Thyme FGCS §4.3, §5).

A node that receives a flooded message for the first time delivers it and rebroadcasts it once, after a short random
delay so that neighbours do not collide. Copies are recognised by origin and number; the memory of them is bounded and
forgets the oldest. A node that knows that it has many neighbours waits longer, and leaves the rebroadcast out if it
received enough copies meanwhile: in a crowd where all hear each other, most rebroadcasts reach nobody new.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from thyme.host import Host
from thyme.model.bounded import Bounded
from thyme.model.ids import NodeId
from thyme.model.records import Counted, TrafficKind
from thyme.routing.broadcasts import BroadcastHandler
from thyme.routing.layer import Deliver, FloodRoutes
from thyme.routing.tables import SeenTable
from thyme.wire.codec import DecodeError
from thyme.wire.message import Message
from thyme.wire.routing import Flooded

HOP_LIMIT = 64
"""No venue is so many radio ranges across."""
AWAITED_ECHOES = 200
"""Own messages whose first echo is listened for; beyond them, not for that of the oldest."""

MANY_NEIGHBOURS = 20
ENOUGH_COPIES = 8


class FloodingOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    jitter_s: float = 0.05
    """Longest random wait before sending on; 802.11's own contention window is far shorter than a frame."""
    memory: int = 20_000
    """Flooded messages remembered, to send each on only once."""


class Flooding:
    """Floods this node's messages and passes on the others'."""

    def __init__(
        self,
        host: Host,
        deliver: Deliver,
        options: FloodingOptions | None = None,
        routes: FloodRoutes | None = None,
        neighbours: Callable[[], int] = lambda: 0,
    ) -> None:
        """`routes` numbers this node's floods and learns the way back from those that arrive. `neighbours` is how many
        are known."""
        self._host = host
        self._deliver = deliver
        self._options = options or FloodingOptions()
        self._table = SeenTable()
        self._seen: Bounded[tuple[NodeId, int], int] = Bounded(
            self._options.memory, parting=lambda seen, _: self._table.forget(*seen)
        )
        """How many copies of each were received, where every copy is handled."""
        self._routes = routes
        self._neighbours = neighbours
        self._number = host.random.getrandbits(40) << 20
        self._echoes: Bounded[int, Callable[[], None]] = Bounded(AWAITED_ECHOES)
        self.hops = 0
        """How many hops the message now being delivered has travelled."""

    def start(self) -> None:
        """Nothing to prepare: flooding keeps no state but its memory."""

    def flood(self, message: Message, echoed: Callable[[], None] | None = None) -> None:
        """Send to all nodes; `echoed` is called once, when the first neighbour rebroadcasts the message."""
        self._number = self._routes.next_sequence() if self._routes else self._number + 1
        if echoed:
            self._echoes[self._number] = echoed
        flooded = Flooded(self._host.node, self._number, 0, self._host.codec.encode(message))
        self._remember(flooded)
        self._host.broadcast(flooded)

    def receive(self, sender: NodeId, message: Message) -> bool:
        if not isinstance(message, Flooded):
            return False
        if (message.origin, message.number) in self._seen:
            self._seen[(message.origin, message.number)] += 1
            if message.origin == self._host.node and message.number in self._echoes:
                self._echoes.pop(message.number)()
                self._table.add(message.origin, message.number)
            return True
        self._remember(message)
        if self._routes:
            self._routes.learn(message.origin, sender, message.hops + 1, message.number)
        try:
            payload = self._host.codec.decode(message.payload)
        except DecodeError:
            self._host.record(Counted(TrafficKind.DROPPED, "Flooded", reason="unreadable"))
            return True
        if message.hops + 1 < HOP_LIMIT:
            onward = Flooded(message.origin, message.number, message.hops + 1, message.payload)
            crowd = max(1.0, self._neighbours() / MANY_NEIGHBOURS)
            wait_s = self._host.random.uniform(0.0, crowd * self._options.jitter_s)
            self._host.after(wait_s, lambda: self._rebroadcast(onward, crowd > 1.0))
        self.hops = message.hops + 1
        self._deliver(message.origin, payload)
        return True

    def _rebroadcast(self, message: Flooded, crowded: bool) -> None:
        if not crowded or self._seen.get((message.origin, message.number), 0) < ENOUGH_COPIES:
            self._host.broadcast(message)

    def broadcast_handlers(self, kind: type[Message]) -> tuple[BroadcastHandler, ...]:
        if kind is not Flooded:
            return ()
        return (BroadcastHandler(self._table, lambda sender, message, *_: self.receive(sender, message)),)

    def _remember(self, message: Flooded) -> None:
        """Drop copies of this message from now on; of an own message, only after its first echo."""
        self._seen[(message.origin, message.number)] = 1
        if message.number not in self._echoes:
            self._table.add(message.origin, message.number)
