"""The UDP link: the event loop and the sockets around `Link`.

Every call passes the loop's time on, sends what the link has to send, and sets one alarm for the link's next timer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from math import inf
from random import Random

from thyme.live.link.addresses import Address
from thyme.live.link.lanes import Failed
from thyme.live.link.link import ANNOUNCED, Link, LinkOptions
from thyme.live.link.peers import Presence
from thyme.live.link.reception import Count, Deliver
from thyme.live.link.sockets import DatagramEndpoint, EndpointOptions, Network, UdpNetwork
from thyme.live.trust.identity import Identity
from thyme.live.trust.namespaces import Namespace
from thyme.live.trust.renewals import Renewal
from thyme.model.ids import NodeId
from thyme.model.records import TrafficKind
from thyme.wire.message import Message
from thyme.wire.signing import PLAIN, Codec


class UdpLink:
    """One node's end of the link, in an event loop."""

    def __init__(
        self,
        node: NodeId,
        random: Random,
        deliver: Deliver,
        count: Count,
        options: LinkOptions | None = None,
        *,
        only_listed: bool = False,
        codec: Codec = PLAIN,
        identity: Identity | None = None,
        namespace: Namespace | None = None,
        discovers: bool = False,
        network: Network | None = None,
    ) -> None:
        """With `discovers`, this node and others of the network find each other (`discovery`)."""
        self._options = options or LinkOptions()
        self._count = count
        self._network = network or UdpNetwork()
        self._loop = asyncio.get_running_loop()
        self.endpoint: DatagramEndpoint | None = None
        self._made_room, self._progress = asyncio.Event(), asyncio.Event()
        self.core = Link(
            identity or Identity.given(node),
            random,
            self._network.entropy,
            deliver,
            count,
            self._made_room.set,
            self._options,
            only_listed=only_listed,
            codec=codec,
            namespace=namespace,
        )
        self.core.timers.now_s = self._loop.time()
        self.peers, self.peering, self.discovery = self.core.peers, self.core.peering, self.core.discovery
        self.discovery.on = discovers
        self.peering.on_progress = self._progress.set
        self._alarm: asyncio.Handle | None = None
        self._alarm_s = inf

    @property
    def address(self) -> Address:
        assert self.endpoint is not None, "the link is not open"
        return self.endpoint.address

    @property
    def watch(self) -> Callable[[Presence], None] | None:
        """Called when a peer comes or goes."""
        return self.core.watch

    @watch.setter
    def watch(self, watch: Callable[[Presence], None] | None) -> None:
        self.core.watch = watch

    @property
    def unacknowledged(self) -> int:
        return self.core.unacknowledged

    @property
    def has_room(self) -> bool:
        """Whether few enough messages wait to be sent."""
        return self.core.has_room

    async def room(self) -> None:
        """Wait until few enough messages wait to be sent."""
        while not self.core.has_room:
            self._made_room.clear()
            await self._made_room.wait()

    async def open(self, address: Address) -> None:
        options = self._options
        self.endpoint = await self._network.open(
            address,
            self,
            EndpointOptions(
                options.multicast.port,
                options.multicast.loopback,
                options.discovery.port if self.discovery.on else 0,
            ),
        )
        self.core.timers.now_s = self._loop.time()
        self.core.open(self.endpoint.address, has_group=self.endpoint.has_group)
        self.flush()

    def greet(self, addresses: Iterable[Address]) -> None:
        """Make these addresses peers, and greet them until they answer."""
        self.core.timers.now_s = self._loop.time()
        self.core.greet(addresses)
        self.flush()

    def renew(self, namespace: Namespace, renewal: Renewal | None = None) -> None:
        """Use the next key of the namespace (`Link.renew`), and hand its creator's renewal to the peers."""
        self.core.timers.now_s = self._loop.time()
        self.core.renew(namespace, renewal)
        if renewal is not None:
            self.core.hand_over()
        self.flush()

    async def wait_for_listed(self, patience_s: float = inf) -> None:
        """Wait until every listed peer has answered or another node has this node's id; with a timeout."""
        with suppress(TimeoutError):
            async with asyncio.timeout(None if patience_s == inf else patience_s):
                while not self.peering.all_answered and not self.peering.refused:
                    self._progress.clear()
                    await self._progress.wait()

    async def close(self) -> None:
        """Say goodbye, forget what is under way and close the sockets."""
        self.core.close()
        self.flush()
        if self._alarm is not None:
            self._alarm.cancel()
        endpoint, self.endpoint = self.endpoint, None
        if endpoint is not None:
            await endpoint.close()

    def broadcast(self, message: Message) -> int:
        """Send to every peer; the size of the encoded message."""
        self.core.timers.now_s = self._loop.time()
        size_bytes = self.core.broadcast(message)
        self.flush()
        return size_bytes

    def unicast(self, to: NodeId, message: Message, failed: Failed) -> int:
        """Send to a peer; the size of the encoded message."""
        self.core.timers.now_s = self._loop.time()
        size_bytes = self.core.unicast(to, message, failed)
        self.flush()
        return size_bytes

    def idle(self) -> bool:
        return self.core.idle()

    def part_bytes(self) -> int:
        return self.core.part_bytes()

    def receive(self, data: bytes, source: Address, *, grouped: bool = False) -> None:
        self.core.timers.now_s = self._loop.time()
        self.core.receive(data, source, grouped=grouped)

    def receive_announcement(self, data: bytes, source: Address) -> None:
        self.core.timers.now_s = self._loop.time()
        self.discovery.receive(data, source)
        self.flush()

    def deliver(self) -> None:
        """Deliver what was received, though more may come in this turn."""
        reception = self.core.reception
        if reception.received:
            if reception.acknowledge_much():
                self.flush()
            reception.deliver()

    def end_turn(self) -> None:
        """Deliver what was received, and acknowledge all of it."""
        self.deliver()
        self.core.reception.acknowledge()
        self.flush()

    def refused(self) -> None:
        self._count(TrafficKind.DROPPED, "datagram", 0, "the socket refused it")

    def flush(self) -> None:
        """Send what the link has to send, and set the alarm for its next timer."""
        core = self.core
        if core.outgoing:
            outgoing, core.outgoing = core.outgoing, []
            for datagram, address, name in outgoing:
                self._send(datagram, address, name)
        if core.timers.next_s < self._alarm_s:
            self._set_alarm(core.timers.next_s)

    def _set_alarm(self, at_s: float) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        delay_s = at_s - self._loop.time()
        self._alarm_s = at_s
        if delay_s <= 0.0:
            self._alarm = self._loop.call_soon(self._on_alarm)
        else:
            self._alarm = self._loop.call_later(delay_s, self._on_alarm)

    def _send(self, datagram: bytes, address: Address, name: str) -> None:
        endpoint = self.endpoint
        if endpoint is None:
            return
        if address == ANNOUNCED:
            endpoint.announce(datagram)
        elif endpoint.full:
            self._count(TrafficKind.DROPPED, "datagram", len(datagram), "socket buffer full")
        else:
            self._count(TrafficKind.PHY_SENT, name, len(datagram), "")
            endpoint.send(datagram, address)

    def _on_alarm(self) -> None:
        self._alarm, self._alarm_s = None, inf
        if self.endpoint is not None:
            self.core.timers.run(self._loop.time())
            self.flush()
