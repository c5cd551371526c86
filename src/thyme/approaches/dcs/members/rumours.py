"""Rumours: that a cell has lost all its members goes round in beacons (our answer to what the papers leave undone).

Whoever told that cell something may have to tell it again, to whoever stands in for it now, and cannot know by itself.
So a member of a cell beside it that hears its last member fall silent starts a rumour, a few bytes in its next beacons.
Whoever hears it for the first time says it in some beacons too, and no more: each rumour has a number, and what was
heard of the same cell just before is the same news. Where nothing is lost, nothing is said.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from thyme.host import Host
from thyme.model.bounded import Bounded
from thyme.model.ids import CellId
from thyme.routing.cells.notes import KnownNotes
from thyme.wire.beacons import NOTE

BEACONS = 3
"""Beacons in which a node says a rumour: a neighbour may miss one or two."""
MOST_AT_ONCE = 16
"""Rumours in one beacon; further ones are in the next."""
SAME_NEWS_S = 8.0
"""Several neighbours start a rumour about the same cell; within this time they are one."""
MEMORY = 512
"""Rumours remembered, so that none goes round twice."""


class Rumours:
    """What one node has heard of cells that lost their members."""

    __slots__ = (
        "_heard",
        "_heard_s",
        "_host",
        "_known",
        "_to_say",
        "lost",
        "notes",
    )

    def __init__(self, host: Host, heard: Callable[[CellId], None]) -> None:
        self._host = host
        self._heard = heard
        self.notes = KnownNotes()
        self._known: Bounded[tuple[int, int], None] = Bounded(
            MEMORY, parting=lambda rumour, _: self.notes.forget(*rumour)
        )
        self._heard_s: Bounded[int, float] = Bounded(MEMORY, renewing=True)
        self.lost: Bounded[CellId, float] = Bounded(MEMORY, renewing=True)
        """Cells that have lost their members, as far as this node knows, and when it came to know."""
        self._to_say: dict[tuple[int, int], int] = {}

    def start(self, cell: CellId) -> None:
        """This node has noticed it, and tells."""
        rumour = (cell, self._host.random.getrandbits(16))
        if rumour not in self._known:
            self._pass_on(*rumour)

    def heard_s(self, cell: CellId) -> float:
        """When a rumour of this cell was last news here."""
        return self._heard_s.get(cell, -inf)

    def say(self) -> bytes:
        """For the next beacon."""
        if not self._to_say:
            return b""
        said = list(self._to_say.items())[:MOST_AT_ONCE]
        for rumour, beacons in said:
            if beacons > 1:
                self._to_say[rumour] = beacons - 1
            else:
                del self._to_say[rumour]
        return b"".join([NOTE.pack(*rumour) for rumour, _ in said])

    def hear(self, said: bytes) -> None:
        """From a neighbour's beacon; what is no rumour is ignored."""
        known = self._known
        for rumour in NOTE.iter_unpack(said[: len(said) - len(said) % NOTE.size]):
            if rumour not in known:
                self._pass_on(*rumour)

    def _pass_on(self, cell: int, number: int) -> None:
        self._known[cell, number] = None
        self.notes.add(cell, number)
        now_s = self._host.now()
        if now_s - self._heard_s.get(cell, -SAME_NEWS_S) < SAME_NEWS_S:
            return
        self._heard_s[cell] = now_s
        self.lost[CellId(cell)] = now_s
        self._to_say[cell, number] = BEACONS
        self._heard(CellId(cell))
