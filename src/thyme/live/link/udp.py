"""The UDP link: one hop between live nodes, with the promises that a radio makes in the simulator.

A broadcast is one datagram to every peer, unacknowledged. Unicasts travel in parcels (`lanes`), which are repeated with
growing patience until their acknowledgement comes, and given up after a few tries; the receiver hands a repeated one up
only once. What no datagram on its way holds goes in pieces. Messages are taken from nodes that have greeted
(`acquaintance`), within each one's budget (`budgets`). Whatever arrives that cannot be read is counted and dropped.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from random import Random

import msgspec

from thyme.live.link.addresses import Address, address_text
from thyme.live.link.budgets import FURTHER, BudgetOptions, Budgets, parcel_cost
from thyme.live.link.carrying.acknowledgements import Acknowledgements
from thyme.live.link.carrying.lanes import Failed
from thyme.live.link.carrying.multicast import Multicast, MulticastOptions
from thyme.live.link.carrying.parcels import message_count, pack_numbers, split, unpack_numbers
from thyme.live.link.carrying.paths import PathOptions, Paths
from thyme.live.link.carrying.reception import Count, Hear, Reception
from thyme.live.link.carrying.unicasts import UnicastOptions, Unicasts, Way
from thyme.live.link.frames import (
    ABOUT,
    DATA,
    EVERYBODY,
    HEADER_BYTES,
    NO_MARK,
    TO_ALL,
    Frame,
    Kind,
    content_of,
    unpack,
)
from thyme.live.link.meeting.acquaintance import Acquaintance, PeerOptions
from thyme.live.link.meeting.discovery import DiscoveryOptions
from thyme.live.link.meeting.finding import Finder, Finding
from thyme.live.link.meeting.greetings import Introduction, signed
from thyme.live.link.meeting.peers import Peer, Peers, Presence
from thyme.live.link.port import Buffers, Port
from thyme.live.link.sealing import FrameError, Seal
from thyme.live.link.sessions import is_marked, mark_of
from thyme.live.trust.identity import Identity
from thyme.live.trust.namespaces import Namespace
from thyme.model.errors import InputError
from thyme.model.ids import NodeId
from thyme.model.records import TrafficKind
from thyme.model.settings.bounds import AtLeastOne
from thyme.wire.message import Message
from thyme.wire.signing import PLAIN, Codec

logger = logging.getLogger("thyme.live")


class LinkOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    unicasts: UnicastOptions = UnicastOptions()
    peers: PeerOptions = PeerOptions()
    budget: BudgetOptions = BudgetOptions()
    paths: PathOptions = PathOptions()
    multicast: MulticastOptions = MulticastOptions()
    discovery: DiscoveryOptions = DiscoveryOptions()
    heard: AtLeastOne = 131_072
    """The latest numbers of a peer's frames, of which it is known which have come, to hand each up only once: 40,000 a
    second while one is tried."""
    send_buffer_bytes: AtLeastOne = 1_000_000
    """Bytes that wait for the socket; above, frames are dropped until it drains."""
    receive_buffer_bytes: AtLeastOne = 4_000_000
    """What the system is asked to keep until it is read; it may give less."""
    datagrams_per_turn: AtLeastOne = 64
    """Read at once, before anything else has its turn."""

    def buffers(self) -> Buffers:
        return Buffers(self.send_buffer_bytes, self.receive_buffer_bytes, self.datagrams_per_turn)


class UdpLink:
    """One node's end of the link."""

    def __init__(
        self,
        node: NodeId,
        random: Random,
        hear: Hear,
        count: Count,
        options: LinkOptions | None = None,
        *,
        only_listed: bool = False,
        codec: Codec = PLAIN,
        identity: Identity | None = None,
        namespace: Namespace | None = None,
        discovers: bool = False,
    ) -> None:
        """With `discovers`, this node and others of the network find each other (`discovery`, `gossip`)."""
        self._node = node
        self._identity = identity or Identity.given(node)
        shared = namespace or Namespace.open()
        self._seal = Seal(shared.number, shared.frame_key)
        self._codec = codec
        self._count = count
        self._options = options or LinkOptions()
        self._loop = asyncio.get_running_loop()
        # Numbers must not repeat after a restart, or a new frame would be taken for one that was heard before.
        self._numbers = random.getrandbits(40) << 20
        self._unicast_numbers = self._numbers
        """Of their own: a parcel that is tried again must not be too old because many were broadcast meanwhile."""
        self._paths = Paths(self._options.paths)
        self._unicasts = Unicasts(
            self._options.unicasts, Way(self._next_unicast_number, self._datagram_bytes, self._transmit, self._given_up)
        )
        acknowledgements = Acknowledgements(self._acknowledge)
        self._reception = Reception(node, self._options.heard, acknowledgements, hear, count, self._charge, codec)
        reception = self._reception
        self._port = Port(self._take, reception.work, reception.end_turn, count, self._options.buffers())
        self._send = self._port.send
        self._multicast = Multicast(self._options.multicast, self._ask_who_hears, self._take_from_group)
        self._budgets = Budgets(self._options.budget)
        self._warned_of_overflow = False
        self.peers = Peers(self._options.peers.most, only_listed=only_listed)
        self.acquaintance = Acquaintance(node, self._identity, self.peers, self._options.peers, self._send_about)
        self.acquaintance.changed = self._presence
        self.finding = Finding(self._options.discovery, self._finder(), on=discovers)
        self.watch: Callable[[Presence], None] | None = None
        """Told of peers who come and go."""

    @property
    def address(self) -> Address:
        return self._port.address

    @property
    def unacknowledged(self) -> int:
        return len(self._unicasts)

    async def open(self, address: Address) -> None:
        own = await self._port.open(address)
        self._multicast.join(own, address)
        self.finding.begin(address, own.family)

    def greet(self, addresses: Iterable[Address]) -> None:
        """Make these addresses peers, and greet them until they answer."""
        listed = list(addresses)
        if self.address in listed:
            raise InputError(f"peer {address_text(self.address)} is this node's own address; name the others'")
        if len(listed) > self._options.peers.most:
            raise InputError(f"{len(listed)} peers are listed; a node has at most {self._options.peers.most}")
        self.acquaintance.greet(listed)

    async def close(self) -> None:
        """Say goodbye, forget what is under way and close the socket."""
        self.acquaintance.leave()
        self._multicast.leave()
        self.finding.end()
        self._reception.close()
        self._unicasts.cancel()
        await self._port.close()

    def broadcast(self, message: Message) -> int:
        """Send to every peer; the size of the encoded message."""
        body = self._codec.encode(message)
        addresses = self.peers.addresses()
        together = self._multicast.reached(addresses)
        alone = [address for address in addresses if address not in together]
        for address in (self._multicast.group, *alone) if together else alone:
            peer = self.peers.at(address)
            for frame in self._broadcast_frames(body, self._paths.datagram_bytes(address)):
                self._send(self._sealed(frame, peer), address, "broadcast")
        return len(body)

    def unicast(self, to: NodeId, message: Message, failed: Failed) -> int:
        body = self._codec.encode(message)
        peer = self.peers.find(to)
        if peer is None:
            self._refuse(type(message).__name__, len(body), "unknown neighbour", failed)
        elif not self._unicasts.begin(to, body, failed, self._paths.datagram_bytes(peer.address)):
            self._tell_of_overflow(type(message).__name__, len(body))
        return len(body)

    def part_bytes(self) -> int:
        """How much of a large content travels well in one message: more than a radio's frame holds only if all peers
        are on this machine."""
        return self._paths.part_bytes(self.peers.addresses())

    @property
    def roomy(self) -> bool:
        """Whether the link keeps up with what it is given."""
        return self._unicasts.roomy

    async def room(self) -> None:
        """Wait until the link keeps up with what it is given."""
        await self._unicasts.room()

    def _take_from_group(self, data: bytes, address: Address) -> None:
        """By multicast come strangers' datagrams and one's own, too."""
        if self.peers.at(address) is not None:
            self._take(data, address, grouped=True)
            self._reception.end_turn()

    def _ask_who_hears(self) -> None:
        if len(self.peers.addresses()) >= self._options.multicast.least_peers:
            self._send_about(Kind.WHO_HEARS, EVERYBODY, self._multicast.group)

    def _finder(self) -> Finder:
        def sealed(kind: Kind, to: NodeId, body: bytes, peer: Peer | None) -> bytes:
            return self._sealed(Frame(kind, self._node, to, self._next_number(), body), peer)

        def send(datagram: bytes, address: Address) -> None:
            self._send(datagram, address, "hello")

        greet = self.acquaintance.ask
        return Finder(self._node, self._seal, self.peers, lambda: self.address, sealed, send, greet, self._count)

    def _take(self, data: bytes, address: Address, *, grouped: bool = False) -> None:
        if reason := self._read(data, address, grouped):
            self._count(TrafficKind.DROPPED, "datagram", len(data), reason)

    def _read(self, data: bytes, address: Address, grouped: bool = False) -> str:
        """Handle a datagram; why it was dropped, or nothing."""
        if not self.peers.may_come(address):
            return "not from a peer"
        try:
            opened = self._seal.open(data)
            frame = unpack(opened)
            now_s = self._loop.time()
            kind = frame.kind
            if kind is not Kind.ACK and not self._budgets.spend(address, now_s, _cost(frame)):
                return "above its sender's budget"
            if kind in ABOUT:
                return self.acquaintance.receive(frame, address)
            peer = self.peers.at(address)
            if peer is None or peer.node != frame.sender:
                self.acquaintance.ask(address)
                return "from somebody who has not greeted"
            if is_marked(opened, peer.key):
                peer.heard_s = now_s
                return self._reception.take(frame, address) if kind in DATA else self._on_frame(frame, address)
            if grouped and kind in TO_ALL and frame.mark == NO_MARK:
                return self._on_frame(frame, address, marked=False)
            self.acquaintance.ask(address)
            return "not marked by its sender"
        except FrameError as error:
            return str(error)

    def _on_frame(self, frame: Frame, address: Address, *, marked: bool = True) -> str:
        if frame.kind in DATA:
            return self._reception.take(frame, address, marked=marked)
        match frame.kind:
            case Kind.ACK:
                self._unicasts.acknowledge(unpack_numbers(frame.body), frame.sender)
            case Kind.WHO_HEARS:
                self._send_about(Kind.HEARD, frame.sender, address)
            case Kind.HEARD:
                self._multicast.believe(address)
            case Kind.GOODBYE | Kind.WIPED:
                return self.acquaintance.receive(frame, address)
            case Kind.PEERS:
                self.finding.learn(frame)
            case Kind.HERE:
                return "announced to this node alone"
        return ""

    def _charge(self, sender: NodeId, signatures: int) -> None:
        peer = self.peers.find(sender)
        if peer is not None:
            self._budgets.owe(peer.address, self._loop.time(), FURTHER * signatures)

    def _acknowledge(self, to: NodeId, address: Address, numbers: list[int]) -> None:
        frame = Frame(Kind.ACK, self._node, to, self._next_number(), pack_numbers(numbers))
        self._send(self._sealed(frame, self.peers.find(to)), address, "ack")

    def _transmit(self, to: NodeId, kind: Kind, number: int, body: bytes, again: bool) -> None:
        if again:
            self._count(TrafficKind.RETRANSMITTED, "unicast", 0, "")
        peer = self.peers.find(to)
        if peer is not None:
            content = content_of(kind, self._node, to, number, body)
            self._send(self._seal.close(content + mark_of(content, peer.key)), peer.address, "unicast")

    def _broadcast_frames(self, body: bytes, datagram_bytes: int) -> list[Frame]:
        """One, unless the path is too narrow."""
        room_bytes = datagram_bytes - HEADER_BYTES
        if len(body) <= room_bytes:
            return [Frame(Kind.BROADCAST, self._node, EVERYBODY, self._next_number(), body)]
        pieces = split(self._next_number(), body, room_bytes)
        return [Frame(Kind.BROADCAST_PIECE, self._node, EVERYBODY, self._next_number(), piece) for piece in pieces]

    def _datagram_bytes(self, to: NodeId) -> int:
        peer = self.peers.find(to)
        return self._paths.datagram_bytes(peer.address if peer else None)

    def _given_up(self) -> None:
        self._count(TrafficKind.GIVEN_UP, "unicast", 0, "retry limit")

    def _refuse(self, name: str, size_bytes: int, reason: str, failed: Failed) -> None:
        self._count(TrafficKind.DROPPED, name, size_bytes, reason)
        if failed:
            self._loop.call_soon(failed)

    def _tell_of_overflow(self, name: str, size_bytes: int) -> None:
        self._count(TrafficKind.DROPPED, name, size_bytes, "link queue full")
        if not self._warned_of_overflow:
            self._warned_of_overflow = True
            logger.warning(
                "node %d: more waits to be sent than the link holds (%d messages); what comes now is dropped",
                self._node,
                self._options.unicasts.waiting,
            )

    def _presence(self, presence: Presence) -> None:
        if not presence.here:
            self._unicasts.abandon(presence.node)
            self._reception.forget(presence.node)
        else:
            self.finding.tell(presence.node)
        if self.watch:
            self.watch(presence)

    def _send_about(self, kind: Kind, to: NodeId, address: Address, introduction: Introduction | None = None) -> None:
        frame = Frame(kind, self._node, to, self._next_number())
        if introduction is None:
            datagram = self._sealed(frame, self.peers.at(address))
        elif kind is Kind.WELCOME:
            datagram = self._sealed(signed(frame, introduction, self._identity), None)
        else:
            datagram = self._sealed(msgspec.structs.replace(frame, body=introduction.pack()), None)
        self._send(datagram, address, "hello")

    def _sealed(self, frame: Frame, peer: Peer | None) -> bytes:
        """As a datagram, marked if it is for one peer."""
        content = frame.content()
        return self._seal.close(content + (NO_MARK if peer is None else mark_of(content, peer.key)))

    def _next_unicast_number(self) -> int:
        self._unicast_numbers += 1
        return self._unicast_numbers

    def _next_number(self) -> int:
        self._numbers += 1
        return self._numbers


def _cost(frame: Frame) -> float:
    """What a frame takes of its sender's budget."""
    if frame.kind is not Kind.PARCEL or message_count(frame.body) < 2:
        return 1.0
    return parcel_cost(message_count(frame.body))
