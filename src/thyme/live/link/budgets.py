"""Budgets: rate limits per address (token buckets).

A datagram takes one token, and half a token for every message in it but the first: those need no seal, no mark and no
turn of their own, which is more than half of the cost of a message. Without enough tokens a datagram is dropped before
it is decoded, at a tenth of the cost. The sender of a dropped unicast retransmits it and halves its window, so an eager
peer slows down and a hostile one is cut to its rate. Acknowledgements are free. The number of signatures in a message
is known after verification: each beyond the first takes half a token then, and the balance may become negative.
"""

from __future__ import annotations

import msgspec

from thyme.live.link.addresses import Address
from thyme.model.bounded import Bounded
from thyme.model.settings.bounds import AtLeastOne, Positive

MAX_ADDRESSES = 4_096
"""Addresses with a budget of their own; beyond that, the one met first begins anew."""


class BudgetOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    messages_per_s: Positive = 5_000.0
    """Sustained rate of one address if each message comes by itself: less than half of what a node handles. Several
    messages in a datagram may be nearly twice as many: even with a signature each (55 µs), they take half of a node's
    time."""
    burst: AtLeastOne = 2_500


FURTHER = 0.5
"""Of a token, for each message of a parcel after the first, and each signature of a message after the first."""


def parcel_cost(messages: int) -> float:
    """Tokens for a parcel of so many messages."""
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
        """Take tokens afterwards; the balance is at least minus one burst."""
        budget = self._at(address, now_s)
        budget.tokens = max(-float(self._options.burst), budget.tokens - tokens)

    def _at(self, address: Address, now_s: float) -> _Budget:
        """The tokens of an address at this time."""
        burst = float(self._options.burst)
        budget = self._budgets.get(address)
        if budget is None:
            budget = self._budgets[address] = _Budget(burst, now_s)
        budget.tokens = min(burst, budget.tokens + (now_s - budget.at_s) * self._options.messages_per_s)
        budget.at_s = now_s
        return budget
