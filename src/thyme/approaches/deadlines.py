"""Keys that become due at instants of their own, such as objects that expire; one timer of the host serves all."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any, Generic, TypeVar

from thyme.host import Host, Timer
from thyme.model.ids import SubscriptionKey
from thyme.model.subscriptions import Subscription

LONGEST_WAIT_S = 60.0
"""The crowd's clock may be set forward, which a timer does not notice; so time is looked at once a minute."""
EARLY_S = 1e-6
"""A timer may ring so much too early, by rounding."""
STALE = 64
"""Dropped keys for which it is not worth rebuilding the heap."""
LINGERING_S = 20.0
"""Longer than a request or a flood is repeated (1 + 2 + 4 + 8 s)."""
Key = TypeVar("Key", bound=Any)


class Deadlines(Generic[Key]):
    def __init__(self, host: Host, due: Callable[[Key], None]) -> None:
        self._host = host
        self._call = due
        self._due_s: dict[Key, float] = {}
        self._heap: list[tuple[float, Key]] = []
        self._timer: Timer | None = None
        self._rings_s = 0.0

    def __len__(self) -> int:
        return len(self._due_s)

    def __contains__(self, key: object) -> bool:
        return key in self._due_s

    def set(self, key: Key, due_s: float) -> None:
        self._due_s[key] = due_s
        heappush(self._heap, (due_s, key))
        self._set_timer()

    def drop(self, key: Key) -> None:
        if self._due_s.pop(key, None) is not None and len(self._heap) > 2 * len(self._due_s) + STALE:
            self._heap = sorted((due_s, key) for key, due_s in self._due_s.items())

    def _set_timer(self) -> None:
        now_s = self._host.now()
        wait_s = min(max(0.0, self._heap[0][0] - now_s), LONGEST_WAIT_S)
        if self._timer is not None and self._rings_s <= now_s + wait_s:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._rings_s = now_s + wait_s
        self._timer = self._host.after(wait_s, self._ring)

    def _ring(self) -> None:
        self._timer = None
        while self._heap and self._heap[0][0] <= self._host.now() + EARLY_S:
            due_s, key = heappop(self._heap)
            if self._due_s.get(key) == due_s:
                del self._due_s[key]
                self._call(key)
        if self._heap:
            self._set_timer()


class Ends:
    """The ends of others' subscriptions: each is forgotten a while after its time frame has ended (Thyme FGCS §3.3).

    The while is for what is on its way: objects published within the frame, and repetitions of the subscription itself.
    One whose frame has ended when it comes, a search of the past, counts from its coming."""

    def __init__(self, host: Host, forget: Callable[[SubscriptionKey], None], lingering_s: float) -> None:
        self._host = host
        self._lingering_s = lingering_s
        self._deadlines: Deadlines[SubscriptionKey] = Deadlines(host, forget)
        self.unwatch = self._deadlines.drop
        """It was revoked."""

    def watch(self, subscription: Subscription) -> None:
        end_s = subscription.frame.end_s
        if end_s is not None:
            self._deadlines.set(subscription.key, max(end_s, self._host.now()) + self._lingering_s)
