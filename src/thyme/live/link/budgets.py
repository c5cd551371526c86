"""Budgets: how much of this node's time one address may take.

Each address has tokens that come back at a steady rate, one for each message in a datagram, or for the datagram;
without enough of them a datagram is dropped before it is read, which costs a tenth of handling it. A unicast that was
dropped so is repeated by its sender, whose window halves: an eager peer slows down, a hostile one is cut to its rate.
Acknowledgements are free, they answer our own.
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
    """What one peer may send for long: about half of what a node handles in all."""
    burst: AtLeastOne = 2_500


class _Budget(msgspec.Struct):
    tokens: float
    at_s: float


class Budgets:
    def __init__(self, options: BudgetOptions) -> None:
        self._options = options
        self._budgets: Bounded[Address, _Budget] = Bounded(MAX_ADDRESSES)

    def spend(self, address: Address, now_s: float, tokens: int = 1) -> bool:
        """Take tokens; False if there are not enough."""
        burst = float(self._options.burst)
        budget = self._budgets.get(address)
        if budget is None:
            budget = self._budgets[address] = _Budget(burst, now_s)
        budget.tokens = min(burst, budget.tokens + (now_s - budget.at_s) * self._options.messages_per_s)
        budget.at_s = now_s
        if budget.tokens < tokens:
            return False
        budget.tokens -= tokens
        return True
