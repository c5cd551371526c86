"""An insertion by a member of the cell that keeps it: acknowledged when another member, if there is one, has it."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest
from cell_world import CellWorld

from thyme.approaches.interface import Done, Outcome
from thyme.sim.faults import Rule

SURE = {"confirmed": True}


def inserting(folder: Path, members: int, settings: dict[str, Any] = SURE) -> tuple[CellWorld, str]:
    """One cell with so many members, and a tag of it."""
    world = CellWorld(folder, [(0, 0)] * members, settings)
    return world, world.tag_of(0, 0)


@pytest.mark.parametrize(("settings", "answered"), [(SURE, []), ({}, [True])])
def test_nobody_is_told_that_it_is_kept_before_another_member_has_it(
    tmp_path: Path, settings: dict[str, Any], answered: list[bool]
) -> None:
    world, tag = inserting(tmp_path, 2, settings)
    world.run.world.rules = (Rule("loss", message="CellPacket", to_s=61.5),)
    world.insert(0, "photo", tag, wait_s=1.4)
    assert world.holders("photo") == [0]
    assert [outcome.ok for outcome in world.outcomes] == answered
    world.wait(10.0)
    assert (world.holders("photo"), world.keepers("photo")) == ([0, 1], [0, 1])
    assert [outcome.ok for outcome in world.outcomes] == [True]


@pytest.mark.parametrize("members", [1, 2, 3, 7])
def test_it_is_acknowledged_once_and_held_by_all_however_many_there_are(tmp_path: Path, members: int) -> None:
    world, tag = inserting(tmp_path, members)
    for i in range(5):
        world.insert(0, f"o{i}", tag, wait_s=0.0)
    world.wait(1.0)
    assert [outcome.ok for outcome in world.outcomes] == [True] * 5
    world.wait(20.0)
    for i in range(5):
        assert world.holders(f"o{i}") == world.keepers(f"o{i}") == list(range(members))


def test_a_member_that_is_left_alone_waits_for_nobody(tmp_path: Path) -> None:
    world, tag = inserting(tmp_path, 2)
    world.switch_off(1)
    world.insert(0, "photo", tag, wait_s=30.0)
    assert [outcome.ok for outcome in world.outcomes] == [True]


def noting(name: str, acknowledged: list[str]) -> Done:
    def done(outcome: Outcome) -> None:
        if outcome.ok:
            acknowledged.append(name)

    return done


@pytest.mark.parametrize("seed", range(6))
def test_whatever_was_acknowledged_outlives_its_publisher(tmp_path: Path, seed: int) -> None:
    """The publisher goes off for good at a random instant, on a radio that loses every fifth frame."""
    chance = Random(seed)
    members = chance.choice([2, 3, 4])
    world, tag = inserting(tmp_path, members, {**SURE, "past_matches": 500})
    world.run.world.rules = (Rule("loss", probability=0.2),)
    acknowledged: list[str] = []
    for i in range(40):
        world.node(0).insert(f"o{i}", b"x", (tag,), b"", noting(f"o{i}", acknowledged))
        world.wait(chance.choice([0.0, 0.001, 0.02]))
    world.wait(chance.random() * 0.2)
    kept = list(acknowledged)
    world.switch_off(0, keeps_store=False)
    assert kept, "or nothing was tried"
    for name in kept:
        assert world.holders(name), f"{name} was acknowledged, and is gone"
        assert world.keepers(name)
