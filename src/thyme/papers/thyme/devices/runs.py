"""Runs of the devices' evaluation: one crowd each, played by real processes, measured from their logs and meters.

A run takes all cores of the machine, so runs follow each other, without Spark. What was measured is kept in a
file under the identity of the run, which is not repeated.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from time import monotonic

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from thyme.live.emulation.area import AirOptions, MediumOptions
from thyme.live.emulation.trial import write_events
from thyme.live.emulation.use_case import CELL_M, UseCaseOptions, UseCaseResult, play_use_case
from thyme.model.errors import InputError
from thyme.pipeline.identity import code_identity, identity_of
from thyme.pipeline.runs.kept_files import KeptFiles
from thyme.pipeline.runs.sweep import OnProgress, SweepProgress
from thyme.study.report.tables import FailedRun

OPERATIONS = ("insert", "delete", "subscribe", "unsubscribe", "retrieve")
"""The five of Figure 16."""
START_S = 15.0
"""What a crowd takes besides its closed loop, about, for the time that is left."""


class DeviceRun(msgspec.Struct, frozen=True):
    """What one crowd did."""

    nodes: int
    seed: int
    latency_s: dict[str, list[float]]
    """Of the operations of the closed loop that succeeded, by kind."""
    failed: dict[str, int]
    """How many did not, by kind."""
    withdrawn: int
    """Retrievals that failed because the object had been deleted, which is correct."""
    notified_s: list[float]
    played: UseCaseResult
    load: float
    """Of the machine, at the end."""


def use_case_of(nodes: int, seed: int, seconds: float, pause_s: float, sizes: Sequence[int]) -> UseCaseOptions:
    """A run's crowd: two cells, all nodes in range of an 802.11g access point."""
    air = AirOptions(2 * CELL_M, CELL_M, medium=MediumOptions(rate_mbps=54.0))
    return UseCaseOptions(nodes, air, seconds, pause_s=pause_s, sizes=tuple(sizes), seed=seed)


def play_all(
    cases: Sequence[UseCaseOptions],
    folder: Path,
    watch: OnProgress,
    play: Callable[[UseCaseOptions], DeviceRun] | None = None,
) -> tuple[list[DeviceRun], list[FailedRun]]:
    """Run what is missing, one after the other."""
    play, kept = play or play_run, KeptFiles(folder)
    code = code_identity(__name__, "thyme.approaches.dcs.protocol", "thyme.live.emulation.member")
    found: list[DeviceRun] = []
    failed: list[FailedRun] = []
    reused = done = 0
    total_s = sum(case.seconds + START_S for case in cases)
    left_s = total_s
    for case in cases:
        run = identity_of(case, code)
        watch(SweepProgress(len(cases), done, reused, len(failed), 1, left_s, 1.0 - left_s / total_s))
        if kept.seconds(run) is None:
            began_s = monotonic()
            try:
                kept.keep(run, msgspec.msgpack.encode(play(case)), monotonic() - began_s)
                done += 1
            except (InputError, OSError) as error:
                failed.append(FailedRun(run, f"{case.nodes} devices, seed {case.seed}", 1, str(error)))
        else:
            reused += 1
        if kept.seconds(run) is not None:
            found.append(msgspec.msgpack.decode(kept.found(run), type=DeviceRun))
        left_s -= case.seconds + START_S
    watch(SweepProgress(len(cases), done, reused, len(failed), 0, 0.0, 1.0))
    return found, failed


def play_run(case: UseCaseOptions) -> DeviceRun:
    with tempfile.TemporaryDirectory(prefix="thyme-devices-") as scratch:
        folder = Path(scratch) / "crowd"
        played, logs = play_use_case(case, folder)
        events = folder / "events.parquet"
        write_events(logs, events)
        return measure(case, played, pq.read_table(events), os.getloadavg()[0])


def measure(case: UseCaseOptions, played: UseCaseResult, events: pa.Table, load: float) -> DeviceRun:
    """Results of a closed-loop run, from its events."""
    issued: dict[tuple[int, int], tuple[str, float]] = {}
    deleted: set[str] = set()
    latency_s: dict[str, list[float]] = {}
    failed: dict[str, int] = {}
    notified_s, withdrawn = [], 0
    for row in events.to_pylist():
        name, key = row["name"], (row["node"], row["operation"])
        match row["kind"]:
            case "issued":
                issued[key] = (row["object"], row["at_s"])
                if name == "delete":
                    deleted.add(row["object"])
            case "notified" if played.begin_s <= row["at_s"] <= played.end_s:
                notified_s.append(row["value"])
            case "succeeded" if _counts(issued.get(key), played):
                latency_s.setdefault(name, []).append(row["value"])
            case "failed" if _counts(issued.get(key), played):
                if name == "retrieve" and issued[key][0] in deleted:
                    withdrawn += 1
                else:
                    failed[name] = failed.get(name, 0) + 1
    return DeviceRun(case.nodes, case.seed, latency_s, failed, withdrawn, notified_s, played, load)


def _counts(issued: tuple[str, float] | None, played: UseCaseResult) -> bool:
    return issued is not None and played.begin_s <= issued[1] <= played.end_s
