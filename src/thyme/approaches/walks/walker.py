"""A directional random walk as messages between neighbours: one node's part in it (walks paper §V).

The node that holds the walker probes; whoever hears it offers itself, and everybody who overhears an offer knows a
neighbour that is beside the walk: that is the marking, and |N(v) ∩ N(DRW)| is how many such neighbours a node
has overheard. The walker goes to the cheapest offer, or back where it came from when there is none. No positions, no
beacons, no table of neighbours.

Many walks run at once here, where the paper starts them one by one, so its rule becomes: a walk ends at the first
node whose overlay is older than itself, and passes by younger ones. Each overlay has one walker, that of its oldest
walk, and only the walker makes links between overlays, always to an older one. So the whole is a tree that
hangs on the oldest walk, and nothing needs to be agreed on. The oldest walk meets nobody older and cannot know it:
it slows down after `eager_steps`, and rests some steps after it was met (at once, as both first walks do in
Algorithm 1, if `steps_after_met` is 0), after `lonely_steps`, or when it has been everywhere. A walker that was
shut in by younger walks tries again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from thyme.approaches.walks.branches import Branches
from thyme.approaches.walks.options import WalkerOptions
from thyme.host import Host
from thyme.model.ids import NodeId
from thyme.wire.message import Message
from thyme.wire.walks import (
    Advert,
    Anchored,
    Offer,
    Probe,
    Rested,
    Unlinked,
    WalkerMoved,
    WalkerReturned,
    WalkName,
    WalksMet,
)


class _Trail(msgspec.Struct):
    """What a node remembers of one walk: neighbours overheard beside it, and its own visits."""

    marked: dict[NodeId, int] = msgspec.field(default_factory=dict)
    visited: int = 0
    came_from: NodeId | None = None


class Walker:
    """One node's membership in the overlay, and the walker while it is here.

    `linked(neighbour, adverts)` is called for each new branch, `settled()` when the walk that began here (or
    the walker that rests here) goes no further for now, `may_leave()` before a node is pruned.
    """

    def __init__(
        self,
        host: Host,
        branches: Branches,
        options: WalkerOptions,
        linked: Callable[[NodeId, Sequence[Advert]], None],
        settled: Callable[[], None],
        may_leave: Callable[[], bool],
    ) -> None:
        self._host = host
        self._branches = branches
        self._options = options
        self._linked = linked
        self._settled = settled
        self._may_leave = may_leave
        self._trails: dict[WalkName, _Trail] = {}
        self._offers: dict[NodeId, Offer] = {}
        self._token: WalkName | None = None  # the walk whose walker is here
        self._meeting: NodeId | None = None
        self._rested: WalkName | None = None
        self._last: WalkName | None = None  # the walk whose walker was here last
        self._attempt = 1
        self._step = 0
        self._limit = options.lonely_steps
        self.walk: WalkName | None = None
        self.overlay: WalkName | None = None
        self.resting = False

    @property
    def walking(self) -> bool:
        return self._token is not None

    def begin(self) -> None:
        """Start a walk here, unless this node is on the overlay already."""
        if self.walk is not None:
            return
        self.walk = self.overlay = WalkName(self._host.now(), self._host.node)
        self._limit = self._options.lonely_steps
        self._arrive(self.walk, 1, 0, None)

    def leave(self) -> None:
        """This node is on no walk any more."""
        self.walk = self.overlay = None
        self._token = self._meeting = None
        self.resting = False

    def receive(self, sender: NodeId, message: Message) -> bool:
        match message:
            case Probe():
                self._on_probe(sender, message)
            case Offer():
                self._on_offer(sender, message)
            case WalkerMoved():
                self._on_walker(sender, message)
            case WalkerReturned():
                self._on_return(sender, message)
            case WalksMet():
                self._on_met(sender)
            case Anchored(overlay):
                self._on_anchored(sender, overlay)
            case Rested(overlay):
                self._on_rested(sender, overlay)
            case _:
                return False
        return True

    def _trail(self, walk: WalkName) -> _Trail:
        trail = self._trails.get(walk)
        if trail is None:
            trail = self._trails[walk] = _Trail()
            while len(self._trails) > self._options.walks_remembered:
                del self._trails[next(iter(self._trails))]
        return trail

    def _on_probe(self, sender: NodeId, probe: Probe) -> None:
        trail = self._trail(probe.walk)
        cost = sum(1 for step in trail.marked.values() if step < probe.step)

        def answer() -> None:
            visited = trail.visited >= probe.attempt
            self._host.broadcast(Offer(probe.walk, probe.attempt, probe.step, sender, cost, self.overlay, visited))

        self._host.after(self._host.random.uniform(0.0, 0.8 * self._options.offer_window_s), answer)

    def _on_offer(self, sender: NodeId, offer: Offer) -> None:
        self._trail(offer.walk).marked.setdefault(sender, offer.step)
        if offer.to == self._host.node and offer.walk == self._token and offer.step == self._step:
            self._offers[sender] = offer

    def _arrive(self, walk: WalkName, attempt: int, step: int, came_from: NodeId | None) -> None:
        trail = self._trail(walk)
        if trail.visited < attempt:
            trail.visited = attempt
            trail.came_from = came_from
        self._token, self._attempt, self._step = walk, attempt, step
        self._go_on()

    def _go_on(self) -> None:
        """Take the next step, at once while the walk is young."""
        step = self._step
        if step < self._options.eager_steps:
            self._probe()
        else:
            self._host.after(self._options.slow_step_s, lambda: self._probe() if step == self._step else None)

    def _probe(self) -> None:
        if self._token is None:
            return
        self._step += 1
        self._offers = {}
        self._last = self._token
        self._host.broadcast(Probe(self._token, self._attempt, self._step))
        step = self._step
        self._host.after(self._options.offer_window_s, lambda: self._choose() if step == self._step else None)

    def _choose(self) -> None:
        walk = self._token
        if walk is None:
            return
        older = [(o.overlay, n) for n, o in self._offers.items() if o.overlay is not None and o.overlay < walk]
        if older:
            self._meet(min(older)[1])
        elif self._step >= self._limit:
            self._rest()
        else:
            chosen = self._cheapest()
            if chosen is None:
                self._go_back()
            else:
                self._move(chosen)

    def _cheapest(self) -> NodeId | None:
        open_offers = {
            n: o for n, o in self._offers.items() if not o.visited and (o.overlay is None or n in self._branches)
        }
        if not open_offers:
            return None
        least = min(offer.cost for offer in open_offers.values())
        best = sorted(n for n, o in open_offers.items() if self._options.pure or o.cost == least)
        return self._host.random.choice(best)

    def _move(self, to: NodeId) -> None:
        assert self._token is not None
        walk = self._token
        new = self._branches.add(to)
        adverts = self._branches.adverts_for(to) if new else []
        first = self._options.adverts_per_frame
        self._token = None

        def failed() -> None:
            if new:
                self._branches.drop(to)
            self._try_another(to)

        message = WalkerMoved(walk, self._attempt, self._step, self._limit, tuple(adverts[:first]))
        self._host.unicast(to, message, failed)
        if new and adverts[first:]:
            self._host.after(self._options.offer_window_s, lambda: self._linked(to, adverts[first:]))

    def _try_another(self, gone: NodeId) -> None:
        if self.walk is not None:
            self._offers.pop(gone, None)
            self._token = self._last
            self._choose()

    def _on_walker(self, sender: NodeId, message: WalkerMoved) -> None:
        known = sender in self._branches
        if self.walk is not None and not known:
            # Two walkers chose this node at once; the second has to look for another way.
            refusal = WalkerReturned(message.walk, message.attempt, message.step, message.limit, True)
            self._host.unicast(sender, refusal)
            return
        if not known:
            self.walk = self.overlay = message.walk
            self._branches.add(sender)
            for advert in message.adverts:
                self._branches.learn(sender, advert)
        self._limit = message.limit
        self._arrive(message.walk, message.attempt, message.step, sender)

    def _go_back(self) -> None:
        assert self._token is not None
        walk, self._token = self._token, None
        came_from = self._trail(walk).came_from
        if came_from is None:
            self._exhausted(walk)
            return
        pruned = self._options.prune_backtracked and len(self._branches) == 1 and self._may_leave()
        if pruned:
            self._branches.drop(came_from)
            self.leave()
        message = WalkerReturned(walk, self._attempt, self._step, self._limit, pruned)
        self._host.unicast(came_from, message, self._rest)

    def _on_return(self, sender: NodeId, message: WalkerReturned) -> None:
        if message.walk != self._last or sender not in self._branches:
            return
        if message.pruned:
            self._branches.drop(sender)
        self._token, self._attempt, self._step = message.walk, message.attempt, message.step
        self._limit = message.limit
        self._go_on()

    def _exhausted(self, walk: WalkName) -> None:
        """The walker is back at its initiator, and there is no way that it has not tried."""
        if self._attempt >= self._options.attempts:
            self._rest()
            return
        self._settled()
        attempt = self._attempt

        def again() -> None:
            if self.overlay == walk and self._token is None and self._step < self._limit:
                self._arrive(walk, attempt + 1, self._step, None)

        self._host.after(self._options.rest_s, again)

    def _rest(self) -> None:
        self._token = None
        self.resting = True
        self._settled()

    def _meet(self, broker: NodeId) -> None:
        assert self._token is not None
        walk, self._token = self._token, None
        self._meeting = broker
        self._branches.add(broker)
        self._host.unicast(broker, WalksMet(walk), lambda: self.not_met(broker))

    def not_met(self, broker: NodeId) -> None:
        """The node that the walk was to end at is gone, or is on no walk any more."""
        if self._meeting == broker:
            self._meeting = None
            self._branches.drop(broker)
            self._try_another(broker)

    def _on_met(self, sender: NodeId) -> None:
        if self.overlay is None:
            self._host.unicast(sender, Unlinked())
            return
        self._branches.add(sender)
        self._host.unicast(sender, Anchored(self.overlay))
        self._linked(sender, self._branches.adverts_for(sender))
        self._on_rested(sender, self.overlay)

    def _on_rested(self, sender: NodeId, overlay: WalkName) -> None:
        """Pass the word on along the overlay, once, until it has caught up with the walker."""
        if self._rested == overlay or self.overlay != overlay:
            return
        self._rested = overlay
        if self._token == overlay:
            self._limit = min(self._limit, self._step + self._options.steps_after_met)
        for branch in self._branches:
            if branch != sender:
                self._host.unicast(branch, Rested(overlay))

    def _on_anchored(self, sender: NodeId, overlay: WalkName) -> None:
        if sender not in self._branches or self.overlay is None:
            return
        if sender == self._meeting:
            self._meeting = None
            self._linked(sender, self._branches.adverts_for(sender))
        if overlay < self.overlay:
            self.overlay = overlay
            for branch in self._branches:
                if branch != sender:
                    self._host.unicast(branch, Anchored(overlay))
            self._settled()
