"""The devices' evaluation: what is taken from logs, what the model makes of meters, and how the paper is judged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from thyme.live.emulation.meter import Account, WorkCount
from thyme.live.emulation.use_case import FetchResult, UseCaseOptions, UseCaseResult
from thyme.model.errors import InputError
from thyme.papers.evaluations import run_evaluation
from thyme.papers.thyme.devices.claims import judge_devices
from thyme.papers.thyme.devices.energy import EnergyModel, each, loop_minute, running, spent_on, ten_minutes
from thyme.papers.thyme.devices.evaluation import device_figures
from thyme.papers.thyme.devices.runs import OPERATIONS, DeviceRun, measure, play_all, use_case_of
from thyme.pipeline.runs.sweep import SweepProgress

MODEL = EnergyModel()


def played(
    *, fetched: tuple[FetchResult, ...] = (), orphaned: FetchResult | None = None, awake_s: float = 0.1
) -> UseCaseResult:
    roles = ("issuing", "processing", "maintaining")
    tallies = {f"{role}/{kind}": WorkCount(10, 0.05, awake_s=10 * awake_s) for role in roles for kind in OPERATIONS}
    used = Account(20.0, 0.05 * len(tallies), tallies)
    idle = Account(30.0, 0.0, {"running": WorkCount(awake_s=3.0)})
    return UseCaseResult(
        10.0, 30.0, {0: "publisher", 1: "subscriber"}, {0: idle}, {0: used}, fetched, orphaned, 0.0, 0.1
    )


def run_of(nodes: int, latency_s: float, **changed: Any) -> DeviceRun:
    latencies = {kind: [latency_s] for kind in OPERATIONS} | {"insert": [1.5 * latency_s]}
    return DeviceRun(nodes, 1, latencies, {}, 0, [], played(**changed), 1.0)


def test_only_the_closed_loop_counts_and_nobody_is_blamed_for_what_was_deleted() -> None:
    rows = [
        ("issued", 5.0, 0, 1, "insert", "a@0", 0.0),
        ("succeeded", 5.1, 0, 1, "insert", "", 0.1),
        ("issued", 11.0, 0, 2, "insert", "b@0", 0.0),
        ("succeeded", 11.2, 0, 2, "insert", "", 0.2),
        ("issued", 12.0, 0, 3, "delete", "a@0", 0.0),
        ("issued", 13.0, 1, 2, "retrieve", "a@0", 0.0),
        ("failed", 13.5, 1, 2, "retrieve", "", 0.5),
        ("issued", 14.0, 1, 3, "retrieve", "b@0", 0.0),
        ("failed", 14.5, 1, 3, "retrieve", "", 0.5),
        ("notified", 15.0, 1, -1, "", "b@0", 0.3),
        ("notified", 31.0, 1, -1, "", "c@0", 0.3),
    ]
    names = ("kind", "at_s", "node", "operation", "name", "object", "value")
    events = pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows])
    run = measure(use_case_of(2, 1, 20.0, 1.0, [35]), played(), events, 0.5)
    assert run.latency_s == {"insert": [0.2]}
    assert (run.failed, run.withdrawn, run.notified_s) == ({"retrieve": 1}, 1, [0.3])


def test_what_is_modelled_follows_from_what_was_counted() -> None:
    one = spent_on(
        WorkCount(1, cpu_s=0.5, sent=2, sent_bytes=1_000, received=1, received_bytes=500, awake_s=0.2), MODEL
    )
    assert one.processor == pytest.approx(1.0)
    assert one.awake == pytest.approx(0.2 * 3.0 * (0.273 - 0.033))
    sent_s, heard_s = 2 * 0.0002 + 8 * 1_080 / 54e6, 0.0002 + 8 * 660 / 54e6
    assert one.frames == pytest.approx(3.0 * (sent_s * (0.38 - 0.273) + heard_s * (0.313 - 0.273)))
    runs = [run_of(2, 0.1)]
    issued = each(runs, "issuing", "insert", MODEL)
    assert issued is not None
    assert issued.total == pytest.approx(0.005 * 2.0 + 0.1 * 0.72)
    assert running(runs, MODEL).total == pytest.approx(2 * 3.0 * 0.72)
    assert loop_minute(runs, "issuing", "insert", MODEL) == pytest.approx(61.0 + 60 * 0.72 + 300 * 0.01)
    assert sum(ten_minutes(runs, MODEL).values()) == pytest.approx(30 * (61.0 + 60 * 0.72 + 300 * 0.01))


def test_the_processors_time_outside_of_handlers_is_shared_by_frames() -> None:
    tallies = {"issuing/insert": WorkCount(1, 1.0, sent=3), "running": WorkCount(0, 1.0, received=1)}
    run = run_of(2, 0.1)
    shared = DeviceRun(
        2, 1, {}, {}, 0, [], UseCaseResult(0, 1, {}, {}, {0: Account(1.0, 6.0, tallies)}, (), None, 0, 0), 0.0
    )
    found = each([shared], "issuing", "insert", MODEL)
    assert found is not None
    assert found.processor == pytest.approx(2.0 * (1.0 + 3.0))
    assert each([run, shared], "told", "insert", MODEL) is None


def test_the_paper_is_judged_by_what_was_run() -> None:
    large = (FetchResult(5_000_000, 6.5),)
    runs = [run_of(2, 0.1), run_of(32, 0.19, fetched=large, orphaned=FetchResult(35, 0.1))]
    verdicts = {claim.id: claim.verdict for claim in judge_devices(runs, MODEL)}
    assert [verdicts[name] for name in ("T29a", "T29b", "T29c", "T29d")] == ["holds"] * 4
    assert [verdicts[name] for name in ("T30", "T35", "T36", "T38")] == ["holds"] * 4
    assert verdicts["T31"] == "differs"
    slow = {claim.id: claim for claim in judge_devices([run_of(8, 0.5)], MODEL)}
    assert (slow["T29a"].verdict, slow["T29a"].measured) == ("differs", "0.75 s")
    assert [slow[name].verdict for name in ("T29c", "T30", "T36", "T38")] == ["not tested"] * 4
    assert not list(judge_devices([], MODEL))


def test_four_figures_are_drawn_and_those_of_energy_say_that_they_are_modelled() -> None:
    pictures = list(device_figures([run_of(2, 0.1), run_of(4, 0.2, fetched=(FetchResult(35, 0.1),))], MODEL))
    assert [picture.name for picture in pictures] == [
        "devices_figure_16", "devices_figure_17", "devices_figures_18_20_21", "devices_figure_19",
    ]  # fmt: skip
    assert all("modelled" in picture.title for picture in pictures[2:])


def test_runs_are_kept_and_one_that_fails_spoils_no_other(tmp_path: Path) -> None:
    cases = [use_case_of(nodes, 1, 20.0, 1.0, [35]) for nodes in (2, 4, 8)]
    told: list[SweepProgress] = []
    calls: list[int] = []

    def play(case: UseCaseOptions) -> DeviceRun:
        calls.append(case.nodes)
        if case.nodes == 4 and len(calls) < 4:
            raise InputError("too busy")
        return run_of(case.nodes, 0.1)

    runs, failed = play_all(cases, tmp_path, told.append, play)
    assert ([run.nodes for run in runs], [one.what for one in failed]) == ([2, 8], ["4 devices, seed 1"])
    runs, failed = play_all(cases, tmp_path, told.append, play)
    assert ([run.nodes for run in runs], failed, calls) == ([2, 4, 8], [], [2, 4, 8, 4])
    assert (told[-1].reused, told[-1].done, told[-1].share) == (2, 1, 1.0)


@pytest.mark.parametrize(
    "wrong", [{"nodes": [1]}, {"nodes": []}, {"nodes": [65]}, {"sizes": [0]}, {"seconds": 1.0}, {"pause_s": 0.0}]
)
def test_settings_that_make_no_sense_are_refused_before_anything_is_played(
    tmp_path: Path, wrong: dict[str, Any]
) -> None:
    with pytest.raises(InputError, match=f"{next(iter(wrong))}[. ]"):
        run_evaluation("devices", tmp_path / "out", wrong, "", lambda progress: None)
