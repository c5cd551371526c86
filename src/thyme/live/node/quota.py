"""The quota of a node: whose contents go when its store is as large as it may be, and what is too old to be kept.

The approach says what it could do without (`approaches.spares`), in ranks: first drafts that nobody waits for, then
passive replicas, then what is kept for others who have it as well, then what came with notifications; within a rank the
oldest first. What this node's user inserted never goes, nor does to make room what nobody else may have. Each that goes
is in the log, and the user is told, not more than once a minute. What is in use just now stays.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from math import inf

from thyme.approaches.interface import ReactiveStore
from thyme.approaches.spares import Rank, Spare, in_order
from thyme.live.node.host import LiveHost
from thyme.live.store.options import DiskOptions
from thyme.live.store.room import Room
from thyme.model.ids import ObjectKey
from thyme.model.records import Counted, TrafficKind

logger = logging.getLogger("thyme.live")

TELL_S = 60.0
"""Between two words to the user about what had to go."""
FRUITLESS_S = 1.0
"""After nothing was found that could go, it is looked for again not before this."""
LOOKS_PER_AGE = 10
LONGEST_LOOK_S = 60.0
"""How often is looked for what is too old: ten times in the age that is allowed, and every minute."""
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
        self._fruitless_s = self._told_s = -inf
        self._gone: Counter[tuple[str, Rank]] = Counter()
        self._gone_bytes = 0

    def begin(self) -> None:
        self._room.crowded = self._make_room_in_time
        if self._options.most_age_s:
            self._look()

    def make_room(self, size_bytes: int = 0) -> None:
        """Let go of what may go, until there is room for so much more, or nothing may go any more."""
        lacking = self._room.lacking_bytes(size_bytes)
        if lacking <= 0:
            return
        for spare in in_order(self._spares()):
            if lacking <= 0:
                break
            if spare.rank is not Rank.SOLE:
                self._let_go(spare, "made room")
                lacking -= spare.size_bytes
        if lacking > 0:
            self._fruitless_s = self._loop.time()
        self._tell()

    def _make_room_in_time(self, size_bytes: int) -> None:
        if self._loop.time() >= self._fruitless_s + FRUITLESS_S:
            self.make_room(size_bytes)

    def _look(self) -> None:
        """What is too old goes."""
        before_s = self._host.now() - self._options.most_age_s
        for spare in in_order(self._spares()):
            if spare.since_s is not None and spare.since_s < before_s:
                self._let_go(spare, "too old")
        self._tell()
        self._host.after(min(self._options.most_age_s / LOOKS_PER_AGE, LONGEST_LOOK_S), self._look)

    def _spares(self) -> list[Spare]:
        return [spare for spare in self._approach.spares() if not self._in_use(spare.key)]

    def _let_go(self, spare: Spare, reason: str) -> None:
        spare.drop()
        self._host.record(Counted(TrafficKind.DROPPED, "content", size_bytes=spare.size_bytes, reason=reason))
        self._gone[(reason, spare.rank)] += 1
        self._gone_bytes += spare.size_bytes

    def _tell(self) -> None:
        if not self._gone or self._loop.time() < self._told_s + TELL_S:
            return
        self._told_s = self._loop.time()
        gone = ", ".join(f"{count} {WORDS[rank]} ({reason})" for (reason, rank), count in self._gone.items())
        logger.warning(
            "node %d let go of contents of %d bytes: %s; its own stay", self._host.node, self._gone_bytes, gone
        )
        self._gone.clear()
        self._gone_bytes = 0
