"""The walk that a node is on, and the oldest walk that its part of the overlay is connected to.

Many walks run at once here, where the paper starts them one by one, so its rule becomes: a walk ends at the first node
whose overlay is older than itself, and passes younger ones. Each overlay has one walker, that of its oldest walk, and
only the walker links overlays, always to an older one. So the overlay is a tree rooted at the oldest walk, and no
agreement is needed.

The broker at which a walk ends first sends it all subscriptions on its side and then that it is anchored. Both travel
along the walk in this order, so when the initiator learns that its walk is anchored, it has the filters of the branch
that it met. The message that an overlay was met travels the other way, until it reaches the walker.

Both the walker and this message set each node's `anchor`, the branch towards the oldest walk. A node that loses it is
cut off with everything behind it (`upkeep`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from thyme.approaches.walks.branches import Branches
from thyme.host import Host
from thyme.model.ids import NodeId
from thyme.wire.message import Message
from thyme.wire.walks import Advert, Anchored, Rested, Unlinked, WalkName, WalksMet


@dataclass(frozen=True)
class WalkCallbacks:
    """Callbacks of the approach.

    `send(branch, message)` sends along the overlay with retries, `tell(branch, adverts)` advertises the subscriptions
    that are not behind that branch, `hear(branch, adverts)` stores those that are, `forget(branch)` removes a branch
    with everything behind it, `lose(branch)` reports that it no longer leads to the oldest walk, `settled()` reports
    that the walk that started here (or the walker that is here) goes no further for now, `may_leave()` returns whether
    this node may be pruned, and `begin_anew()` replaces the walk by a new one.
    """

    send: Callable[[NodeId, Message], None]
    tell: Callable[[NodeId, Sequence[Advert]], None]
    hear: Callable[[NodeId, Sequence[Advert]], None]
    forget: Callable[[NodeId], None]
    lose: Callable[[NodeId], None]
    settled: Callable[[], None]
    may_leave: Callable[[], bool]
    begin_anew: Callable[[], None]


class Membership:
    """One node's place in the overlay.

    `not_met(broker)` is called back when a meeting came to nothing, `was_met(overlay)` when this overlay was met.
    """

    def __init__(self, host: Host, branches: Branches, around: WalkCallbacks, patience_s: float) -> None:
        self._host = host
        self._branches = branches
        self._around = around
        self._patience_s = patience_s
        self._meeting: NodeId | None = None
        self._rested: WalkName | None = None
        self.walk: WalkName | None = None
        self.overlay: WalkName | None = None
        self.anchor: NodeId | None = None
        self.not_met: Callable[[NodeId], None] = lambda broker: None
        self.was_met: Callable[[WalkName], None] = lambda overlay: None

    def begin(self) -> WalkName:
        """A walk of this node's own."""
        walk = WalkName(self._host.now(), self._host.node)
        self.walk = self.overlay = walk
        self.anchor = None
        return walk

    def join(self, walk: WalkName, sender: NodeId) -> None:
        """A walker came by."""
        self.walk = self.overlay = walk
        self.anchor = sender

    def leave(self) -> None:
        self.walk = self.overlay = self._meeting = self.anchor = None

    def receive(self, sender: NodeId, message: Message) -> bool:
        match message:
            case WalksMet():
                self._on_met(sender)
            case Anchored(overlay):
                self._on_anchored(sender, overlay)
            case Rested(overlay):
                self._on_rested(sender, overlay)
            case _:
                return False
        return True

    def has_been_met(self, walk: WalkName) -> bool:
        return self._rested == walk

    def meet(self, walk: WalkName, broker: NodeId) -> None:
        """End the walk at a node of an older overlay; it has to answer."""
        self._meeting = broker
        self._branches.add(broker)
        self._host.unicast(broker, WalksMet(walk), lambda: self.unlink(broker))

        def lose_patience() -> None:
            if self._meeting == broker:
                self._host.unicast(broker, Unlinked())
                self.unlink(broker)

        self._host.after(self._patience_s, lose_patience)

    def unlink(self, broker: NodeId) -> None:
        """If the walk was to end at this node: it is gone, or is no longer on a walk."""
        if self._meeting == broker:
            self._meeting = None
            self._around.forget(broker)
            self.not_met(broker)

    def _on_met(self, sender: NodeId) -> None:
        if self.overlay is None:
            self._host.unicast(sender, Unlinked())
            return
        if sender == self.anchor:
            # It has lost the oldest walk and searches for it here, while this node searches for it there.
            self._around.lose(sender)
            return
        if sender in self._branches:
            # It was cut off unnoticed and returns: its subscriptions may have changed, and it sends the current ones.
            self._around.forget(sender)
        self._branches.add(sender)
        self._around.tell(sender, self._branches.adverts_for(sender))
        self._around.send(sender, Anchored(self.overlay))
        self._on_rested(sender, self.overlay)

    def _on_anchored(self, sender: NodeId, overlay: WalkName) -> None:
        if sender not in self._branches or self.overlay is None:
            return
        if sender == self._meeting:
            self._meeting = None
            self._around.tell(sender, self._branches.adverts_for(sender))
        if overlay < self.overlay:
            self.overlay = overlay
            self.anchor = sender
            for branch in self._branches:
                if branch != sender:
                    self._around.send(branch, Anchored(overlay))
            self._around.settled()

    def _on_rested(self, sender: NodeId, overlay: WalkName) -> None:
        """Forward the message along the overlay, once."""
        if self._rested == overlay or self.overlay != overlay:
            return
        self._rested = overlay
        self.was_met(overlay)
        for branch in self._branches:
            if branch != sender:
                self._around.send(branch, Rested(overlay))
