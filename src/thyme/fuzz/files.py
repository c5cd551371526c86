"""Worlds as files: a folder with `scenario.toml` and `trace.csv`, which `thyme simulate` plays as they are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from thyme.fuzz.case import Violation
from thyme.fuzz.worlds import World
from thyme.model.settings import read_toml
from thyme.model.settings.writing import toml_value
from thyme.sim.traces import read_trace, write_csv

SCENARIO, TRACE = "scenario.toml", "trace.csv"
MAX_VIOLATIONS_TOLD = 8


def write_world(world: World, folder: Path, violations: Sequence[Violation] = ()) -> Path:
    """The folder's scenario; the finding is in its header."""
    folder.mkdir(parents=True, exist_ok=True)
    told = [f"# {one.promise} at {one.at_s:.2f} s: {one.text}" for one in violations[:MAX_VIOLATIONS_TOLD]]
    if len(violations) > MAX_VIOLATIONS_TOLD:
        told.append(f"# and {len(violations) - MAX_VIOLATIONS_TOLD} more")
    write_csv(world.operations, folder / TRACE)
    lines = [*told, *_toml({**world.given, "trace": TRACE})]
    (folder / SCENARIO).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder / SCENARIO


def read_world(folder: Path) -> World:
    given, _ = read_toml(folder / SCENARIO)
    trace = given.pop("trace", TRACE)
    return World(given, tuple(read_trace(folder / trace)))


def _toml(table: dict[str, Any], path: str = "") -> list[str]:
    """A table as TOML: its values first, then its sections."""
    lines = [f"{key} = {_value(value)}" for key, value in table.items() if not isinstance(value, dict)]
    for key, value in table.items():
        if isinstance(value, dict) and value:
            below = f"{path}{key}"
            section = _toml(value, f"{below}.")
            has_values = any(not isinstance(one, dict) for one in value.values())
            lines += ["", f"[{below}]"] * has_values + section
    return lines


def _value(value: Any) -> str:
    """A list of tables has a line for each."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "[\n" + "".join(f"    {toml_value(one)},\n" for one in value) + "]"
    return toml_value(value)
