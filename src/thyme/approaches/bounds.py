"""Bounds of parameters: what lies outside gets an error that names the setting, its value and the bound.

What is not a number, or no finite one, lies outside of every bound.
"""

from __future__ import annotations

from math import isfinite
from typing import Annotated

import msgspec

from thyme.model.errors import InputError
from thyme.wire.codec import MAX_FRAME_BYTES

HEADER_BYTES = 10_000
"""Left in a frame for what surrounds a part of it: names, tags, a summary, the envelopes of routing."""
MAX_PART_BYTES = MAX_FRAME_BYTES - HEADER_BYTES
FrameBytes = Annotated[int, msgspec.Meta(ge=1, le=MAX_PART_BYTES)]
"""How much of something goes into one frame."""


def expect(name: str, value: float, low: float, high: float | None = None) -> None:
    """A value from `low` to `high`, or from `low` on."""
    if not (isfinite(value) and value >= low and (high is None or value <= high)):
        bound = f"a finite number, at least {low:g}" if high is None else f"{low:g} to {high:g}"
        raise InputError(f"{name} is {value:g}; expected {bound}")


def expect_positive(name: str, value: float) -> None:
    if not (isfinite(value) and value > 0.0):
        raise InputError(f"{name} is {value:g}; expected a finite number above 0")


def check_at_least(record: msgspec.Struct, where: str, least: float, *names: str) -> None:
    """Of the settings `where` + name."""
    for name in names:
        expect(where + name, getattr(record, name), least)


def check_positive(record: msgspec.Struct, where: str, *names: str) -> None:
    for name in names:
        expect_positive(where + name, getattr(record, name))


def check_longer(record: msgspec.Struct, where: str, period: str, life: str) -> None:
    """What is told every `period` has to be believed for longer than that."""
    told_s, believed_s = getattr(record, period), getattr(record, life)
    if not (isfinite(believed_s) and 0.0 < told_s < believed_s):
        raise InputError(
            f"{where}{period} is {told_s:g} and {where}{life} {believed_s:g}; "
            f"expected finite times, 0 < {period} < {life}"
        )
