"""Upkeep of the overlay: how a node finds out that a branch is no more.

The paper builds its overlay once (§V) and says nothing of nodes that fail. Along a quiet path nobody would ever notice,
so now and then each node tells its anchor, the branch towards the oldest walk, that it is there. If the link gives that
up, or the answer is that nobody knows this node there, the anchor is lost: the part of the overlay that hung on it
dissolves from there downwards, and those of it who subscribe walk again. A branch that has missed its time is asked:
if the link gives that up too, it is dropped with all that is behind it, so a revocation that was lost with the way that
it was to go is made up for within two of these periods and a few tries, for each break on that way. So is a branch that
is not heard of for several periods, and a subscription whose time frame has ended. One small frame per node of the
overlay and period; nodes that no walk came by stay silent.
"""

from __future__ import annotations

from collections.abc import Callable

from thyme.approaches.walks.branches import Branches
from thyme.approaches.walks.membership import Membership
from thyme.host import Host
from thyme.model.ids import NodeId
from thyme.wire.message import Message
from thyme.wire.walks import Advertised, Present

ASKED = 1.1
"""A branch that was silent for so many periods is asked: a frame along the overlay is tried for a second."""
MISSED = 3.5
"""A branch that was silent for so many periods is gone."""
GOLDEN_RATIO = 0.618034
"""Spreads the first checks of nodes over the period, whatever their numbers."""


class Upkeep:
    """`send(branch, message)` sends along the overlay with retries; `lose(branch)` is called for a branch that is
    gone."""

    def __init__(
        self,
        host: Host,
        branches: Branches,
        membership: Membership,
        period_s: float,
        send: Callable[[NodeId, Message], None],
        lose: Callable[[NodeId], None],
    ) -> None:
        self._host = host
        self._branches = branches
        self._membership = membership
        self._period_s = period_s
        self._send = send
        self._lose = lose
        self._heard_s: dict[NodeId, float] = {}

    def start(self) -> None:
        if self._period_s > 0.0:
            phase = self._host.node * GOLDEN_RATIO % 1.0
            self._host.after(self._period_s * (0.5 + 0.5 * phase), self._check)

    def heard(self, branch: NodeId) -> None:
        if branch in self._branches:
            self._heard_s[branch] = self._host.now()

    def _check(self) -> None:
        self._host.after(self._period_s, self._check)
        now_s = self._host.now()
        self._branches.expire(now_s)
        self._heard_s = {branch: self._heard_s.get(branch, now_s) for branch in self._branches}
        for branch in self._silent_for(MISSED):
            self._lose(branch)
        anchor = self._membership.anchor
        if anchor is not None and anchor in self._branches:
            self._send(anchor, Present())
        self._ask()
        self._host.after(self._period_s / 2.0, self._ask)

    def _ask(self) -> None:
        """A node that does not know this one as a branch answers so; one that is gone does not acknowledge."""
        for branch in self._silent_for(ASKED):
            self._send(branch, Advertised(()))

    def _silent_for(self, periods: float) -> list[NodeId]:
        before_s = self._host.now() - periods * self._period_s
        anchor = self._membership.anchor
        silent = [branch for branch, heard_s in self._heard_s.items() if heard_s < before_s and branch != anchor]
        return [branch for branch in silent if branch in self._branches]
