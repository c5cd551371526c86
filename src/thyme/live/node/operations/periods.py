"""Parts of time as people say them: the last ten minutes, from an instant on, until another (Thyme FGCS §3.3)."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from thyme.model.errors import InputError
from thyme.model.frames import TimeFrame

Instant = float | datetime
"""Seconds since 1970, or a date and time; without a time zone, this device's."""
Span = float | str | timedelta
"""Seconds, a text such as "10m" or "1h30m", or a `timedelta`."""

_UNITS_S = {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)([smhd])")


def frame_of(
    now_s: float,
    frame: TimeFrame | None = None,
    start: Instant | None = None,
    end: Instant | None = None,
    last: Span | None = None,
) -> TimeFrame:
    """The frame that was said: as such, by its ends, or as the last while up to `now_s` and from then on."""
    if frame is not None:
        if not isinstance(frame, TimeFrame):
            raise InputError(f"frame is {frame!r}; give a TimeFrame, or `start`, `end` or `last`")
        if (start, end, last) != (None, None, None):
            raise InputError("give a frame, or `start`, `end` and `last`, but not both")
        return frame
    if start is not None and last is not None:
        raise InputError("give `start` or `last`, but not both: each says when the frame begins")
    start_s = now_s - span_s(last) if last is not None else _seconds("start", start)
    return TimeFrame(start_s, _seconds("end", end))


def span_s(span: object) -> float:
    """A length of time in seconds."""
    match span:
        case timedelta():
            seconds = span.total_seconds()
        case str():
            seconds = _span_in(span)
        case float() | int() if not isinstance(span, bool):
            seconds = float(span)
        case _:
            raise InputError(f"{span!r} is not a length of time; give seconds, a timedelta, or a text such as '10m'")
    if not seconds > 0.0:
        raise InputError(f"the length of time {span!r} is not longer than nothing")
    return seconds


def _span_in(text: str) -> float:
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text.replace(" ", ""):
        raise InputError(f"{text!r} is not a length of time; expected such as 90s, 10m, 1h30m or 2d")
    return sum(float(number) * _UNITS_S[unit] for number, unit in parts)


def _seconds(name: str, instant: object) -> float | None:
    match instant:
        case None:
            return None
        case datetime():
            return instant.timestamp()
        case float() | int() if not isinstance(instant, bool):
            return float(instant)
    raise InputError(f"{name} is {instant!r}; give seconds since 1970 or a datetime")
