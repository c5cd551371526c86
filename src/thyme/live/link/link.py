"""The link without I/O: one hop between live nodes, with the promises that a radio makes in the simulator.

It is given datagrams with their source and the time, collects the datagrams to send (`outgoing`), and says when it has
to be called next (`timers.next_s`). It opens no socket, reads no clock and draws no randomness of its own; `udp` is the
event loop around it, and a simulation can be another.

A broadcast is one datagram to every peer, unacknowledged; one that its receivers pass on goes to a bounded number of
random peers. Where enough peers receive the multicast group, one datagram to the group serves all of them: a node asks
now and then, by multicast, who receives it; each answer (by unicast) is valid for a while. Unicasts travel in parcels
(`lanes`), which are retransmitted until they are acknowledged, and given up after a few tries; the receiver delivers
each message once. A message larger than a datagram is sent in pieces.
Messages are accepted from nodes that have greeted (`peering`), within each one's budget (`budgets`). Datagrams
that cannot be decoded are counted and dropped.

When the namespace's key is renewed, a member that has the next key hands it to every peer that still uses the former
one, over their session, and takes it to be in use from then on. The former key is accepted for another day.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from random import Random
from typing import Annotated

import msgspec

from thyme.live.link.addresses import GROUP_4, Address, address_text
from thyme.live.link.budgets import FURTHER, BudgetOptions, Budgets, parcel_cost
from thyme.live.link.directory import Directory
from thyme.live.link.discovery import Discovery, DiscoveryOptions, Finder
from thyme.live.link.frames import (
    DATA,
    EVERYBODY,
    GREETING_STATE,
    HEADER_BYTES,
    NO_MARK,
    TO_ALL,
    Frame,
    Kind,
    pack_header,
    unpack,
)
from thyme.live.link.greetings import Introduction, signed
from thyme.live.link.lanes import Failed
from thyme.live.link.parcels import message_count, pack_numbers, split, unpack_numbers
from thyme.live.link.paths import PathOptions, Paths
from thyme.live.link.peering import Peering, PeerOptions
from thyme.live.link.peers import Peer, Peers, Presence
from thyme.live.link.reception import Count, Deliver, Receiver, Reception
from thyme.live.link.sealing import FrameError, Seals
from thyme.live.link.sessions import session_mark
from thyme.live.link.timers import LinkTimer, Timers
from thyme.live.link.unicasts import UnicastOptions, Unicasts, UnicastSender
from thyme.live.trust.identity import Identity
from thyme.live.trust.namespaces import Namespace
from thyme.live.trust.renewals import Renewal, renewed_by, unpack_renewal
from thyme.model.bounded import Bounded
from thyme.model.errors import InputError
from thyme.model.ids import NodeId
from thyme.model.records import TrafficKind
from thyme.model.settings.bounds import AtLeastOne, Positive
from thyme.wire.codec import is_bulk
from thyme.wire.message import Message
from thyme.wire.signing import PLAIN, Codec

logger = logging.getLogger("thyme.live")

ANNOUNCED: Address = ("", 0)
"""In place of an address: to the discovery groups on every interface."""
OVERLAY = 16
"""A broadcast that its receivers pass on goes to so many random peers of those that do not receive the multicast group.
If each passes it on to so many, all but one in ten million nodes receive it."""
MAX_BELIEVED = 2_048
"""Addresses that answered that they receive the multicast group."""
BELIEVED_S = 14.0
"""How long an answer counts: three questions may be lost."""
FIRST_ASK_S = 2.0

HAND_OVER_S = 86_400.0
"""How long after a renewal the former key is accepted, from members who were away: those who return later need an
invitation."""
HAND_OVER_AGAIN_S = 1.0
"""Between two times that the next key is handed to a peer, which may not have received it."""
MAX_HANDED = 2_048


class MulticastOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    port: Annotated[int, msgspec.Meta(ge=0, le=65_535)] = 8_472
    """Of the group, the same on all nodes; 0: no multicast."""
    least_peers: AtLeastOne = 4
    """With fewer receivers, a datagram for each is more reliable: radios repeat those, and multicast not."""
    ask_s: Positive = 4.0
    """How often it is asked who receives it; in larger crowds less often (`Peers.patience`). A node also says so when
    it receives a peer's first frame to the group."""
    loopback: bool = False
    """Also within one machine, to try it."""


class LinkOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    unicasts: UnicastOptions = UnicastOptions()
    peers: PeerOptions = PeerOptions()
    budget: BudgetOptions = BudgetOptions()
    paths: PathOptions = PathOptions()
    multicast: MulticastOptions = MulticastOptions()
    discovery: DiscoveryOptions = DiscoveryOptions()
    heard: AtLeastOne = 131_072
    """Replay window: the latest frame numbers of a peer, for 40,000 frames a second while one is retransmitted."""


class Link:
    """One node's end of the link. The caller sets `timers.now_s`."""

    def __init__(
        self,
        identity: Identity,
        random: Random,
        entropy: Callable[[int], bytes],
        deliver: Deliver,
        count: Count,
        made_room: Callable[[], None],
        options: LinkOptions,
        *,
        only_listed: bool = False,
        codec: Codec = PLAIN,
        namespace: Namespace | None = None,
    ) -> None:
        """`entropy` draws keys and nonces; `made_room` is called when `has_room` becomes true again."""
        self._node = node = identity.node
        self._random = random
        self._identity = identity
        shared = namespace or Namespace.open()
        self.namespace = shared
        self._seals = Seals(shared, entropy)
        self._renewal: Renewal | None = None
        """Of the present key, for peers that use the former one."""
        self._handed: Bounded[Address, float] = Bounded(MAX_HANDED, renewing=True)
        self._former: LinkTimer | None = None
        """Ends the use of the former key."""
        self.on_renewed: Callable[[Namespace], None] | None = None
        """Called when a peer has handed over the next key."""
        self.codec = codec
        self._count = count
        self._options = options
        self.outgoing: list[tuple[bytes, Address, str]] = []
        """Datagrams to send, with their destination and the name under which they are counted."""
        self.timers = Timers()
        # Numbers must not repeat after a restart, or a new frame would be taken for a repeated one.
        self._numbers = random.getrandbits(40) << 20
        self._unicast_numbers = self._numbers
        """Apart from those of broadcasts: a retransmitted parcel must not become too old because of many broadcasts."""
        self._paths = Paths(options.paths)
        self._unicasts = Unicasts(
            options.unicasts,
            self.timers,
            UnicastSender(self._next_unicast_number, self._datagram_bytes, self._transmit, self._given_up, made_room),
        )
        receiver = Receiver(deliver, self._acknowledge, self._charge, count)
        self.reception = Reception(node, options.heard, receiver, codec)
        self._budgets = Budgets(options.budget)
        self._group: Address = (GROUP_4, options.multicast.port)
        self._has_group = False
        self._receiving_group: Bounded[Address, float] = Bounded(MAX_BELIEVED, renewing=True)
        self._warned_of_overflow = False
        self._address: Address = ("", 0)
        self.peers = Peers(options.peers.most, options.peers.most_per_host, only_listed=only_listed)
        self.peering = Peering(identity, self.peers, options.peers, self.timers, entropy, self._send_greeting)
        self.peering.on_presence = self._presence
        directory = Directory(self.timers, entropy)
        self.discovery = Discovery(options.discovery, self._finder(random), self.timers, directory)
        self.watch: Callable[[Presence], None] | None = None
        """Called when a peer comes or goes."""

    @property
    def unacknowledged(self) -> int:
        return len(self._unicasts)

    @property
    def has_room(self) -> bool:
        """Whether few enough messages wait to be sent."""
        return self._unicasts.has_room

    def open(self, address: Address, *, has_group: bool) -> None:
        """Datagrams can be sent from now on, from this address."""
        self._address, self._has_group = address, has_group
        if has_group:
            self.timers.after(min(FIRST_ASK_S, self._options.multicast.ask_s), self._ask_who_receives)
        self.discovery.start()

    def greet(self, addresses: Iterable[Address]) -> None:
        """Make these addresses peers, and greet them until they answer."""
        listed = list(addresses)
        if self._address in listed:
            raise InputError(f"peer {address_text(self._address)} is this node's own address; list only other nodes")
        if len(listed) > self._options.peers.most:
            raise InputError(f"{len(listed)} peers are listed; a node has at most {self._options.peers.most}")
        self.peering.greet(listed)

    def close(self) -> None:
        """Say goodbye and drop everything else."""
        self.peering.leave()
        self._has_group = False
        self.discovery.stop()
        self.reception.clear()
        self._unicasts.cancel()

    def renew(self, namespace: Namespace, renewal: Renewal | None = None) -> None:
        """Use the next key of the namespace. Its creator's renewal is handed to the peers; without one, this node
        leaves those that use the former key."""
        if self._former is not None:
            self._former.cancel()
        self.namespace, self._renewal = namespace, renewal
        if renewal is None:
            self.peering.say_goodbye()
            self._seals.renew(namespace, ())
            self._seals.forget_former()
            self.peering.begin_again()
        else:
            self._seals.renew(namespace, self.peers.all_addresses())
            self._former = self.timers.after(HAND_OVER_S, self._seals.forget_former)

    def is_behind(self, address: Address) -> bool:
        """Whether this peer uses the former key."""
        return self._seals.is_behind(address)

    def hand_over(self) -> None:
        """Ask all peers for a sign of life, so that those who use the former key are handed the next one now."""
        for address in self.peers.addresses():
            self.peering.hello(address)

    def receive(self, data: bytes, source: Address, *, grouped: bool = False) -> None:
        """A datagram came, by multicast if `grouped`: then also from strangers and from this node itself."""
        if grouped and self.peers.at(source) is None:
            return
        if reason := self._receive(data, source, grouped):
            self._count(TrafficKind.DROPPED, "datagram", len(data), reason)

    def _receive(self, data: bytes, source: Address, grouped: bool) -> str:
        """Handle a datagram; why it was dropped, or nothing."""
        if not self.peers.may_come(source):
            return "not from a peer"
        try:
            opened, behind = self._seals.open(data)
            if self._renewal is not None and (not behind or self.peers.at(source) is None):
                self._seals.note(source, behind=behind)
            frame = unpack(opened)
            kind, now_s = frame.kind, self.timers.now_s
            if kind is not Kind.ACK and not self._budgets.spend(source, now_s):
                return "above its sender's budget"
            if kind in GREETING_STATE:
                reason = self.peering.handle(frame, source)
                self._hand_renewal(source)
                return reason
            peer = self.peers.at(source)
            if peer is None or peer.node != frame.sender:
                self.peering.ask(source, len(data))
                return "from somebody who has not greeted"
            body = peer.cipher.open(opened)
            if body is not None:
                peer.heard_s, frame.body = now_s, body
                self._hand_renewal(source)
                if kind is Kind.PARCEL and (count := message_count(body)) > 1:
                    self._budgets.owe(source, now_s, parcel_cost(count) - 1.0)
            elif not (grouped and kind in TO_ALL and frame.mark == session_mark(peer.session)):
                self.peering.ask(source, len(data))
                return "not marked by its sender"
            if grouped and not peer.in_group:
                peer.in_group = True
                if kind is not Kind.WHO_HEARS:
                    self._send_greeting(Kind.HEARD, peer.node, source)
            if kind in DATA:
                return self.reception.receive(frame, source, marked=body is not None)
            return self._handle(frame, source)
        except FrameError as error:
            return str(error)

    def _handle(self, frame: Frame, source: Address) -> str:
        """A frame of a peer without messages."""
        match frame.kind:
            case Kind.ACK:
                self._unicasts.acknowledge(unpack_numbers(frame.body), frame.sender)
            case Kind.WHO_HEARS:
                self._send_greeting(Kind.HEARD, frame.sender, source)
            case Kind.HEARD if (peer := self.peers.find(frame.sender)) is not None:
                self._receiving_group[peer.address] = self.timers.now_s + BELIEVED_S * self.peers.patience
            case Kind.GOODBYE | Kind.WIPED:
                return self.peering.handle(frame, source)
            case Kind.PEERS:
                self.discovery.handle_peers(frame)
            case Kind.RENEWAL:
                return self._handle_renewal(frame.body, source)
            case Kind.HERE:
                return "announced to this node alone"
        return ""

    def _hand_renewal(self, address: Address) -> None:
        """Hand the next key to a peer that uses the former one."""
        if self._renewal is None or not self._seals.is_behind(address):
            return
        peer, now_s = self.peers.at(address), self.timers.now_s
        if peer is not None and now_s - self._handed.get(address, -HAND_OVER_AGAIN_S) >= HAND_OVER_AGAIN_S:
            self._handed[address] = now_s
            frame = Frame(Kind.RENEWAL, self._node, peer.node, self._next_number(), self._renewal.pack())
            self.outgoing.append((self._sealed(frame, peer, address), address, "hello"))

    def _handle_renewal(self, body: bytes, source: Address) -> str:
        renewal = unpack_renewal(body)
        if renewal is None:
            return "no renewal"
        if renewal.epoch > self.namespace.epoch:
            renewed = renewed_by(self.namespace, renewal)
            if renewed is None:
                return "not the creator's renewal"
            self.renew(renewed, renewal)
            self._seals.note(source, behind=False)
            self.peering.hello(source)
            if self.on_renewed is not None:
                self.on_renewed(renewed)
        elif renewal.secret == self.namespace.secret:
            self._seals.note(source, behind=False)
        return ""

    def broadcast(self, message: Message) -> int:
        """Send to every peer; the size of the encoded message."""
        body = self.codec.encode(message)
        addresses = self.peers.addresses()
        together = self.in_group(addresses)
        alone = [address for address in addresses if address not in together] if together else list(addresses)
        if message.spreads and len(alone) > OVERLAY:
            alone = self._random.sample(alone, OVERLAY)
        for address in (self._group, *alone) if together else alone:
            peer = self.peers.at(address)
            for frame in self._broadcast_frames(body, self._paths.datagram_bytes(address)):
                self.outgoing.append((self._sealed(frame, peer, address), address, "broadcast"))
        return len(body)

    def unicast(self, to: NodeId, message: Message, failed: Failed) -> int:
        """Send to a peer; the size of the encoded message."""
        body = self.codec.encode(message)
        peer = self.peers.find(to)
        if peer is None:
            self._count(TrafficKind.DROPPED, type(message).__name__, len(body), "unknown neighbour")
            if failed:
                self.timers.after(0.0, failed)
        elif not self._unicasts.send(
            to, body, failed, self._paths.datagram_bytes(peer.address), bulk=is_bulk(message, len(body))
        ):
            self._count(TrafficKind.DROPPED, type(message).__name__, len(body), "link queue full")
            self._warn_of_overflow()
        return len(body)

    def part_bytes(self) -> int:
        """How much of a large content to send in one message: more than a radio's frame holds only if all peers are on
        this machine."""
        return self._paths.part_bytes(self.peers.addresses())

    def idle(self) -> bool:
        """Whether no unicast waits or is unacknowledged."""
        return not len(self._unicasts)

    def in_group(self, addresses: Iterable[Address]) -> set[Address]:
        """Those that receive the multicast group; none if they are too few."""
        if not self._has_group:
            return set()
        now_s = self.timers.now_s
        receiving = {address for address in addresses if self._receiving_group.get(address, 0.0) > now_s}
        receiving = {address for address in receiving if not self._seals.is_behind(address)}
        return receiving if len(receiving) >= self._options.multicast.least_peers else set()

    def _ask_who_receives(self) -> None:
        if not self._has_group:
            return
        if len(self.peers.addresses()) >= self._options.multicast.least_peers:
            self._send_greeting(Kind.WHO_HEARS, EVERYBODY, self._group)
        self.timers.after(self._options.multicast.ask_s * self.peers.patience, self._ask_who_receives)

    def _finder(self, random: Random) -> Finder:
        def sealed(kind: Kind, to: NodeId, body: bytes, peer: Peer | None) -> bytes:
            frame = Frame(kind, self._node, to, self._next_number(), body)
            return self._sealed(frame, peer, None if peer is None else peer.address)

        def send(datagram: bytes, address: Address) -> None:
            self.outgoing.append((datagram, address, "hello"))

        def announce(datagram: bytes) -> None:
            self.outgoing.append((datagram, ANNOUNCED, "hello"))

        known = self.peering
        return Finder(
            self._node,
            self._seals,
            self.peers,
            known.session,
            lambda: self._address,
            sealed,
            send,
            announce,
            known.ask,
            self._count,
            random,
        )

    def _charge(self, sender: NodeId, signatures: int) -> None:
        peer = self.peers.find(sender)
        if peer is not None:
            self._budgets.owe(peer.address, self.timers.now_s, FURTHER * signatures)

    def _acknowledge(self, to: NodeId, address: Address, numbers: list[int]) -> None:
        frame = Frame(Kind.ACK, self._node, to, self._next_number(), pack_numbers(numbers))
        self.outgoing.append((self._sealed(frame, self.peers.find(to), address), address, "ack"))

    def _transmit(self, to: NodeId, kind: Kind, number: int, body: bytes, again: bool) -> None:
        if again:
            self._count(TrafficKind.RETRANSMITTED, "unicast", 0, "")
        peer = self.peers.find(to)
        if peer is not None:
            content = peer.cipher.close(pack_header(kind, self._node, to, number), body)
            self.outgoing.append((self._seals.close(content, peer.address), peer.address, "unicast"))

    def _broadcast_frames(self, body: bytes, datagram_bytes: int) -> list[Frame]:
        """One, unless the datagrams of this path are too small."""
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

    def _warn_of_overflow(self) -> None:
        if not self._warned_of_overflow:
            self._warned_of_overflow = True
            logger.warning(
                "node %d: the send queue of the link is full (%d messages); further messages are dropped",
                self._node,
                self._options.unicasts.waiting,
            )

    def _presence(self, presence: Presence) -> None:
        if not presence.here:
            self._unicasts.abandon(presence.node)
            self.reception.forget(presence.node)
        else:
            self.discovery.tell(presence.node)
        if self.watch:
            self.watch(presence)

    def _send_greeting(
        self, kind: Kind, to: NodeId, address: Address, introduction: Introduction | None = None
    ) -> None:
        frame = Frame(kind, self._node, to, self._next_number())
        if introduction is None:
            datagram = self._sealed(frame, self.peers.at(address), address)
        elif kind is Kind.WELCOME:
            datagram = self._sealed(signed(frame, introduction, self._identity), None, address)
        else:
            datagram = self._sealed(msgspec.structs.replace(frame, body=introduction.pack()), None, address)
        self.outgoing.append((datagram, address, "hello"))

    def _sealed(self, frame: Frame, peer: Peer | None, address: Address | None) -> bytes:
        """As a datagram, encrypted for one peer or with the mark for the group."""
        if peer is not None:
            header = pack_header(frame.kind, frame.sender, frame.to, frame.number)
            return self._seals.close(peer.cipher.close(header, frame.body), address)
        mark = session_mark(self.peering.session) if frame.kind in TO_ALL else NO_MARK
        return self._seals.close(frame.content() + mark, address)

    def _next_unicast_number(self) -> int:
        self._unicast_numbers += 1
        return self._unicast_numbers

    def _next_number(self) -> int:
        self._numbers += 1
        return self._numbers
