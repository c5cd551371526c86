"""Runs: what tells one simulation from another, how it is played, and where its events are kept.

A run is a scenario and a trace. Its identity is a hash of both and of the code, and names its folder:
`runs/<identity>/events.parquet` with the events and `runs/<identity>/run.json` with how they came about. The folder is
drafted beside its place and moved there when it is whole, so a folder that is there was a finished run; in a store,
where nothing moves, the record is written last. It tells size and hash of the events, by which damage since then is
noticed.
"""

from __future__ import annotations

import io
import shutil
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from thyme.approaches.registry import find_approach
from thyme.drafts import drafted
from thyme.model.errors import InputError
from thyme.pipeline.identity import bytes_identity, code_identity, identity_of
from thyme.pipeline.manifest import KeptFile, bytes_digest, difference, write_checked
from thyme.pipeline.runs.carried import CarriedTrace, operations_of
from thyme.pipeline.schemas import EVENTS, conform
from thyme.pipeline.spark.dataset import read_files
from thyme.places import Place, Remote
from thyme.sim.run import simulate
from thyme.sim.scenario import Scenario

EVENTS_FILE = "events.parquet"
RUN_FILE = "run.json"
SIMULATION = "thyme.sim.run"
"""The module that plays a run."""
_SCENARIO = msgspec.msgpack.Decoder(Scenario)


class RunSpec(msgspec.Struct, frozen=True):
    """One row of a sweep's table."""

    scenario: Scenario
    trace: CarriedTrace

    @property
    def weight(self) -> int:
        """What the run costs compared with others, roughly: every operation may reach every node."""
        each = find_approach(self.scenario.approach).entry.relative_cost
        return each * self.scenario.nodes * (self.trace.operations + self.scenario.nodes)


def run_identity(spec: RunSpec, entry: str = SIMULATION) -> str:
    """The hash of scenario, trace, and the code that `entry` and the scenario's approach can reach. A scenario's name
    does not count; a movement file's content does."""
    scenario = msgspec.structs.replace(spec.scenario, name="", trace="")
    source = scenario.movement.source
    moves = bytes_identity(_content(Path(source))) if source else ""
    return identity_of(
        scenario, moves, spec.trace.identity, code_identity(entry, find_approach(scenario.approach).module)
    )


def _content(moves: Path) -> bytes:
    try:
        return moves.read_bytes()
    except OSError as error:
        raise InputError(f"movement.file: {moves} cannot be read ({error.strerror})") from error


class RunRecord(msgspec.Struct, frozen=True):
    """How a run came about; kept beside its events."""

    run: str
    trace: str
    seconds: float
    actions: int
    events: int
    scenario: Scenario
    kept: KeptFile | None = None
    """The events' file as it was written."""


class Played(msgspec.Struct, frozen=True):
    """What playing a run gave: its events as a Parquet file's bytes. `seconds` are of processor time."""

    run: str
    seconds: float
    actions: int
    rows: int
    events: bytes


def play(run: str, scenario: bytes, trace: bytes) -> Played:
    """Simulate one run from its packed scenario and the trace that was carried to it."""
    started_s = time.process_time()
    result = simulate(_SCENARIO.decode(scenario), operations_of(trace))
    table = result.events.add_column(0, "run", pa.array([run] * result.events.num_rows, pa.string()))
    sink = io.BytesIO()
    write_checked(table, sink)
    return Played(run, time.process_time() - started_s, result.actions, table.num_rows, sink.getvalue())


def damage_of_run(folder: Place, run: str, now: KeptFile | None = None) -> str | None:
    """What is wrong with a run that was played: nothing, or in a few words; None if it was not played. `now` is the
    file of its events as somebody else has just described it."""
    place = folder / run
    if not place.exists():
        return None
    try:
        kept = msgspec.json.decode((place / RUN_FILE).read_bytes(), type=_Effort).kept
    except FileNotFoundError:
        return f"{RUN_FILE} is missing"
    except (OSError, msgspec.DecodeError) as error:
        return f"{RUN_FILE} cannot be read ({error})"
    if kept is None:
        return f"{RUN_FILE} does not say what {EVENTS_FILE} was"
    changed = difference(place / EVENTS_FILE, kept, now)
    return f"{EVENTS_FILE} {changed}" if changed else ""


def keep_run(folder: Place, scenario: Scenario, trace: str, played: Played) -> None:
    """Put a played run of this scenario and the trace of this identity into its folder, whole or not at all."""
    record = RunRecord(
        played.run,
        trace,
        round(played.seconds, 3),
        played.actions,
        played.rows,
        scenario,
        KeptFile(len(played.events), bytes_digest(played.events), played.rows),
    )
    place = folder / played.run
    if isinstance(place, Remote):
        (place / EVENTS_FILE).write_bytes(played.events)
        (place / RUN_FILE).write_bytes(msgspec.json.format(msgspec.json.encode(record)))
        return
    with drafted(place) as draft:
        draft.mkdir()
        (draft / EVENTS_FILE).write_bytes(played.events)
        (draft / RUN_FILE).write_bytes(msgspec.json.format(msgspec.json.encode(record)))
        # What is there is damaged, or it would not have been played again.
        shutil.rmtree(place, ignore_errors=True)


class _Effort(msgspec.Struct, frozen=True):
    seconds: float = 0.0
    kept: KeptFile | None = None


def run_seconds(folder: Place, run: str) -> float:
    """The processor time that a finished run took when it was played."""
    return msgspec.json.decode((folder / run / RUN_FILE).read_bytes(), type=_Effort).seconds


def read_events(spark: SparkSession, folder: Place, runs: Sequence[str]) -> DataFrame:
    """The events of finished runs in one frame, with the column `run`."""
    if not runs:
        return spark.createDataFrame([], EVENTS)
    return conform(read_files(spark, (folder / run / EVENTS_FILE for run in runs), EVENTS), EVENTS)
