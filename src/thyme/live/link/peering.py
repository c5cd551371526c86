"""Peering: how nodes become peers, and how a node detects that a peer has gone.

A node greets (hello) the listed addresses until they answer (welcome), and any node that sends it something without
having greeted. A hello proves nothing and changes nothing. A welcome answers a question that was sent to its sender's
address and is signed (`greetings`): only a welcome makes a peer, or moves one. So a node that receives a hello from an
unknown node asks back in its answer. A peer that was silent for a while is greeted again; one that does not answer, or
says goodbye, has gone.

An id belongs to the peer that had it first. When another node proves to have the same id (a claim), the first one is
asked. If it answers, both are notified that they share an id, and the second does not become a peer; if not, it has
gone. A peer that answers at another address in the same session has several, such as one of IPv4 and one of IPv6: its
frames are accepted from each, and it is sent to the first as long as it answers there. A device that was started again
has merely moved. One that returns under its id with another store becomes a peer and is notified that its store was
wiped.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from functools import partial

import msgspec

from thyme.live.link.addresses import Address, address_text
from thyme.live.link.crowd_time import FAR_S, LAST_S, CrowdTime, TimeFields
from thyme.live.link.frames import EVERYBODY, Frame, Kind
from thyme.live.link.greetings import GREETING_BYTES, Introduction, Questions, is_genuine, unpack_introduction
from thyme.live.link.peers import Peer, Peers, Presence
from thyme.live.link.sealing import FrameError
from thyme.live.link.sessions import OwnSession
from thyme.live.link.timers import LinkTimer, Timers
from thyme.live.trust.identity import GIVEN_IDS, Identity
from thyme.model.bounded import Bounded
from thyme.model.ids import NodeId
from thyme.model.settings.bounds import AtLeastOne, Positive

logger = logging.getLogger("thyme.live")

Send = Callable[[Kind, NodeId, Address, Introduction | None], None]
MAX_ASKED = 1_000
"""Addresses that were greeted lately because of what came from there."""
ASK_S = 0.1
"""An address from which something comes that cannot be believed is asked at most once in this time."""
MAX_WARNINGS = 20
"""Different warnings of a link; a crowd of strangers must not fill a disk with them."""
MAX_CONTACTS = 8
CONTACTS_S = 10.0
"""Addresses of one host that are greeted in this time because a peer named them or a datagram came from there."""
OWN_HOSTS = ("127.0.0.1", "::1")
HELLO_WAIT_S = 0.25
HELLO_LONGEST_WAIT_S = 1.0
"""Between two greetings of a listed address that has not answered: at first, doubled each time, and at the most, …"""
UNHURRIED_ADDRESSES = 6
"""… unless more addresses than this have not answered: each is greeted less often, in proportion."""
TIMED_S = 30.0
"""How often the time is compared with those of some peers, besides at each greeting."""
TIMED_PEERS = 8
"""Peers whose times are compared at once; the others follow next time."""
NEWCOMER_LOOKS = 4
"""Peers that have not joined are asked again at every fourth look: whether their time counts changes when they join."""
MAX_CLAIMS = 100
"""Ids that others claim, while the peers who have them are asked."""
SECRET_BYTES = 32


class PeerOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    most: AtLeastOne = 1_024
    most_per_host: AtLeastOne = 256
    """Of peers that were not listed: a quarter, so that one machine cannot take all places."""
    look_s: Positive = 0.5
    """Interval of the search for silent peers."""
    silent_s: Positive = 5.0
    """A peer not heard for this long is greeted at every look; in larger crowds later (`Peers.patience`), …"""
    gone_s: Positive = 15.0
    """… and has gone when it was silent for this long, or the difference of the two after it was greeted."""
    claim_s: Positive = 1.0
    """How long the owner of an id has to answer when another node greets under it."""


class _Claim(msgspec.Struct, frozen=True):
    address: Address
    since_s: float
    twin: bool
    """Whether it is another device, and not the same one at another address."""


class Peering:
    def __init__(
        self,
        identity: Identity,
        peers: Peers,
        options: PeerOptions,
        timers: Timers,
        entropy: Callable[[int], bytes],
        send: Send,
    ) -> None:
        self._node = identity.node
        self._identity = identity
        self._own = OwnSession(identity, entropy)
        self.session = self._own.number
        self._questions = Questions(entropy(SECRET_BYTES))
        self._asked: Bounded[Address, tuple[float, int]] = Bounded(MAX_ASKED, renewing=True)
        """When each was greeted, and how many bytes came from there since."""
        self._contacts: Bounded[str, tuple[float, int]] = Bounded(MAX_ASKED, renewing=True)
        """Greeted addresses per host: the start of the count, and the count."""
        self._peers = peers
        self._options = options
        self._timers = timers
        self._send = send
        self._greeting: LinkTimer | None = None
        self._looking: LinkTimer | None = None
        self._claims: Bounded[NodeId, _Claim] = Bounded(MAX_CLAIMS)
        self._warned: set[str] = set()
        self.life, self.approach, self.name = 0, "", ""
        self.time: CrowdTime | None = None
        self._timed_s = 0.0
        self._looks = self._timed = 0
        """Where in the list of peers the next comparison of times begins."""
        self.on_presence: Callable[[Presence], None] | None = None
        """Called when a peer comes or goes."""
        self.on_progress: Callable[[], None] | None = None
        """Called when one of the following changes."""
        self.all_answered = False
        """Whether every listed peer has answered."""
        self.refused = False
        """Whether another node has this node's id."""

    def greet(self, addresses: Iterable[Address]) -> None:
        """Make these addresses peers, and greet them until they answer."""
        self._peers.list_addresses(addresses)
        self._greet(HELLO_WAIT_S)
        if self._looking is None:
            self._look()

    def leave(self) -> None:
        for timer in (self._greeting, self._looking):
            if timer:
                timer.cancel()
        self.say_goodbye()

    def say_goodbye(self) -> None:
        for address in self._peers.addresses():
            self._send(Kind.GOODBYE, EVERYBODY, address, None)

    def begin_again(self) -> None:
        """All peers have gone; those that can still read what this node sends will answer."""
        addresses = self._peers.addresses()
        for node in self._peers.nodes():
            if peer := self._peers.find(node):
                self._remove(peer)
        for address in addresses:
            self.hello(address)

    def ask(self, address: Address, received_bytes: int = GREETING_BYTES) -> None:
        """Greet an address from which something came that is not believed. Its source may be forged, so no more is sent
        there than came from there, and few addresses of one host are greeted."""
        now_s = self._timers.now_s
        asked_s, credit_bytes = self._asked.get(address, (0.0, 0))
        credit_bytes = min(credit_bytes + received_bytes, 2 * GREETING_BYTES)
        due = now_s - asked_s > ASK_S and credit_bytes >= GREETING_BYTES
        if due and (self._peers.at(address) is not None or self._may_contact(address[0])):
            self._asked[address] = now_s, credit_bytes - GREETING_BYTES
            self.hello(address)
        else:
            self._asked[address] = asked_s, credit_bytes

    def _may_contact(self, host: str) -> bool:
        """Whether another address of a host may be greeted; on this machine all may."""
        now_s = self._timers.now_s
        since_s, count = self._contacts.get(host, (now_s, 0))
        if now_s - since_s > CONTACTS_S:
            since_s, count = now_s, 0
        self._contacts[host] = since_s, count + 1
        return count < MAX_CONTACTS or host in OWN_HOSTS

    def hello(self, address: Address, to: NodeId = EVERYBODY) -> None:
        self._send(Kind.HELLO, to, address, self._introduction(self._questions.question(address, self._timers.now_s)))

    def handle(self, frame: Frame, address: Address) -> str:
        """Why the frame was dropped, or nothing."""
        match frame.kind:
            case Kind.HELLO | Kind.WELCOME:
                return self._handle_greeting(frame, address)
            case Kind.GOODBYE:
                peer = self._peers.at(address)
                if peer is not None and peer.node == frame.sender:
                    self._remove(peer)
            case Kind.FULL if frame.to == self._node and self._peers.is_listed(address):
                self._warn(f"{address_text(address)} has reached its limit of peers and ignores this node")
            case Kind.TWIN if frame.to == self._node < GIVEN_IDS:  # a key is told by its twin itself
                self._meet_twin(f"as {address_text(address)} says")
            case Kind.WIPED if frame.to == self._node:
                self._warn(
                    f"{address_text(address)} knew node {self._node} with another store: what that one held is not "
                    "here, and names that it used may be refused or taken for the old objects; use a new id"
                )
            case _:
                pass
        return ""

    def _meet_twin(self, who: str) -> None:
        self._progress(refused=True)
        self._warn(f"another node also uses id {self._node}, {who}: give each node its own id")

    def _handle_greeting(self, frame: Frame, address: Address) -> str:
        try:
            introduction = unpack_introduction(frame.body)
        except FrameError as error:
            return str(error)
        if frame.sender == self._node and introduction.session == self.session:
            return "this node's own"
        if frame.kind is Kind.HELLO:
            return self._handle_hello(frame, introduction, address)
        now_s = self._timers.now_s
        if frame.to != self._node or not self._questions.is_answered(introduction.answers, address, now_s):
            return "the answer to another question"
        if not is_genuine(frame, introduction):
            return "not from who it says"
        return self._handle_welcome(frame, introduction, address)

    def _handle_hello(self, frame: Frame, introduction: Introduction, address: Address) -> str:
        """Nothing that a hello says is believed; it is answered, and an unknown node is asked back."""
        if reason := self._unfit(frame, introduction, address):
            self._welcome(frame, introduction, address, asking=False)
            return reason
        if frame.sender != self._node and not self._peers.has_place(address):
            self._send(Kind.FULL, frame.sender, address, None)
            return "no place for another peer"
        if holder := self._is_taken(frame, introduction, address):
            if holder.session == introduction.session:  # a peer that has several addresses
                self._welcome(frame, introduction, address, asking=True)
            else:
                self.ask(address, GREETING_BYTES)
            return "another node has this id"
        known = self._peers.at(address)
        met = known is not None and (known.node, known.session) == (frame.sender, introduction.session)
        self._welcome(frame, introduction, address, asking=not met)
        if met and self.time is not None:
            self._tell_of_clock(frame, address, introduction.time)
        return ""

    def _handle_welcome(self, frame: Frame, introduction: Introduction, address: Address) -> str:
        """It answers a question that was sent to its address."""
        if frame.sender == self._node:
            self._meet_twin(f"at {address_text(address)}")
            self._answer(frame, introduction, address)
            return "another node with this node's id"
        if reason := self._unfit(frame, introduction, address):
            return reason
        self._peers.note_name(frame.sender, introduction.name)
        if not self._peers.has_place(address):
            self._send(Kind.FULL, frame.sender, address, None)
            return "no place for another peer"
        if holder := self._is_taken(frame, introduction, address):
            twin = holder.session != introduction.session
            self._claim(holder, address, twin=twin)
            if twin:
                return "another node has this id"
            self._peers.add_address(holder, address)
            self._answer(frame, introduction, address)
            return ""
        cipher = self._own.with_peer(introduction.public, introduction.session, introduction.ephemeral)
        if cipher is None:
            return "not from who it says"
        peer = Peer(frame.sender, address, introduction.life, self._timers.now_s, introduction.session, cipher)
        self._answer(frame, introduction, address)
        self._add(peer)
        self._compare_times(frame, address, introduction.time)
        return ""

    def _is_taken(self, frame: Frame, introduction: Introduction, address: Address) -> Peer | None:
        """The peer at another address that has this id; none if it was merely started again with the same store."""
        holder = self._peers.find(frame.sender)
        if holder is None or self._peers.at(address) is holder:
            return None
        started_again = holder.life == introduction.life and holder.session != introduction.session
        return None if started_again else holder

    def _unfit(self, frame: Frame, introduction: Introduction, address: Address) -> str:
        if introduction.approach == self.approach:
            return ""
        self._warn(
            f"node {frame.sender} at {address_text(address)} runs {introduction.approach!r} and this one "
            f"{self.approach!r}: they cannot work together; start all nodes with the same --approach"
        )
        return "another approach"

    def _answer(self, frame: Frame, introduction: Introduction, address: Address) -> None:
        if introduction.asks:
            self._welcome(frame, introduction, address, asking=False)

    def _welcome(self, frame: Frame, introduction: Introduction, address: Address, *, asking: bool) -> None:
        asks = self._questions.question(address, self._timers.now_s) if asking else 0
        mine = self._introduction(asks, introduction.asks, introduction.time.asked_s)
        self._send(Kind.WELCOME, frame.sender, address, mine)

    def _introduction(self, asks: int, answers: int = 0, echo_s: float = 0.0) -> Introduction:
        """Of a greeting that is sent now."""
        reading = TimeFields(0.0) if self.time is None else self.time.reading(self._timers.now_s, echo_s)
        return Introduction(
            self.life,
            self.approach,
            reading,
            session=self.session,
            ephemeral=self._own.ephemeral,
            name=self.name,
            asks=asks,
            answers=answers,
        )

    def _compare_times(self, frame: Frame, address: Address, theirs: TimeFields) -> None:
        """An answer gives the round-trip time. A change is passed on at once, so that it spreads."""
        if self.time is None:
            return
        self._tell_of_clock(frame, address, theirs)
        change = self.time.compare(frame.sender, theirs, self._timers.now_s - theirs.echo_s)
        if change is not None and abs(change.behind_s) > FAR_S:
            self._warn(
                f"this device's clock is {_off(-change.behind_s)} that of {self._peers.called(frame.sender)} at "
                f"{address_text(address)}; this node uses the crowd's time. Correct the clock that is wrong",
                about="own clock",
            )
        for other in self._peers.addresses() if change is not None and change.jumped else ():
            self.hello(other)

    def _tell_of_clock(self, frame: Frame, address: Address, theirs: TimeFields) -> None:
        if FAR_S < abs(theirs.correction_s) <= LAST_S:
            off = _off(-theirs.correction_s)
            self._warn(
                f"the clock of {self._peers.called(frame.sender)} at {address_text(address)} is {off} the time "
                "of this crowd, which that node uses nevertheless",
                about=f"clock of {frame.sender}",
            )

    def _add(self, peer: Peer) -> None:
        before = self._peers.at(peer.address)
        if before is not None and before.is_same(peer):
            before.heard_s = peer.heard_s
            if before.address == peer.address:
                self._settle_claim(before)
            return
        for former in {id(p): p for p in (before, self._peers.find(peer.node)) if p is not None}.values():
            self._remove(former)
        if self._peers.add(peer):
            self._send(Kind.WIPED, peer.node, peer.address, None)
            self._warn(
                f"{self._peers.called(peer.node)} at {address_text(peer.address)} was here before with another store"
            )
        self._report(peer, True)
        if not self._peers.unanswered():
            self._progress(all_answered=True)

    def _claim(self, holder: Peer, address: Address, *, twin: bool) -> None:
        """A node at `address` has the id of a peer, which has a while to answer."""
        if holder.node not in self._claims:
            self._claims[holder.node] = _Claim(address, self._timers.now_s, twin)
            self._timers.after(self._options.claim_s, partial(self._end_claim, holder))
        self.hello(holder.address, holder.node)

    def _settle_claim(self, holder: Peer) -> None:
        """The peer has answered."""
        claim = self._claims.pop(holder.node, None)
        if claim is None or not claim.twin:
            return
        for address in (holder.address, claim.address):
            self._send(Kind.TWIN, holder.node, address, None)
        self._warn(
            f"{address_text(holder.address)} and {address_text(claim.address)} both use node id "
            f"{holder.node}: messages of the second are ignored"
        )

    def _end_claim(self, holder: Peer) -> None:
        """The peer did not answer where it was: it has moved, or has gone and the other node is greeted."""
        claim = self._claims.pop(holder.node, None)
        if claim is None or self._peers.at(holder.address) is not holder:
            return
        if not claim.twin and claim.address in holder.others:
            self._peers.move(holder, claim.address)
        elif holder.heard_s < claim.since_s:
            self._remove(holder)
            self.hello(claim.address)

    def _look(self) -> None:
        now_s = self._timers.now_s
        ask = self.time is not None and (self.time.slept() or self.time.unsure)
        if ask or now_s - self._timed_s > TIMED_S:
            self._timed_s = now_s
            addresses = self._peers.addresses()
            first = self._timed % max(1, len(addresses))
            for address in (addresses[first:] + addresses[:first])[:TIMED_PEERS]:
                self.hello(address)
            self._timed += TIMED_PEERS
        elif self.time is not None and self._looks % NEWCOMER_LOOKS == 0:
            newcomers = (self._peers.find(node) for node in self.time.newcomers()[:TIMED_PEERS])
            for peer in newcomers:
                if peer is not None:
                    self.hello(peer.address, peer.node)
        self._looks += 1
        silent_s = self._options.silent_s * self._peers.patience
        gone_s = silent_s + self._options.gone_s - self._options.silent_s
        for peer in self._peers.silent_since(now_s - silent_s):
            if peer.heard_s < now_s - gone_s:
                self._remove(peer)
            else:
                self.hello(peer.address, peer.node)
        self._looking = self._timers.after(self._options.look_s, self._look)

    def _remove(self, peer: Peer) -> None:
        self._peers.remove(peer)
        if self.time is not None:
            self.time.forget(peer.node)
        self._report(peer, False)
        if peer.address in self._peers.unanswered():
            self._greet(HELLO_WAIT_S)

    def _report(self, peer: Peer, here: bool) -> None:
        if self.on_presence:
            self.on_presence(Presence(peer.node, address_text(peer.address), here, self._peers.name_of(peer.node)))

    def _progress(self, *, all_answered: bool | None = None, refused: bool = False) -> None:
        self.all_answered = self.all_answered if all_answered is None else all_answered
        self.refused = self.refused or refused
        if self.on_progress:
            self.on_progress()

    def _greet(self, wait_s: float) -> None:
        if self._greeting:
            self._greeting.cancel()
        unanswered = self._peers.unanswered()
        if not unanswered:
            self._progress(all_answered=True)
            return
        self._progress(all_answered=False)
        for address in unanswered:
            self.hello(address)
        longer_s = min(wait_s * 2.0, HELLO_LONGEST_WAIT_S * max(1.0, len(unanswered) / UNHURRIED_ADDRESSES))
        self._greeting = self._timers.after(wait_s, partial(self._greet, longer_s))

    def _warn(self, text: str, about: str = "") -> None:
        """Once for each text, or for what it is about."""
        if (about or text) not in self._warned and len(self._warned) < MAX_WARNINGS:
            self._warned.add(about or text)
            logger.warning("node %d: %s", self._node, text)


def _off(ahead_s: float) -> str:
    return f"{abs(ahead_s):.1f} s {'ahead of' if ahead_s > 0.0 else 'behind'}"
