"""Time frames: when a subscription is interested in publications (Thyme FGCS §3.3).

A frame is half-open, [start, end), and either side may be open (⊥, here None): before everything, after
everything. Issued at t, [⊥, t) is the past, [t, ⊥) the future "after or concurrent with the subscription",
and [⊥, ⊥) both. Whether an object lies in a frame depends on its publication time alone, never on when it was
stored or found.
"""

from __future__ import annotations

from math import isfinite

import msgspec

from thyme.model.errors import InputError


class TimeFrame(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """[start_s, end_s), where None is ⊥; start = end is legal and holds no instant."""

    start_s: float | None = None
    end_s: float | None = None

    def __post_init__(self) -> None:
        start_s, end_s = self.start_s, self.end_s
        if start_s is not None and not isfinite(start_s):
            raise InputError(f"a time frame cannot start at {start_s}: give a number of seconds, or leave it open")
        if end_s is not None:
            if not isfinite(end_s):
                raise InputError(f"a time frame cannot end at {end_s}: give a number of seconds, or leave it open")
            if start_s is not None and end_s < start_s:
                raise InputError(f"the time frame ends at {end_s} s, before it starts at {start_s} s")

    @classmethod
    def always(cls) -> TimeFrame:
        return cls()

    @classmethod
    def past(cls, now_s: float) -> TimeFrame:
        return cls(None, now_s)

    @classmethod
    def future(cls, now_s: float) -> TimeFrame:
        return cls(now_s, None)

    def contains(self, at_s: float) -> bool:
        start_s, end_s = self.start_s, self.end_s
        return (start_s is None or start_s <= at_s) and (end_s is None or at_s < end_s)

    def ended(self, now_s: float) -> bool:
        """Whether the frame has ended."""
        return self.end_s is not None and self.end_s <= now_s

    def intersection(self, other: TimeFrame) -> TimeFrame | None:
        """The instants of both; None if there are none."""
        start_s, end_s = self.start_s, self.end_s
        if start_s is None or (other.start_s is not None and other.start_s > start_s):
            start_s = other.start_s
        if end_s is None or (other.end_s is not None and other.end_s < end_s):
            end_s = other.end_s
        if start_s is not None and end_s is not None and end_s <= start_s:
            return None
        return TimeFrame(start_s, end_s)

    def split(self, at_s: float) -> tuple[TimeFrame | None, TimeFrame | None]:
        """The part before the instant and the part from it on; None for a part without instants."""
        return self.intersection(TimeFrame(None, at_s)), self.intersection(TimeFrame(at_s, None))
