"""The ends of others' subscriptions: each is forgotten a while after its time frame has ended (Thyme FGCS §3.3).

The while is for what is on its way: objects published within the frame, and repetitions of the subscription itself. One
whose frame has ended when it comes, a search of the past, counts from its coming. One timer serves all.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush

from thyme.host import Host, Timer
from thyme.model.ids import SubscriptionKey
from thyme.model.subscriptions import Subscription

LINGERING_S = 20.0
"""Longer than a request or a flood is repeated (1 + 2 + 4 + 8 s)."""

_STALE = 64
"""Ends of revoked subscriptions for which it is not worth rebuilding the heap."""


class Ends:
    """Subscriptions in the order of their end."""

    def __init__(self, host: Host, forget: Callable[[SubscriptionKey], None], lingering_s: float) -> None:
        self._host = host
        self._forget = forget
        self._lingering_s = lingering_s
        self._ends_s: dict[SubscriptionKey, float] = {}
        self._due: list[tuple[float, SubscriptionKey]] = []
        self._timer: Timer | None = None
        self._rings_s = 0.0

    def watch(self, subscription: Subscription) -> None:
        end_s = subscription.frame.end_s
        if end_s is not None:
            due_s = max(end_s, self._host.now()) + self._lingering_s
            self._ends_s[subscription.key] = due_s
            heappush(self._due, (due_s, subscription.key))
            self._set_timer()

    def unwatch(self, key: SubscriptionKey) -> None:
        """It was revoked."""
        if self._ends_s.pop(key, None) is not None and len(self._due) > 2 * len(self._ends_s) + _STALE:
            self._due = sorted((due_s, key) for key, due_s in self._ends_s.items())

    def _set_timer(self) -> None:
        due_s = self._due[0][0]
        if self._timer is not None and self._rings_s <= due_s:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._rings_s = due_s
        self._timer = self._host.after(max(0.0, due_s - self._host.now()), self._ring)

    def _ring(self) -> None:
        self._timer = None
        while self._due and self._due[0][0] <= self._host.now():
            due_s, key = heappop(self._due)
            if self._ends_s.get(key) == due_s:
                del self._ends_s[key]
                self._forget(key)
        if self._due:
            self._set_timer()
