"""A fixed set of worlds, and the small worlds of what was found in others (`found/`).

What is known to break today is listed with its reason and must break: whoever mends it takes it off the list.
Everything else must hold. A search of many more worlds is `thyme fuzz` (docs/explanation/guarantees.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from thyme.approaches.registry import APPROACHES
from thyme.fuzz.judge import PROMISES
from thyme.fuzz.search import judge_seed, judge_world
from thyme.fuzz.worlds import read_world

FOUND = Path(__file__).parent / "found"
SEEDS = range(1, 13)

KNOWN_FOUND: dict[str, str] = {}
"""Small worlds that still break the promise in their name, and why."""

KNOWN: dict[tuple[str, str], str] = {}
"""Promises that some world of `SEEDS` breaks, and why."""


def found_worlds() -> Iterator[object]:
    for folder in sorted(FOUND.iterdir()):
        reason = KNOWN_FOUND.get(folder.name)
        marks = [pytest.mark.xfail(reason=reason, raises=AssertionError)] if reason else []
        yield pytest.param(folder.name, marks=marks)


@pytest.mark.parametrize("name", list(found_worlds()))
def test_what_was_found_once_is_mended(name: str) -> None:
    promise = name.split("-")[1]
    violations = judge_world(read_world(FOUND / name)).violations
    assert [one.text for one in violations if one.promise == promise] == []


@pytest.mark.parametrize("approach", APPROACHES)
def test_random_worlds_break_no_promise_but_those_listed(approach: str) -> None:
    broken: dict[str, str] = {}
    for seed in SEEDS:
        for violation in judge_seed((approach, seed)).violations:
            broken.setdefault(violation.promise, f"seed {seed} at {violation.at_s:.2f} s: {violation.text}")
    listed = {promise for name, promise in KNOWN if name == approach}
    unknown = [f"{promise}: {text}" for promise, text in broken.items() if promise not in listed]
    assert unknown == []
    mended = [promise for promise in PROMISES if promise in listed and promise not in broken]
    assert mended == [], "no world of this set breaks these any more: take them off KNOWN"


def test_every_known_world_is_there() -> None:
    assert set(KNOWN_FOUND) <= {folder.name for folder in FOUND.iterdir()}
    assert {promise for _, promise in KNOWN} <= set(PROMISES)
