"""Budgets: how much of this node's time one address may take.

Each address has tokens that come back at a steady rate. A datagram takes one, and half a token for every message in it
but the first: those need no seal, no mark and no turn of their own, which is more than half of what a message takes.
Without enough tokens a datagram is dropped before it is read, which costs a tenth of handling it. A unicast that was
dropped so is repeated by its sender, whose window halves: an eager peer slows down, a hostile one is cut to its rate.
Acknowledgements are free, they answer our own. One message may have many signatures, which is known when they have been
verified: for each beyond the first, half a token is taken afterwards, and may be owed.
"""

from __future__ import annotations

import msgspec

from thyme.live.link.addresses import Address
from thyme.model.bounded import Bounded
from thyme.model.settings.bounds import AtLeastOne, Positive

MAX_ADDRESSES = 1_000
"""Addresses with a budget of their own; beyond that, the one met first begins anew."""


class BudgetOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    messages_per_s: Positive = 5_000.0
    """What one peer may send for long if each comes by itself: less than half of what a node handles in all. Of those
    that travel together, nearly twice as many: even if each brings a signature that has to be verified (55 µs), they
    take half of a node's time."""
    burst: AtLeastOne = 2_500


FURTHER = 0.5
"""Of a token, for each message of a parcel after the first, and each signature of a message after the first."""


def parcel_cost(messages: int) -> float:
    """The tokens that a parcel of so many messages takes."""
    return 1.0 + FURTHER * max(0, messages - 1)


class _Budget(msgspec.Struct):
    tokens: float
    at_s: float


class Budgets:
    def __init__(self, options: BudgetOptions) -> None:
        self._options = options
        self._budgets: Bounded[Address, _Budget] = Bounded(MAX_ADDRESSES)

    def spend(self, address: Address, now_s: float, tokens: float = 1.0) -> bool:
        """Take tokens; False if there are not enough."""
        budget = self._at(address, now_s)
        if budget.tokens < tokens:
            return False
        budget.tokens -= tokens
        return True

    def owe(self, address: Address, now_s: float, tokens: float) -> None:
        """Take tokens for what was done already; at most as many as a burst may be owed."""
        budget = self._at(address, now_s)
        budget.tokens = max(-float(self._options.burst), budget.tokens - tokens)

    def _at(self, address: Address, now_s: float) -> _Budget:
        """What an address has by now."""
        burst = float(self._options.burst)
        budget = self._budgets.get(address)
        if budget is None:
            budget = self._budgets[address] = _Budget(burst, now_s)
        budget.tokens = min(burst, budget.tokens + (now_s - budget.at_s) * self._options.messages_per_s)
        budget.at_s = now_s
        return budget
