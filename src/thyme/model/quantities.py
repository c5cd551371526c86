"""Quantities as people write them, on a command line or in a program: 500MB, 2GB, 12h, 1h30m, 200x120."""

from __future__ import annotations

import re

from thyme.model.errors import InputError

SIZES = {"": 1.0, "b": 1.0, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12}
TIMES_S = {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0, "w": 604_800.0}
_quantity = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([a-z]*)", re.IGNORECASE)
_part_of_time = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([smhdw])", re.IGNORECASE)


def bytes_of(text: str, where: str) -> int:
    return int(_read(text, SIZES, f"{where} {text}: expected a size such as 800000, 500MB or 2GB"))


def seconds_of(text: str, where: str) -> float:
    """A length of time, which may be 0; a number alone is in seconds."""
    try:
        return float(text) if text.strip().isdecimal() else seconds_in(text)
    except InputError as error:
        raise InputError(f"{where} {error}") from error


def seconds_in(text: str) -> float:
    """A length of time with its units."""
    parts = _part_of_time.findall(text)
    if not parts or _part_of_time.sub("", text).strip():
        raise InputError(f"{text!r} is not a duration; expected for example 90s, 10m, 1h30m or 2d")
    return sum(float(number) * TIMES_S[unit.lower()] for number, unit in parts)


def metres_by_metres(text: str, where: str) -> tuple[float, float]:
    return pair_of(text, "x", where, "metres, such as 200x120")


def pair_of(text: str, separator: str, where: str, what: str) -> tuple[float, float]:
    try:
        first, second = (float(part) for part in text.split(separator))
    except ValueError as error:
        raise InputError(f"{where} {text}: expected two numbers of {what}") from error
    return first, second


def _read(text: str, units: dict[str, float], error: str) -> float:
    found = _quantity.fullmatch(text.strip())
    unit = units.get(found[2].lower()) if found else None
    if found is None or unit is None:
        raise InputError(error)
    return float(found[1]) * unit
