"""Whole live nodes on a virtual clock: a fixed set of histories, those in which something was found (`histories/`), and
that a history is the same every time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from thyme.fuzz.live.faults import (
    AnyFault,
    BadDisk,
    Intrude,
    Kill,
    Leave,
    Move,
    Partition,
    Pause,
    SetClock,
    Slow,
    Storm,
    Suspend,
    Unplug,
    Walk,
)
from thyme.fuzz.live.histories import History, Insert, Start, Step, Subscribe, draw_history, history_text, read_history
from thyme.fuzz.live.machines import Weather
from thyme.fuzz.live.search import judge_history

LS_SEEDS = range(1, 21)
DCS_SEEDS = range(1, 16)
FOUND = sorted((Path(__file__).parent / "histories").iterdir())


@pytest.mark.parametrize("seed", LS_SEEDS)
def test_ls_keeps_its_promises(seed: int) -> None:
    assert judge_history(draw_history("ls", seed)).broken == []


@pytest.mark.parametrize("seed", DCS_SEEDS)
def test_dcs_keeps_its_promises(seed: int) -> None:
    assert judge_history(draw_history("dcs", seed)).broken == []


@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.stem)
def test_what_was_found_once_is_mended(path: Path) -> None:
    assert judge_history(read_history(path)).broken == []


def test_the_same_seed_gives_the_same_history(tmp_path: Path) -> None:
    path = tmp_path / "history.json"
    path.write_text(history_text(draw_history("dcs", 3)))
    one, again = judge_history(draw_history("dcs", 3)), judge_history(read_history(path))
    assert one.timeline == again.timeline
    assert one.notices > 0


def history(approach: str, *faults: AnyFault, **crowd: Any) -> History:
    """Four nodes, a subscription of each before the faults, and objects of each during and after them."""
    steps: list[Step] = [Start(0.5 * node, node) for node in range(4)]
    steps += [Subscribe(10.0, node, 0) for node in range(4)]
    for at_s in range(15, 59, 4):
        steps += [Insert(float(at_s), node, f"o{at_s}", ("a",), 20) for node in range(4)]
    ordered = tuple(sorted((*steps, *faults), key=lambda step: step.at_s))
    return History(approach, 1, 4, True, ordered, **crowd)


def name_of(fault: AnyFault) -> str:
    return f"{getattr(fault, 'how', '')}{type(fault).__name__.lower()} {fault.lasts_s:g} s"


FAULTS: list[AnyFault] = [
    Suspend(20.0, 0, 20.0),
    Kill(20.0, 1, 5.0),
    Kill(20.0, 1, 5.0, wiped=True),
    Leave(20.0, 1, 5.0),
    Pause(20.0, 2, 24.0),
    Slow(20.0, 1, 30.0, 2.0),
    Move(20.0, 1),
    Unplug(20.0, 1, 24.0),
    Partition(20.0, 2, 4.0),
    Partition(20.0, 1, 20.0),
    Storm(12.0, 0, 45.0, Weather(0.002, 0.05, 0.2, 0.1, False)),
    SetClock(20.0, 0, 0.0, 60.0),
    BadDisk(20.0, 1, 20.0, "slow", 2.0),
    BadDisk(20.0, 1, 20.0, "full"),
    BadDisk(20.0, 1, 20.0, "failing"),
    Intrude(12.0, 0, 40.0, 50.0),
]


@pytest.mark.parametrize("approach", ["ls", "dcs"])
@pytest.mark.parametrize(
    "fault", FAULTS, ids=lambda fault: f"{getattr(fault, 'how', '')}{type(fault).__name__.lower()} {fault.lasts_s:g} s"
)
def test_one_fault_loses_nothing(approach: str, fault: AnyFault) -> None:
    assert judge_history(history(approach, fault)).broken == []


@pytest.mark.parametrize("approach", ["ls", "dcs"])
def test_stores_in_files_lose_nothing(approach: str) -> None:
    kills = Kill(18.0, 1, 4.0), Kill(24.0, 1, 4.0), Kill(50.0, 3, 3.0, wiped=True)
    disks = BadDisk(30.0, 2, 8.0, "failing"), BadDisk(33.0, 1, 8.0, "slow", 2.0), BadDisk(42.0, 0, 8.0, "full")
    assert judge_history(history(approach, *kills, *disks, files=True)).broken == []


@pytest.mark.parametrize("approach", ["ls", "dcs"])
def test_a_member_who_lies_about_its_time_and_bends_what_it_passes_on_fools_nobody(approach: str) -> None:
    verdict = judge_history(history(approach, lie_s=30.0))
    assert verdict.broken == []
    assert verdict.states["messages bent"] > 0


@pytest.mark.parametrize("approach", ["ls", "dcs"])
def test_nodes_of_an_earlier_version_share_among_themselves(approach: str) -> None:
    verdict = judge_history(history(approach, Kill(20.0, 3, 5.0), older=2))
    assert verdict.broken == []
    assert verdict.states["dropped: another link version"] > 0
    assert verdict.notices >= 2 * (22 * 2 + 22 * 2)


@pytest.mark.parametrize("approach", ["ls", "dcs"])
def test_an_outsider_of_a_closed_namespace_silences_nobody(approach: str) -> None:
    verdict = judge_history(history(approach, Kill(20.0, 1, 2.0), Intrude(12.0, 0, 45.0, 200.0), closed=True))
    assert verdict.broken == []
    assert verdict.states["datagrams replayed"] > 500


def test_two_cells_that_fall_apart_and_come_together_again_lose_nothing() -> None:
    places = ((10.0, 20.0), (20.0, 20.0), (60.0, 20.0), (70.0, 20.0))
    assert judge_history(history("dcs", Partition(20.0, 2, 15.0), Partition(45.0, 3, 10.0), places=places)).broken == []


def test_nodes_in_several_cells_hand_over_what_they_keep() -> None:
    corners = ((10.0, 10.0), (70.0, 10.0), (10.0, 70.0), (70.0, 70.0))
    there, back = Walk(18.0, 0, 10.0, (78.0, 20.0)), Walk(40.0, 0, 10.0, (10.0, 10.0))
    verdict = judge_history(history("dcs", there, back, Kill(30.0, 2, 4.0), Partition(45.0, 2, 10.0), places=corners))
    assert verdict.broken == []
    assert verdict.states["populated cells that asked for their keys"] >= 4
    assert verdict.states["moved to another cell"] == 2


@pytest.mark.compiled
@pytest.mark.parametrize("approach", ["ls", "dcs"])
def test_live_nodes_share_a_radio_channel(approach: str) -> None:
    places = ((0.0, 0.0), (60.0, 0.0), (0.0, 60.0), (60.0, 60.0))
    verdict = judge_history(history(approach, Kill(20.0, 1, 5.0), places=places, radio=True))
    assert verdict.broken == []
