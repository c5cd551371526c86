"""News of cells that have lost all their members, passed on in beacons (beyond the papers).

Nodes that told such a cell something may have to tell whoever stands in for it, and cannot notice by themselves. A
member of a cell beside it that hears its last member fall silent puts a note of a few bytes into its next beacons.
Whoever hears a note for the first time repeats it in some beacons. Each note has a number; notes about the same cell
within a short time count as one. Where nothing is lost, nothing is sent.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from thyme.host import Host
from thyme.model.bounded import Bounded
from thyme.model.ids import CellId
from thyme.routing.cells.neighbour_table import KnownNotes
from thyme.wire.routing import NOTE

BEACONS = 3
"""Beacons in which a node repeats a note: a neighbour may miss one or two."""
MOST_AT_ONCE = 16
"""LostCells in one beacon; further ones are in the next."""
SAME_NEWS_S = 8.0
"""Several neighbours start a note about the same cell; within this time they are one."""
MEMORY = 512
"""LostCells remembered, so that none goes round twice."""


class LostCells:
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
        self._known: Bounded[tuple[int, int], None] = Bounded(MEMORY, parting=lambda note, _: self.notes.forget(*note))
        self._heard_s: Bounded[int, float] = Bounded(MEMORY, renewing=True)
        self.lost: Bounded[CellId, float] = Bounded(MEMORY, renewing=True)
        """Cells that have lost their members, as far as this node knows, and when it came to know."""
        self._to_say: dict[tuple[int, int], int] = {}

    def start(self, cell: CellId) -> None:
        """This node has noticed it, and tells."""
        note = (cell, self._host.random.getrandbits(16))
        if note not in self._known:
            self._pass_on(*note)

    def heard_s(self, cell: CellId) -> float:
        """When a note of this cell was last news here."""
        return self._heard_s.get(cell, -inf)

    def say(self) -> bytes:
        """For the next beacon."""
        if not self._to_say:
            return b""
        said = list(self._to_say.items())[:MOST_AT_ONCE]
        for note, beacons in said:
            if beacons > 1:
                self._to_say[note] = beacons - 1
            else:
                del self._to_say[note]
        return b"".join([NOTE.pack(*note) for note, _ in said])

    def hear(self, said: bytes) -> None:
        """From a neighbour's beacon; what is no note is ignored."""
        known = self._known
        for note in NOTE.iter_unpack(said[: len(said) - len(said) % NOTE.size]):
            if note not in known:
                self._pass_on(*note)

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
