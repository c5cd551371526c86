"""The crowd's time: devices whose clocks disagree compare what was published when by one time all the same.

The papers take clocks to agree (Thyme FGCS §4.2). Those of people do not. So every greeting says what time its sender
goes by and for how long that time has been in use, and its answer gives back when it was asked: half of what the
exchange took is the error of the difference. Of two times the one that has been in use for longer holds: a device that
comes goes by the time of those who are there, and of two crowds that meet the younger goes by the older's. Whoever has
changed greets its peers, so that a change goes round.

Before a node has joined, its time jumps; later it jumps forward only, and to go back it runs at half its speed. A
device whose clock is far off is told, and so are those that it greets.
"""

from __future__ import annotations

from collections.abc import Callable
from secrets import randbits

import msgspec

FAR_S = 1.0
"""A clock that is off by more than this is worth a word to the user."""
NEAR_S = 0.02
"""Differences below this, and below the error of the measurement, are left alone."""
DRIFT_S = 0.25
"""Clocks of one time that have come apart by more than this are brought together again."""
SAME_AGE_S = 0.5
"""Of two times whose ages differ by less than this, the one with the higher number is the older."""
SLOW = 0.5
"""How fast time passes while it is ahead."""
LINEAGE_BITS = 64


class Reading(msgspec.Struct, frozen=True):
    """What a greeting says about time."""

    now_s: float
    age_s: float
    """For how long the time that the sender goes by has been in use."""
    lineage: int
    """Drawn by who began it."""
    correction_s: float = 0.0
    """By how much it differs from the clock of the sender's device."""
    asked_s: float = 0.0
    """The sender's own reading, for the answer to give back."""
    echo_s: float = 0.0
    """In an answer: what was `asked_s` in the question."""


class CrowdTime:
    """The time that one node goes by."""

    def __init__(self, clock: Callable[[], float], origin_s: float = 0.0, *, fixed: bool = False) -> None:
        """`clock` never goes back, and shows 0 at `origin_s`. With `fixed`, all nodes share it, and it is right."""
        self._clock = clock
        self._origin_s = origin_s
        """With the correction."""
        self._fixed = fixed
        self._correction_s = 0.0
        self._ahead_s = 0.0
        self._ahead_since_s = 0.0
        self._began_s = clock()
        self._lineage = randbits(LINEAGE_BITS)
        self.joined = False
        """Whether others rely on this node's time never going back."""

    def now(self) -> float:
        if not self._ahead_s:
            return self._clock() + self._origin_s
        return self._clock() + self._origin_s + self._ahead()

    @property
    def correction_s(self) -> float:
        """By how much the time differs from the device's clock."""
        return self._correction_s

    def reading(self, asked_s: float, echo_s: float = 0.0) -> Reading:
        return Reading(self.now(), self._clock() - self._began_s, self._lineage, self._correction_s, asked_s, echo_s)

    def is_older(self, other: Reading) -> bool:
        """Whether a time has been in use for longer than this one."""
        if self._fixed or other.lineage == self._lineage:
            return False
        difference_s = other.age_s - (self._clock() - self._began_s)
        if abs(difference_s) < SAME_AGE_S:
            return other.lineage > self._lineage
        return difference_s > 0.0

    def follow(self, other: Reading, took_s: float, *, yields: bool) -> float | None:
        """An answer came, `took_s` after the question: go by its time if that one is older, or if both are one and this
        node is the one that `yields`. By how much this node's time was surely behind; None if it goes on as before."""
        if self._fixed or took_s < 0.0:
            return None
        behind_s = other.now_s + took_s / 2.0 - self.now()
        if other.lineage == self._lineage:
            if not yields or abs(behind_s) <= DRIFT_S + took_s:
                return None
        elif not self.is_older(other):
            return None
        self._lineage = other.lineage
        self._began_s = self._clock() - other.age_s - took_s / 2.0
        if abs(behind_s) <= NEAR_S + took_s / 2.0:
            return None
        self._shift(behind_s)
        return behind_s

    def _shift(self, behind_s: float) -> None:
        ahead_s = self._ahead()
        self._correction_s += behind_s + ahead_s
        self._origin_s += behind_s + ahead_s
        self._ahead_s = max(0.0, -behind_s) if self.joined else 0.0
        self._ahead_since_s = self._clock()

    def _ahead(self) -> float:
        """How much of what this time has to go back is left."""
        return max(0.0, self._ahead_s - (self._clock() - self._ahead_since_s) * SLOW)
