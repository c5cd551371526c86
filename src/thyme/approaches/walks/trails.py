"""What a node has overheard of the walks around it: the marks, and the counts that a step costs (walks paper §IV, §V).

An offer names the node that holds the walker, and everybody in range hears it. So a node knows, with no table of
neighbours, which of its neighbours are beside a walk: that is |N(v) ∩ N(DRW)| of costs (2) and (3), where the offers to
the present last node do not count yet (Figure 5). Which of them were beside the node that the walker came from is
|N(x) ∩ N(z)| of weight (1). Being in the second neighbourhood of a walk is overheard by the node itself only, so for
cost (2) it says so, once per walk.
"""

from __future__ import annotations

import msgspec

from thyme.approaches.walks.options import WalkerOptions
from thyme.model.bounded import Bounded
from thyme.model.ids import NodeId
from thyme.wire.walks import Beside, Offer, Probe, WalkName

WALKS_REMEMBERED = 64
"""Walks whose marks and visits a node remembers; the oldest known goes first."""


class Trail(msgspec.Struct):
    """One walk as a node knows it: since which step which neighbours are beside it, and the node's own visits."""

    marked: dict[NodeId, int] = msgspec.field(default_factory=dict)
    second: dict[NodeId, int] = msgspec.field(default_factory=dict)
    offered: dict[NodeId, dict[NodeId, None]] = msgspec.field(default_factory=dict)
    said_beside: bool = False
    visited: int = 0
    came_from: NodeId | None = None


class Trails:
    """The walks that this node remembers."""

    def __init__(self, options: WalkerOptions) -> None:
        self._options = options
        self._trails: Bounded[WalkName, Trail] = Bounded(WALKS_REMEMBERED)

    def of(self, walk: WalkName) -> Trail:
        trail = self._trails.get(walk)
        if trail is None:
            trail = self._trails[walk] = Trail()
        return trail

    def overhear_offer(self, sender: NodeId, offer: Offer) -> Beside | None:
        """Marks the sender; with cost (2), returns this node's own message, once."""
        trail = self.of(offer.walk)
        trail.marked.setdefault(sender, offer.step)
        if self._options.method == "weights":
            trail.offered.setdefault(offer.to, {})[sender] = None
        if self._options.method != "second" or trail.said_beside:
            return None
        trail.said_beside = True
        return Beside(offer.walk, offer.step)

    def overhear_beside(self, sender: NodeId, beside: Beside) -> None:
        self.of(beside.walk).second.setdefault(sender, beside.step)

    def count(self, probe: Probe) -> tuple[int, int]:
        """How many neighbours are beside the walk (or were beside the node before), and in its second
        neighbourhood."""
        trail = self.of(probe.walk)
        if self._options.method == "weights":
            return (len(trail.offered.get(probe.before, ())) if probe.before is not None else 0), 0
        marked, second = (
            sum(1 for step in known.values() if step < probe.step) for known in (trail.marked, trail.second)
        )
        return marked, second
