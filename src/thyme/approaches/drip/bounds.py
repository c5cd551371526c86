"""Bounds of parameters: what lies outside gets an error that names the setting, its value and the bound."""

from __future__ import annotations

from math import isfinite

import msgspec

from thyme.model.errors import InputError


def check_at_least(record: msgspec.Struct, where: str, least: float, *names: str) -> None:
    """Of the settings `where` + name; what is not a number, or no finite one, is refused too."""
    for name in names:
        value = getattr(record, name)
        if not (isfinite(value) and value >= least):
            raise InputError(f"{where}{name} is {value:g}; expected a finite number, at least {least:g}")


def check_positive(record: msgspec.Struct, where: str, *names: str) -> None:
    for name in names:
        value = getattr(record, name)
        if not (isfinite(value) and value > 0.0):
            raise InputError(f"{where}{name} is {value:g}; expected a finite, positive number")


def check_longer(record: msgspec.Struct, where: str, period: str, life: str) -> None:
    """What is told every `period` has to be believed for longer than that."""
    told_s, believed_s = getattr(record, period), getattr(record, life)
    if not (isfinite(believed_s) and 0.0 < told_s < believed_s):
        raise InputError(
            f"{where}{period} is {told_s:g} and {where}{life} {believed_s:g}; "
            f"expected finite times, 0 < {period} < {life}"
        )
