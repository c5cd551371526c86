"""Claims: somebody proves to have an id that a peer has at another address.

The peer is asked. If it answers, it keeps its place; another device with its id is a twin, and both are told. If it
does not, it has gone, and who claimed its id is greeted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from thyme.live.link.addresses import Address
from thyme.live.link.meeting.peers import Peer
from thyme.model.bounded import Bounded
from thyme.model.ids import NodeId

MAX_CLAIMS = 100
"""Ids that others claim, while the peers who have them are asked."""


class Claiming(msgspec.Struct, frozen=True):
    """What becomes of claims."""

    ask: Callable[[Peer], None]
    """Whether it is still there."""
    twins: Callable[[Peer, Address], None]
    """A peer answered, and another device with its id is at that address."""
    gone: Callable[[Peer, Address], None]
    """A peer did not answer, and somebody at that address has its id."""


class _Claim(msgspec.Struct, frozen=True):
    address: Address
    since_s: float
    twin: bool
    """Whether it is another device, and not the same one at another address."""


class Claims:
    def __init__(self, wait_s: float, claiming: Claiming) -> None:
        """A peer has so long to answer."""
        self._wait_s = wait_s
        self._claiming = claiming
        self._loop = asyncio.get_running_loop()
        self._open: Bounded[NodeId, _Claim] = Bounded(MAX_CLAIMS)

    def begin(self, holder: Peer, address: Address, *, twin: bool) -> None:
        if holder.node not in self._open:
            self._open[holder.node] = _Claim(address, self._loop.time(), twin)
            self._loop.call_later(self._wait_s, self._end, holder)
        self._claiming.ask(holder)

    def settle(self, holder: Peer) -> None:
        """The peer has answered."""
        claim = self._open.pop(holder.node, None)
        if claim is not None and claim.twin:
            self._claiming.twins(holder, claim.address)

    def _end(self, holder: Peer) -> None:
        claim = self._open.pop(holder.node, None)
        if claim is not None and holder.heard_s < claim.since_s:
            self._claiming.gone(holder, claim.address)
