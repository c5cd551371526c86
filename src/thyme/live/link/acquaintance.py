"""Acquaintance: how nodes get to know each other, and notice that somebody has gone.

A node greets (hello) the listed addresses until they answer (welcome), and whoever sends it something without having
greeted. A greeting names the sender's approach, the life of its store, and its time (`crowd_time`). A peer that was not
heard for a while is greeted again, and one that does not answer has gone, as has one that says goodbye.

An id belongs to who had it first. Somebody else who greets under it waits until the first was asked: if that one
answers, both are told that they are twins, and the second is not let in; if not, it has gone. A device with the same
store has merely moved. A device that comes back under its id with another store is let in and told that it was wiped.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable

import msgspec

from thyme.live.link.addresses import Address, address_text
from thyme.live.link.crowd_time import FAR_S, CrowdTime, Reading
from thyme.live.link.frames import EVERYBODY, Frame, FrameError, Introduction, Kind, read_introduction
from thyme.live.link.peers import Peer, Peers, Presence
from thyme.model.bounded import Bounded
from thyme.model.ids import NodeId
from thyme.model.settings.bounds import AtLeastOne, Positive

logger = logging.getLogger("thyme.live")

Send = Callable[[Kind, NodeId, Address], None]
MAX_CLAIMS = 100
"""Greetings under an id that another address has, while that one is asked."""
MAX_WARNINGS = 20
"""Different warnings that a link utters; a crowd of strangers must not fill a disk with them."""


class PeerOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    most: AtLeastOne = 256
    hello_wait_s: Positive = 0.25
    """Between two greetings of a listed address that has not answered; doubled each time."""
    hello_longest_wait_s: Positive = 1.0
    look_s: Positive = 0.5
    """How often silent peers are looked for."""
    silent_s: Positive = 5.0
    """A peer not heard for this long is greeted at every look …"""
    gone_s: Positive = 15.0
    """… and has gone when it was silent for this long."""
    timed_s: Positive = 30.0
    """How often the time is compared with a peer's, besides at each greeting."""
    claim_s: Positive = 1.0
    """How long the owner of an id has to answer when somebody else greets under it."""


class _Claim(msgspec.Struct):
    address: Address
    since_s: float


class Acquaintance:
    """One node's part in it."""

    def __init__(self, node: NodeId, peers: Peers, options: PeerOptions, send: Send) -> None:
        self._node = node
        self._peers = peers
        self._options = options
        self._send = send
        self._loop = asyncio.get_running_loop()
        self._greeting: asyncio.TimerHandle | None = None
        self._looking: asyncio.TimerHandle | None = None
        self._claims: Bounded[NodeId, _Claim] = Bounded(MAX_CLAIMS)
        self._warned: set[str] = set()
        self.life, self.approach = 0, ""
        self.time: CrowdTime | None = None
        self._echo_s = 0.0
        self._timed_s = 0.0
        self.changed: Callable[[Presence], None] | None = None
        """Told of who comes and goes."""
        self.acquainted = asyncio.Event()
        """Set when every listed peer has been heard."""
        self.refused = asyncio.Event()
        """Set when somebody else has this node's id."""

    @property
    def introduction(self) -> Introduction:
        """What a greeting that is sent now says."""
        if self.time is None:
            return Introduction(self.life, self.approach)
        return Introduction(self.life, self.approach, self.time.reading(self._loop.time(), self._echo_s))

    def greet(self, addresses: Iterable[Address]) -> None:
        """Make these addresses peers, and greet them until they answer."""
        self._peers.list_addresses(addresses)
        self._greet(self._options.hello_wait_s)
        if self._looking is None:
            self._look()

    def leave(self) -> None:
        for timer in (self._greeting, self._looking):
            if timer:
                timer.cancel()
        for address in self._peers.addresses():
            self._send(Kind.GOODBYE, EVERYBODY, address)

    def ask(self, address: Address) -> None:
        """Somebody sent something without having greeted."""
        self._send(Kind.HELLO, EVERYBODY, address)

    def receive(self, frame: Frame, address: Address) -> str:
        """A frame about acquaintance; why it was dropped, or nothing."""
        match frame.kind:
            case Kind.HELLO | Kind.WELCOME:
                return self._on_greeting(frame, address)
            case Kind.GOODBYE:
                peer = self._peers.at(address)
                if peer is not None and peer.node == frame.sender:
                    self._gone(peer)
            case Kind.FULL:
                self._warn(f"{address_text(address)} has as many peers as it may have, and does not hear this node")
            case Kind.TWIN if frame.to == self._node:
                self.meet_twin(f"as {address_text(address)} says")
            case Kind.WIPED if frame.to == self._node:
                self._warn(
                    f"{address_text(address)} knew node {self._node} with another store: what that one held is not "
                    "here, and names that it used may be refused or taken for the old objects; use a new id"
                )
            case _:
                pass
        return ""

    def meet_twin(self, who: str) -> None:
        self.refused.set()
        self._warn(f"another node also calls itself node {self._node}, {who}: give each node an id of its own")

    def _on_greeting(self, frame: Frame, address: Address) -> str:
        try:
            introduction = read_introduction(frame.body)
        except FrameError as error:
            return str(error)
        if introduction.approach != self.approach:
            self._warn(
                f"node {frame.sender} at {address_text(address)} runs {introduction.approach!r} and this one "
                f"{self.approach!r}: they cannot share; start all nodes with the same --approach"
            )
            self._answer(frame, address)
            return "another approach"
        if not self._peers.has_place(address):
            self._send(Kind.FULL, frame.sender, address)
            return "no place for another peer"
        holder = self._peers.find(frame.sender)
        if holder is not None and holder.address != address and holder.life != introduction.life:
            self._claim(holder, address)
            return "another node has this id"
        self._meet(Peer(frame.sender, address, introduction.life, self._loop.time()))
        self._compare_times(frame, address, introduction.time)
        self._answer(frame, address, introduction.time)
        return ""

    def _answer(self, frame: Frame, address: Address, asked: Reading | None = None) -> None:
        if frame.kind is Kind.HELLO:
            self._echo_s = asked.asked_s if asked is not None else 0.0
            self._send(Kind.WELCOME, frame.sender, address)
            self._echo_s = 0.0

    def _compare_times(self, frame: Frame, address: Address, theirs: Reading) -> None:
        """Go by a time that is older than this node's; it is measured by asking."""
        if self.time is None:
            return
        if abs(theirs.correction_s) > FAR_S:
            self._warn(
                f"the clock of node {frame.sender} at {address_text(address)} is {_off(-theirs.correction_s)} the time "
                "of this crowd, by which it goes nevertheless"
            )
        if frame.kind is Kind.HELLO:
            if self.time.is_older(theirs):
                self._send(Kind.HELLO, frame.sender, address)
            return
        behind_s = self.time.follow(theirs, self._loop.time() - theirs.echo_s, yields=self._node > frame.sender)
        if behind_s is None:
            return
        if abs(behind_s) > FAR_S:
            self._warn(
                f"this device's clock is {_off(-behind_s)} that of node {frame.sender} at {address_text(address)}; "
                "this node goes by that one's time. Set the clock of the device that is wrong"
            )
        for other in self._peers.addresses():
            self._send(Kind.HELLO, EVERYBODY, other)

    def _meet(self, peer: Peer) -> None:
        before = self._peers.at(peer.address)
        if before is not None and before.node == peer.node and before.life == peer.life:
            before.heard_s = peer.heard_s
            self._settle_claim(before)
            return
        for former in {id(p): p for p in (before, self._peers.find(peer.node)) if p is not None}.values():
            self._gone(former)
        if self._peers.add(peer):
            self._send(Kind.WIPED, peer.node, peer.address)
            self._warn(f"node {peer.node} at {address_text(peer.address)} was here before with another store")
        self._tell(peer, True)
        if not self._peers.unacquainted():
            self.acquainted.set()

    def _claim(self, holder: Peer, address: Address) -> None:
        """Somebody greets under an id that is taken: ask whether its holder is still there."""
        if holder.node not in self._claims:
            self._claims[holder.node] = _Claim(address, self._loop.time())
            self._loop.call_later(self._options.claim_s, self._end_claim, holder)
        self._send(Kind.HELLO, holder.node, holder.address)

    def _settle_claim(self, holder: Peer) -> None:
        claim = self._claims.pop(holder.node, None)
        if claim is not None:
            for address in (holder.address, claim.address):
                self._send(Kind.TWIN, holder.node, address)
            self._warn(
                f"{address_text(holder.address)} and {address_text(claim.address)} both call themselves node "
                f"{holder.node}: only the first is heard"
            )

    def _end_claim(self, holder: Peer) -> None:
        claim = self._claims.pop(holder.node, None)
        if claim is not None and self._peers.at(holder.address) is holder and holder.heard_s < claim.since_s:
            self._gone(holder)
            self._send(Kind.HELLO, EVERYBODY, claim.address)

    def _look(self) -> None:
        now_s = self._loop.time()
        if now_s - self._timed_s > self._options.timed_s:
            self._timed_s = now_s
            for address in self._peers.addresses()[:1]:
                self._send(Kind.HELLO, EVERYBODY, address)
        for peer in self._peers.silent_since(now_s - self._options.silent_s):
            if peer.heard_s < now_s - self._options.gone_s:
                self._gone(peer)
            else:
                self._send(Kind.HELLO, peer.node, peer.address)
        self._looking = self._loop.call_later(self._options.look_s, self._look)

    def _gone(self, peer: Peer) -> None:
        self._peers.remove(peer)
        self._tell(peer, False)
        if peer.address in self._peers.unacquainted():
            self._greet(self._options.hello_wait_s)

    def _tell(self, peer: Peer, here: bool) -> None:
        if self.changed:
            self.changed(Presence(peer.node, address_text(peer.address), here))

    def _greet(self, wait_s: float) -> None:
        if self._greeting:
            self._greeting.cancel()
        unacquainted = self._peers.unacquainted()
        if not unacquainted:
            self.acquainted.set()
            return
        self.acquainted.clear()
        for address in unacquainted:
            self._send(Kind.HELLO, EVERYBODY, address)
        longer_s = min(wait_s * 2.0, self._options.hello_longest_wait_s)
        self._greeting = self._loop.call_later(wait_s, self._greet, longer_s)

    def _warn(self, text: str) -> None:
        if text not in self._warned and len(self._warned) < MAX_WARNINGS:
            self._warned.add(text)
            logger.warning("node %d: %s", self._node, text)


def _off(ahead_s: float) -> str:
    return f"{abs(ahead_s):.1f} s {'ahead of' if ahead_s > 0.0 else 'behind'}"
