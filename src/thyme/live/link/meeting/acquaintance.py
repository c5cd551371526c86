"""Acquaintance: how nodes get to know each other, and notice that somebody has gone.

A node greets (hello) the listed addresses until they answer (welcome), and whoever sends it something without having
greeted. A hello proves nothing and changes nothing. A welcome answers a question that was put to its sender's address
and is signed (`greetings`): only by one does somebody become a peer, or move. So whoever is greeted by somebody whom it
does not know asks back, and meets it with the answer. A peer that was not heard for a while is greeted again, and one
that does not answer has gone, as has one that says goodbye.

An id belongs to who had it first. Somebody else who answers under it waits until the first was asked: if that one
answers, both are told that they are twins, and the second is not let in; if not, it has gone. The same holds for a peer
that is suddenly heard at another address; only a device that was started again has merely moved. A device that comes
back under its id with another store is let in and told that it was wiped.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from secrets import randbits

import msgspec

from thyme.live.link.addresses import Address, address_text
from thyme.live.link.crowd_time import FAR_S, CrowdTime, Reading
from thyme.live.link.frames import EVERYBODY, Frame, Kind
from thyme.live.link.meeting.claims import Claiming, Claims
from thyme.live.link.meeting.greetings import SESSION_BITS, Introduction, Questions, is_genuine, read_introduction
from thyme.live.link.meeting.peers import Peer, Peers, Presence
from thyme.live.link.sealing import FrameError
from thyme.live.link.sessions import session_key
from thyme.live.trust.identity import GIVEN_IDS, Identity
from thyme.model.bounded import Bounded
from thyme.model.ids import NodeId
from thyme.model.settings.bounds import AtLeastOne, Positive

logger = logging.getLogger("thyme.live")

Send = Callable[[Kind, NodeId, Address, Introduction | None], None]
MAX_ASKED = 1_000
"""Addresses that were asked lately who is there."""
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
    ask_s: Positive = 0.1
    """An address from which something comes that cannot be believed is asked at most once in this time."""


class Acquaintance:
    """One node's part in it."""

    def __init__(self, node: NodeId, identity: Identity, peers: Peers, options: PeerOptions, send: Send) -> None:
        self._node = node
        self._identity = identity
        self._session = randbits(SESSION_BITS)
        self._questions = Questions()
        self._asked: Bounded[Address, float] = Bounded(MAX_ASKED, renewing=True)
        self._peers = peers
        self._options = options
        self._send = send
        self._loop = asyncio.get_running_loop()
        self._greeting: asyncio.TimerHandle | None = None
        self._looking: asyncio.TimerHandle | None = None
        self._claims = Claims(options.claim_s, Claiming(self._ask_holder, self._tell_twins, self._replace))
        self._warned: set[str] = set()
        self.life, self.approach = 0, ""
        self.time: CrowdTime | None = None
        self._timed_s = 0.0
        self.changed: Callable[[Presence], None] | None = None
        """Told of who comes and goes."""
        self.acquainted = asyncio.Event()
        """Set when every listed peer has been heard."""
        self.refused = asyncio.Event()
        """Set when somebody else has this node's id."""

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
            self._send(Kind.GOODBYE, EVERYBODY, address, None)

    def ask(self, address: Address) -> None:
        """Something came from there that cannot be believed: who is there?"""
        now_s = self._loop.time()
        if now_s - self._asked.get(address, 0.0) > self._options.ask_s:
            self._asked[address] = now_s
            self.hello(address)

    def hello(self, address: Address, to: NodeId = EVERYBODY) -> None:
        self._send(Kind.HELLO, to, address, self._introduction(self._questions.question(address, self._loop.time())))

    def receive(self, frame: Frame, address: Address) -> str:
        """A frame about acquaintance; why it was dropped, or nothing."""
        match frame.kind:
            case Kind.HELLO | Kind.WELCOME:
                return self._on_greeting(frame, address)
            case Kind.GOODBYE:
                peer = self._peers.at(address)
                if peer is not None and peer.node == frame.sender:
                    self._gone(peer)
            case Kind.FULL if frame.to == self._node and self._peers.is_listed(address):
                self._warn(f"{address_text(address)} has as many peers as it may have, and does not hear this node")
            case Kind.TWIN if frame.to == self._node < GIVEN_IDS:  # a key is told by its twin itself
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
        if frame.sender == self._node and introduction.session == self._session:
            return "this node's own"
        if frame.kind is Kind.HELLO:
            return self._on_hello(frame, introduction, address)
        now_s = self._loop.time()
        if frame.to != self._node or not self._questions.is_answered(introduction.answers, address, now_s):
            return "the answer to another question"
        if not is_genuine(frame, introduction):
            return "not from who it says"
        return self._on_welcome(frame, introduction, address)

    def _on_hello(self, frame: Frame, introduction: Introduction, address: Address) -> str:
        """Somebody says that it is there. Nothing is believed, but it is answered, and asked if it is not known."""
        if reason := self._unfit(frame, introduction, address):
            self._welcome(frame, introduction, address, asking=False)
            return reason
        if frame.sender != self._node and not self._peers.has_place(address):
            self._send(Kind.FULL, frame.sender, address, None)
            return "no place for another peer"
        if self._is_taken(frame, introduction, address):
            self.hello(address, frame.sender)
            return "another node has this id"
        known = self._peers.at(address)
        met = known is not None and (known.node, known.session) == (frame.sender, introduction.session)
        self._welcome(frame, introduction, address, asking=not met)
        if met and self.time is not None:
            self._tell_of_clock(frame, address, introduction.time)
            if self.time.is_older(introduction.time):
                self.hello(address, frame.sender)
        return ""

    def _on_welcome(self, frame: Frame, introduction: Introduction, address: Address) -> str:
        """It is there, and nobody else is."""
        if frame.sender == self._node:
            self.meet_twin(f"at {address_text(address)}")
            self._answer(frame, introduction, address)
            return "another node with this node's id"
        if reason := self._unfit(frame, introduction, address):
            return reason
        if not self._peers.has_place(address):
            self._send(Kind.FULL, frame.sender, address, None)
            return "no place for another peer"
        if holder := self._is_taken(frame, introduction, address):
            self._claims.begin(holder, address, twin=holder.session != introduction.session)
            return "another node has this id"
        key = session_key(self._identity, self._session, introduction.public, introduction.session)
        if key is None:
            return "not from who it says"
        peer = Peer(frame.sender, address, introduction.life, self._loop.time(), introduction.session, key)
        self._answer(frame, introduction, address)
        self._meet(peer)
        self._compare_times(frame, address, introduction.time)
        return ""

    def _is_taken(self, frame: Frame, introduction: Introduction, address: Address) -> Peer | None:
        """The peer that has this id elsewhere; it has not if it is merely started again with the same store."""
        holder = self._peers.find(frame.sender)
        if holder is None or holder.address == address:
            return None
        started_again = holder.life == introduction.life and holder.session != introduction.session
        return None if started_again else holder

    def _unfit(self, frame: Frame, introduction: Introduction, address: Address) -> str:
        if introduction.approach == self.approach:
            return ""
        self._warn(
            f"node {frame.sender} at {address_text(address)} runs {introduction.approach!r} and this one "
            f"{self.approach!r}: they cannot share; start all nodes with the same --approach"
        )
        return "another approach"

    def _answer(self, frame: Frame, introduction: Introduction, address: Address) -> None:
        if introduction.asks:
            self._welcome(frame, introduction, address, asking=False)

    def _welcome(self, frame: Frame, introduction: Introduction, address: Address, *, asking: bool) -> None:
        asks = self._questions.question(address, self._loop.time()) if asking else 0
        mine = self._introduction(asks, introduction.asks, introduction.time.asked_s)
        self._send(Kind.WELCOME, frame.sender, address, mine)

    def _introduction(self, asks: int, answers: int = 0, echo_s: float = 0.0) -> Introduction:
        """What a greeting that is sent now says."""
        reading = Reading(0.0, 0.0, 0) if self.time is None else self.time.reading(self._loop.time(), echo_s)
        return Introduction(self.life, self.approach, reading, session=self._session, asks=asks, answers=answers)

    def _compare_times(self, frame: Frame, address: Address, theirs: Reading) -> None:
        """Go by a time that is older than this node's; an answer tells how long the question was on its way."""
        if self.time is None:
            return
        self._tell_of_clock(frame, address, theirs)
        behind_s = self.time.follow(theirs, self._loop.time() - theirs.echo_s, yields=self._node > frame.sender)
        if behind_s is None:
            return
        if abs(behind_s) > FAR_S:
            self._warn(
                f"this device's clock is {_off(-behind_s)} that of node {frame.sender} at {address_text(address)}; "
                "this node goes by that one's time. Set the clock of the device that is wrong"
            )
        for other in self._peers.addresses():
            self.hello(other)

    def _tell_of_clock(self, frame: Frame, address: Address, theirs: Reading) -> None:
        if abs(theirs.correction_s) > FAR_S:
            self._warn(
                f"the clock of node {frame.sender} at {address_text(address)} is {_off(-theirs.correction_s)} the time "
                "of this crowd, by which it goes nevertheless"
            )

    def _meet(self, peer: Peer) -> None:
        before = self._peers.at(peer.address)
        if before is not None and before.is_same(peer):
            before.heard_s = peer.heard_s
            self._claims.settle(before)
            return
        for former in {id(p): p for p in (before, self._peers.find(peer.node)) if p is not None}.values():
            self._gone(former)
        if self._peers.add(peer):
            self._send(Kind.WIPED, peer.node, peer.address, None)
            self._warn(f"node {peer.node} at {address_text(peer.address)} was here before with another store")
        self._tell(peer, True)
        if not self._peers.unacquainted():
            self.acquainted.set()

    def _ask_holder(self, holder: Peer) -> None:
        self.hello(holder.address, holder.node)

    def _tell_twins(self, holder: Peer, elsewhere: Address) -> None:
        for address in (holder.address, elsewhere):
            self._send(Kind.TWIN, holder.node, address, None)
        self._warn(
            f"{address_text(holder.address)} and {address_text(elsewhere)} both call themselves node "
            f"{holder.node}: only the first is heard"
        )

    def _replace(self, holder: Peer, elsewhere: Address) -> None:
        if self._peers.at(holder.address) is holder:
            self._gone(holder)
            self.hello(elsewhere)

    def _look(self) -> None:
        now_s = self._loop.time()
        if now_s - self._timed_s > self._options.timed_s:
            self._timed_s = now_s
            for address in self._peers.addresses()[:1]:
                self.hello(address)
        for peer in self._peers.silent_since(now_s - self._options.silent_s):
            if peer.heard_s < now_s - self._options.gone_s:
                self._gone(peer)
            else:
                self.hello(peer.address, peer.node)
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
            self.hello(address)
        longer_s = min(wait_s * 2.0, self._options.hello_longest_wait_s)
        self._greeting = self._loop.call_later(wait_s, self._greet, longer_s)

    def _warn(self, text: str) -> None:
        if text not in self._warned and len(self._warned) < MAX_WARNINGS:
            self._warned.add(text)
            logger.warning("node %d: %s", self._node, text)


def _off(ahead_s: float) -> str:
    return f"{abs(ahead_s):.1f} s {'ahead of' if ahead_s > 0.0 else 'behind'}"
