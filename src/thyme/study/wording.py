"""How numbers read: shares, spans of time, sizes and counts, in the same words in every report, table and terminal.

What could not be measured (NaN) reads as a dash.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan
from typing import Any

NOTHING = "–"
KILOBYTE, MEGABYTE = 1_000.0, 1_000_000.0


def share(value: float) -> str:
    """A percentage, in which only all is 100 %."""
    if isnan(value):
        return NOTHING
    text = f"{value:.1%}"
    return "100%" if value == 1.0 else ">99.9%" if text == "100.0%" else text


def round_share(value: float) -> str:
    """A percentage that is a whole number, such as a configured limit."""
    return f"{value:.0%}"


def duration(seconds: float) -> str:
    if isnan(seconds):
        return NOTHING
    if seconds < 1.0:
        return f"{seconds * 1_000:.0f} ms" if seconds >= 0.01 or seconds == 0.0 else f"{seconds * 1_000:.1f} ms"
    if seconds < 120.0:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def size(size_bytes: float) -> str:
    if size_bytes < MEGABYTE:
        return f"{size_bytes / KILOBYTE:.0f} kB"
    return f"{size_bytes / MEGABYTE:,.0f} MB" if size_bytes >= 100 * MEGABYTE else f"{size_bytes / MEGABYTE:.1f} MB"


def span(low: str, high: str) -> str:
    """From one to the other, or just the one if they read the same."""
    return low if low == high else f"{low} to {high}"


def counted(number: int, one: str, several: str = "") -> str:
    """`1 run`, `2 runs`."""
    return f"{number} {one if number == 1 else several or one + 's'}"


def listed(names: Sequence[str], last: str) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " ".join([", ".join(names[:-1]), last, names[-1]]) if len(names) > 1 else "".join(names)


def proportion(low: float, high: float, equal: float) -> str:
    """Compares two quantities in words, from the lowest and the highest ratio between them."""
    if 1.0 - equal <= low and high <= 1.0 + equal:
        return "about as much"
    if high <= 1.0:
        less = span(round_share(1.0 - high), round_share(1.0 - low))
        return f"{less} less"
    if high < 2.0 and low >= 1.0:
        return f"{span(round_share(low - 1.0), round_share(high - 1.0))} more"
    if low < 1.0:
        most = f"{round_share(high - 1.0)} more" if high < 2.0 else f"{high:.2g} times as much"
        return f"from {round_share(1.0 - low)} less to {most}"
    return f"{span(f'{low:.2g}', f'{high:.2g}')} times as much"


PLACES: Mapping[str, str] = {
    "nodes": "{:g} people",
    "speed_mps": "{:g} m/s",
    "failing": "{:.0%} of devices failing",
    "churn.fraction": "{:.0%} coming and going",
    "radio.loss": "{:.0%} of frames lost",
    "density": "{:g} people on 40 m × 40 m",
    "walking": "{:.0%} walking",
    "switching": "{:.0%} switching off and on",
    "questions": "{:g} questions per person and hour",
}
"""How a value of a grid key reads."""

AXES: Mapping[str, str] = {
    "nodes": "people",
    "speed_mps": "walking speed, m/s",
    "failing": "share of devices that fail",
    "churn.fraction": "share of people who come and go",
    "radio.loss": "share of frames lost",
    "density": "people on 40 m × 40 m",
    "walking": "share of people who walk",
    "switching": "share of devices switched off and on",
    "questions": "questions per person and hour",
}
"""Label of a grid key, for an axis or a column."""


def axis_title(key: str) -> str:
    return AXES.get(key) or key.replace("_", " ").replace(".", " · ")


def axis_tick(key: str, value: float) -> str:
    """A value on the axis of a key: shares as percentages."""
    return f"{100 * value:g}%" if axis_title(key).startswith("share ") else f"{value:g}"


def place(values: Mapping[str, Any]) -> str:
    """A place of a grid for a person: `36 people, 20% of frames lost`."""
    parts = []
    for key, value in values.items():
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        shown = PLACES[key].format(value) if key in PLACES and is_number else f"{key.replace('_', ' ')} {value}"
        parts.append(shown)
    return ", ".join(parts) or "this crowd"
