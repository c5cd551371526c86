"""Worlds come from their approach and seed alone, small worlds still break what they were shrunk for, and files hold
them whole."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from commands import thyme

from thyme.approaches.registry import APPROACHES
from thyme.cli.fuzz import search_worlds
from thyme.fuzz.case import Violation
from thyme.fuzz.search import Verdict, judge_seed, judge_world, table_of
from thyme.fuzz.shrink import consistent, shrink
from thyme.fuzz.worlds import World, draw_world, read_world, write_world
from thyme.model.records import OperationKind
from thyme.sim.traces import check_operations


@pytest.mark.parametrize("approach", APPROACHES)
def test_a_world_depends_on_its_approach_and_seed_alone(approach: str) -> None:
    assert draw_world(approach, 7) == draw_world(approach, 7)
    assert draw_world(approach, 7) != draw_world(approach, 8)
    assert judge_seed((approach, 7)) == judge_seed((approach, 7))


def test_worlds_are_valid_and_hold_every_trouble_and_operation() -> None:
    kinds: set[OperationKind] = set()
    troubles: set[str] = set()
    for approach in APPROACHES:
        for seed in range(1, 60):
            world = draw_world(approach, seed)
            scenario = world.scenario()
            check_operations(world.operations, "drawn")
            kinds |= {operation.kind for operation in world.operations}
            troubles |= {rule.kind for rule in scenario.faults}
            troubles |= {key for key in ("churn", "movement", "clock_skew_s", "disk") if key in world.given}
            troubles |= {key for key, value in world.given["radio"].items() if value and key != "model"}
            changes = world.given.get("churn", {}).get("changes", [])
            troubles |= {"crash" for change in changes if not change["on"] and not change["keeps_store"]}
    traced = {OperationKind.INSERT, OperationKind.DELETE, OperationKind.SUBSCRIBE, OperationKind.UNSUBSCRIBE}
    assert kinds == traced
    faults = {"loss", "delay", "partition", "jam"}
    assert troubles == faults | {"churn", "movement", "clock_skew_s", "disk", "queue_frames", "crash"}


def test_worlds_of_ls_have_the_notifications_of_live_nodes_or_of_the_paper() -> None:
    assert {draw_world("ls", seed).given["settings"]["telling"]["sure"] for seed in range(1, 9)} == {True, False}


@pytest.mark.parametrize("seed", range(1, 6))
def test_a_world_is_the_same_after_it_was_written_and_read(seed: int, tmp_path: Path) -> None:
    world = draw_world("dcs", seed)
    write_world(world, tmp_path)
    read = read_world(tmp_path)
    assert read.scenario() == world.scenario()
    assert read.operations == world.operations


def test_shrinking_leaves_what_it_takes_and_no_more() -> None:
    def breaks(world: World) -> bool:
        inserts = [one for one in world.operations if one.kind is OperationKind.INSERT]
        return any("b" in one.tags for one in inserts) and "churn" in world.given

    world = next(world for world in (draw_world("dcs", seed) for seed in range(1, 99)) if breaks(world))
    small = shrink(world, breaks, 400)
    assert breaks(small)
    assert len(small.operations) == 1
    assert small.given["nodes"] <= 2, "one who inserts and one who is switched"
    assert "movement" not in small.given
    assert "faults" not in small.given
    assert small.given["churn"]["changes"]


def test_a_trace_stays_valid_when_operations_are_left_out() -> None:
    world = draw_world("dcs", 3)
    for first in range(len(world.operations)):
        check_operations(consistent(world.operations[first:]), "shrunk")


def test_the_table_counts_worlds_by_promise() -> None:
    verdicts = [judge_world(draw_world("socialcast", seed)) for seed in (1, 2)]
    (row,) = table_of(verdicts)
    assert (row["approach"], row["worlds"]) == ("socialcast", 2)
    assert row["operations"] == sum(verdict.operations for verdict in verdicts)
    assert row["broken"] == sum(bool(verdict.violations) for verdict in verdicts)


def test_a_written_world_is_played_by_simulate_and_judged_again(tmp_path: Path) -> None:
    world = draw_world("ls", 4)
    write_world(world, tmp_path / "world")
    played = thyme("simulate", "world/scenario.toml", "--out", "run", folder=tmp_path)
    assert played.returncode == 0, played.stderr
    verdict = judge_world(world)
    judged = thyme("fuzz", "--world", "world", folder=tmp_path)
    assert judged.returncode == (1 if verdict.violations else 0)
    assert f"{len(verdict.violations)} violations" in judged.stdout


def test_a_search_tells_of_a_broken_world_when_it_is_found_and_how_far_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = Verdict("dcs", 3, 5, 2, (Violation("once", 4.0, "told again"),))
    told: list[str] = []

    def worlds(*_: object) -> Iterator[Verdict]:
        yield broken
        told.append(capsys.readouterr().err)
        yield from [Verdict("dcs", 4, 5, 2, ())] * 49

    monkeypatch.setattr("thyme.fuzz.search.search", worlds)
    assert len(search_worlds(["dcs"], range(50), 1, quiet=False)) == 50
    assert told[0].splitlines() == ["dcs 3 breaks once: told again"]
    assert "50 of 50 worlds run, 1 broken" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--seeds", "many"], "--seeds many: expected a number, or a range such as 200-300"),
        (["--seeds", "9-3"], "--seeds 9-3: expected 1 to 100000 worlds, the lower number first"),
        (["--approach", "magic"], "--approach: there is no approach 'magic'"),
        (["--world", "absent"], "absent/scenario.toml: there is no such file"),
    ],
)
def test_mistakes_are_told_in_one_line(arguments: list[str], said: str, tmp_path: Path) -> None:
    answer = thyme("fuzz", *arguments, folder=tmp_path)
    assert answer.returncode == 2
    assert said in answer.stderr
    assert len(answer.stderr.strip().splitlines()) == 1
