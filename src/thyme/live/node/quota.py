"""The quota of a node: which contents are removed when its store is full, and which are too old to keep.

The approach ranks what it could do without (`approaches.eviction`): first drafts that nobody waits for, then passive
replicas, then copies kept for other nodes that have them as well, then contents that came with notifications; within a
rank the oldest first. Objects that this node's user inserted are never removed, and the only known copy of an object is
not removed to make room. Each removal is logged, and the user is notified at most once a minute. Contents in use stay.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from math import inf

from thyme.approaches.eviction import Evictable, Rank, in_order
from thyme.approaches.interface import ReactiveStore
from thyme.live.node.host import LiveHost
from thyme.live.store.room import DiskOptions, Room
from thyme.model.bounded import Bounded
from thyme.model.ids import ObjectKey
from thyme.model.records import Counted, TrafficKind

logger = logging.getLogger("thyme.live")

MAX_AUTHORS = 1_000
TELL_S = 60.0
"""Between two words to the user about what had to go."""
FRUITLESS_S = 1.0
"""After nothing was found that could go, it is looked for again not before this."""
LOOKS_PER_AGE = 10
LONGEST_LOOK_S = 60.0
"""Interval of the search for contents that are too old: a tenth of the maximum age, at least every minute."""
WORDS = {
    Rank.DRAFT: "half-retrieved",
    Rank.REPLICA: "retrieved",
    Rank.FOR_OTHERS: "kept for others",
    Rank.DELIVERED: "that came with notifications",
    Rank.SOLE: "kept for others, and perhaps nowhere else",
}


class Quota:
    def __init__(
        self,
        options: DiskOptions,
        room: Room,
        host: LiveHost,
        approach: ReactiveStore,
        in_use: Callable[[ObjectKey], bool],
    ) -> None:
        self._options = options
        self._room = room
        self._host = host
        self._approach = approach
        self._in_use = in_use
        self._loop = asyncio.get_running_loop()
        self._fruitless_s = self._told_s = self._warned_s = -inf
        self._refused_s: Bounded[str, float] = Bounded(MAX_AUTHORS)
        self._gone: Counter[tuple[str, Rank]] = Counter()
        self._gone_bytes = 0

    def begin(self) -> None:
        self._room.crowded = self._make_room_in_time
        self._room.over_share = self._make_room_of
        if self._options.most_age_s:
            self._look()

    def make_room(self, size_bytes: int = 0) -> None:
        """Remove contents in order of rank until there is this much room, or nothing more may be removed."""
        lacking = self._room.lacking_bytes(size_bytes)
        if lacking <= 0:
            return
        for candidate in in_order(self._evictable()):
            if lacking <= 0:
                break
            if candidate.rank is not Rank.SOLE:
                self._let_go(candidate, "made room")
                lacking -= candidate.size_bytes
        if lacking > 0:
            self._fruitless_s = self._loop.time()
        self._tell()

    def _make_room_of(self, author: str, size_bytes: int, since_s: float | None) -> None:
        """A node has nearly used its share: its oldest contents that may go make room for its new ones, and never newer
        ones for an older one."""
        now_s = self._loop.time()
        if now_s < self._refused_s.get(author, -inf) + FRUITLESS_S:
            return
        aim_bytes = int(self._room.share_bytes * (1.0 - 2.0 * self._options.headroom))
        lacking = self._room.held_of[author] + size_bytes - aim_bytes
        theirs = [one for one in self._evictable() if str(one.key.owner) == author and one.rank is not Rank.SOLE]
        older = [one for one in theirs if since_s is None or one.since_s is None or one.since_s <= since_s]
        for candidate in in_order(older):
            if lacking > 0:
                self._let_go(candidate, "its author's share is used")
                lacking -= candidate.size_bytes
        if len(older) == len(theirs) and self._room.held_of[author] + size_bytes > self._room.share_bytes:
            self._refuse(author, now_s)
        self._tell()

    def _refuse(self, author: str, now_s: float) -> None:
        self._refused_s[author] = now_s
        if now_s >= self._warned_s + TELL_S:
            self._warned_s = now_s
            logger.warning(
                "node %d refuses new objects of node %s, which has used its share of the store, %d bytes",
                self._host.node,
                author,
                self._room.share_bytes,
            )

    def _make_room_in_time(self, size_bytes: int) -> None:
        if self._loop.time() >= self._fruitless_s + FRUITLESS_S:
            self.make_room(size_bytes)

    def _look(self) -> None:
        """Remove contents that are too old."""
        before_s = self._host.now() - self._options.most_age_s
        for candidate in in_order(self._evictable()):
            if candidate.since_s is not None and candidate.since_s < before_s:
                self._let_go(candidate, "too old")
        self._tell()
        self._host.after(min(self._options.most_age_s / LOOKS_PER_AGE, LONGEST_LOOK_S), self._look)

    def _evictable(self) -> list[Evictable]:
        return [candidate for candidate in self._approach.evictable() if not self._in_use(candidate.key)]

    def _let_go(self, candidate: Evictable, reason: str) -> None:
        candidate.drop()
        self._host.record(Counted(TrafficKind.DROPPED, "content", size_bytes=candidate.size_bytes, reason=reason))
        self._gone[(reason, candidate.rank)] += 1
        self._gone_bytes += candidate.size_bytes

    def _tell(self) -> None:
        if not self._gone or self._loop.time() < self._told_s + TELL_S:
            return
        self._told_s = self._loop.time()
        gone = ", ".join(f"{count} {WORDS[rank]} ({reason})" for (reason, rank), count in self._gone.items())
        logger.warning(
            "node %d removed contents of %d bytes: %s; its own objects stay", self._host.node, self._gone_bytes, gone
        )
        self._gone.clear()
        self._gone_bytes = 0
