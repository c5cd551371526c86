"""A directional random walk as messages between neighbours: one node's part in it (walks paper §V).

The node that holds the walker probes; whoever hears it offers itself, and everybody who overhears an offer marks the
sender as beside the walk (trails.py). The walker goes to the cheapest offer, or back where it came from when there is
none, and ends where it hears of an older overlay (membership.py). No positions, no beacons, no table of neighbours.

The oldest walk meets nobody older and cannot know it. It slows down after `eager_steps`, and more and more after
`lonely_steps`, but goes on until its overlay was met, when it takes `steps_after_met` more (none, as both first walks
of Algorithm 1, if that is 0), or until it has been everywhere and found nobody. A walker that was shut in by younger
walks tries again: the youngest of them can only be stopped by an older one, so some walk always gets on.

A walker that is lost with the node that it went to is taken back by the one that it came from, unless its walk has met
another already. A walk that found nobody is repeated: its node may have come among others since. If these are on
younger walks, which may have ended long ago, it is given up for a new one, which is younger still and ends at the first
of them.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from thyme.approaches.walks.branches import Branches
from thyme.approaches.walks.membership import Membership, WalkCallbacks
from thyme.approaches.walks.options import ADVERTS_PER_FRAME, WalkerOptions
from thyme.approaches.walks.trails import Trails
from thyme.host import Host, Timer
from thyme.model.ids import NodeId
from thyme.wire.message import Message
from thyme.wire.walks import Beside, Offer, Probe, Token, WalkerMoved, WalkerReturned, WalkName

OFFERS = 0.8
"""The share of an offer window in which offers are sent; what is overheard then is said in the rest of it."""


GIVES_UP_AT = 2
"""From this attempt on, a walk that met nobody and has younger ones in its way gives way to a new one: in the first,
the others may still be under way, and end here."""


class Walker:
    """The walker while it is here, and this node's answers while it is near."""

    def __init__(
        self,
        host: Host,
        branches: Branches,
        membership: Membership,
        options: WalkerOptions,
        around: WalkCallbacks,
        repeats: bool = True,
    ) -> None:
        self._host = host
        self._branches = branches
        self._membership = membership
        self._options = options
        self._around = around
        self._repeats = repeats
        self._trails = Trails(options)
        self._offers: dict[NodeId, Offer] = {}
        self._token: Token | None = None  # while the walker is here
        self._held: Token | None = None  # as it was when it was here last
        self._before: NodeId | None = None
        self._gone_to: NodeId | None = None
        self._rests = False
        self._repetition: Timer | None = None
        membership.not_met = self._try_another
        membership.was_met = self._was_met

    @property
    def walking(self) -> bool:
        return self._token is not None

    def begin(self) -> None:
        """Start a walk here, unless this node is on the overlay already."""
        if self._membership.walk is None:
            self._arrive(Token(self._membership.begin()), None)

    def leave(self) -> None:
        """This node is on no walk any more."""
        self._membership.leave()
        self._token = self._held = self._gone_to = None
        self._rests = False

    def lost(self, branch: NodeId) -> None:
        """A branch is gone; if the walker went there and has met no other yet, it continues from here."""
        if branch == self._gone_to and self._unmet():
            self._try_another(branch)

    def look_again(self) -> None:
        """If a walk has ended here without meeting another: others may have come since."""
        if self._rests and self._unmet():
            assert self._held is not None
            self._arrive(replace(self._held, attempt=self._held.attempt + 1), None)

    def _look_again_later(self) -> None:
        if self._repetition is not None:
            self._repetition.cancel()
        if self._repeats:
            self._repetition = self._host.after(self._options.longest_pause_s, self.look_again)

    def _unmet(self) -> bool:
        walk = self._held.walk if self._held is not None else None
        return walk is not None and self._membership.overlay == walk and not self._membership.has_been_met(walk)

    def receive(self, sender: NodeId, message: Message) -> bool:
        match message:
            case Probe():
                self._on_probe(sender, message)
            case Offer():
                self._on_offer(sender, message)
            case Beside():
                self._trails.overhear_beside(sender, message)
            case WalkerMoved():
                self._on_walker(sender, message)
            case WalkerReturned():
                self._on_return(sender, message)
            case _:
                return False
        return True

    def _on_probe(self, sender: NodeId, probe: Probe) -> None:
        marked, second = self._trails.count(probe)
        trail = self._trails.of(probe.walk)

        def answer() -> None:
            visited = trail.visited >= probe.attempt
            overlay = self._membership.overlay
            self._host.broadcast(Offer(probe.walk, probe.attempt, probe.step, sender, marked, second, overlay, visited))

        self._within(OFFERS, answer)

    def _on_offer(self, sender: NodeId, offer: Offer) -> None:
        beside = self._trails.overhear_offer(sender, offer)
        if beside is not None:
            self._within(1.0 - OFFERS, lambda: self._host.broadcast(beside))
        token = self._token
        if token is not None and offer.to == self._host.node and (offer.walk, offer.step) == (token.walk, token.step):
            self._offers[sender] = offer

    def _within(self, share: float, action: Callable[[], None]) -> None:
        """At any time in a share of the offer window: neighbours do not answer all at once."""
        self._host.after(self._host.random.uniform(0.0, share * self._options.offer_window_s), action)

    def _arrive(self, token: Token, came_from: NodeId | None) -> None:
        trail = self._trails.of(token.walk)
        if trail.visited < token.attempt:
            trail.visited = token.attempt
            trail.came_from = came_from
        self._hold(token, came_from)

    def _hold(self, token: Token, before: NodeId | None) -> None:
        """Take the next step, at once while the walk is young."""
        self._token = self._held = token
        self._before = before
        self._gone_to = None
        self._rests = False
        if self._membership.has_been_met(token.walk):
            self._was_met(token.walk)
        pause_s = self._options.pause_s(token.step)
        if pause_s == 0.0:
            self._probe()
        else:
            self._later(pause_s, self._probe)

    def _later(self, delay_s: float, action: Callable[[], None]) -> None:
        """Unless the walker has moved meanwhile."""
        assert self._token is not None
        walk, attempt, step = self._token.walk, self._token.attempt, self._token.step

        def act() -> None:
            token = self._token
            if token is not None and (token.walk, token.attempt, token.step) == (walk, attempt, step):
                action()

        self._host.after(delay_s, act)

    def _probe(self) -> None:
        assert self._token is not None
        token = self._token = self._held = replace(self._token, step=self._token.step + 1)
        self._offers = {}
        self._host.broadcast(Probe(token.walk, token.attempt, token.step, self._before))
        self._later(self._options.offer_window_s, self._choose)

    def _choose(self) -> None:
        token = self._token
        if token is None:
            return
        others = [(o.overlay, n) for n, o in self._offers.items() if o.overlay not in (None, token.walk)]
        older = [(overlay, n) for overlay, n in others if overlay is not None and overlay < token.walk]
        if older:
            self._token = None
            self._membership.meet(token.walk, min(older)[1])
            return
        if others:
            token = self._token = self._held = replace(token, shut_in=token.attempt)
        if token.rests_at is not None and token.step >= token.rests_at:
            self._rest()
            return
        chosen = self._cheapest()
        if chosen is None:
            self._go_back(token)
        else:
            self._move(token, chosen)

    def _cheapest(self) -> NodeId | None:
        costs = {
            n: 0.0 if self._options.pure else self._cost(o)
            for n, o in self._offers.items()
            if not o.visited and (o.overlay is None or n in self._branches)
        }
        if not costs:
            return None
        least = min(costs.values())
        return self._host.random.choice(sorted(n for n, cost in costs.items() if cost == least))

    def _cost(self, offer: Offer) -> float:
        if self._options.method == "second":
            return self._options.alpha * offer.marked + self._options.beta * offer.second
        return float(offer.marked)

    def _move(self, token: Token, to: NodeId) -> None:
        offer = self._offers.get(to)
        if offer is not None and offer.overlay is None and to in self._branches:
            # It has left the overlay and knows nothing of this branch any more.
            self._around.forget(to)
        new = self._branches.add(to)
        adverts = self._branches.adverts_for(to) if new else []
        first = ADVERTS_PER_FRAME
        self._token = None
        self._gone_to = to

        def failed() -> None:
            if new:
                self._branches.drop(to)
            self._try_another(to)

        self._host.unicast(to, WalkerMoved(token, tuple(adverts[:first])), failed)
        if adverts[first:]:
            self._host.after(self._options.offer_window_s, lambda: self._around.tell(to, adverts[first:]))

    def _try_another(self, gone: NodeId) -> None:
        if self._membership.walk is not None and self._held is not None:
            self._offers.pop(gone, None)
            self._token = self._held
            self._gone_to = None
            self._choose()

    def _on_walker(self, sender: NodeId, message: WalkerMoved) -> None:
        known = sender in self._branches
        if self._membership.walk is not None and not known:
            # Two walkers chose this node at once; the second has to look for another way.
            self._host.unicast(sender, WalkerReturned(message.token, True))
            return
        if not known:
            self._membership.join(message.token.walk, sender)
            self._branches.add(sender)
            self._around.hear(sender, message.adverts)
            self._around.tell(sender, self._branches.adverts_for(sender))
        self._arrive(message.token, sender)

    def _go_back(self, token: Token) -> None:
        came_from = self._trails.of(token.walk).came_from
        if came_from is None:
            self._exhausted(token)
            return
        self._token = self._gone_to = None
        pruned = self._options.prune_backtracked and len(self._branches) == 1 and self._around.may_leave()
        if pruned:
            self._branches.drop(came_from)
            self.leave()

        def failed() -> None:
            if self._membership.walk is not None:
                self._exhausted(token)

        self._host.unicast(came_from, WalkerReturned(token, pruned), failed)

    def _on_return(self, sender: NodeId, message: WalkerReturned) -> None:
        if self._held is None or message.token.walk != self._held.walk or sender not in self._branches:
            return
        if message.pruned:
            self._branches.drop(sender)
        self._hold(message.token, sender)

    def _exhausted(self, token: Token) -> None:
        """There is no way that this attempt has not tried, and none back."""
        if self._repeats and token.shut_in == token.attempt >= GIVES_UP_AT and self._unmet():
            self._around.begin_anew()
            return
        alone = token.attempt - token.shut_in >= self._options.attempts
        if alone or token.attempt >= self._options.shut_attempts:
            self._rest()
            self._look_again_later()
            return
        self._token = self._held = replace(token, attempt=token.attempt + 1)
        self._later(self._options.pause_between_attempts_s(token.attempt), self._begin_again)
        self._around.settled()

    def _begin_again(self) -> None:
        assert self._token is not None
        if self._token.rests_at is not None and self._token.step >= self._token.rests_at:
            self._rest()
        else:
            self._arrive(self._token, None)

    def _rest(self) -> None:
        self._token = None
        self._rests = True
        self._around.settled()

    def _was_met(self, overlay: WalkName) -> None:
        """Somebody ended on this overlay; if its walker is here, it may soon rest."""
        token = self._token
        if token is not None and token.walk == overlay and token.rests_at is None:
            self._token = self._held = replace(token, rests_at=token.step + self._options.steps_after_met)
