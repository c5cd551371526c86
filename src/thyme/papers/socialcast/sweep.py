"""SocialCast's evaluation on Spark: many short, compiled runs, some dozens of them to a job.

A compiled run takes less than a second, so a job of its own for each would mostly wait for Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from thyme.model.bounded import Bounded
from thyme.papers.socialcast.twin.run import SocialRun, contacts_for, contacts_key, play_compiled
from thyme.pipeline.runs.carried import operations_of
from thyme.pipeline.runs.kept_files import KeptFiles, ShortTask
from thyme.pipeline.runs.run import RunSpec, run_identity
from thyme.pipeline.runs.sweep import RunOutcome, Watch, sweep, unwatched
from thyme.pipeline.spark.lazy_session import Session
from thyme.sim.scenario import Scenario
from thyme.world.contacts.table import Contacts

RUNS_PER_JOB = 38
"""Half of the points of the paper's evaluation; those of one seed share their crowd's contacts."""
MAX_KEPT_CONTACTS = 4
TWIN = play_compiled.__module__
"""What decides a run."""
_CONTACTS: Bounded[bytes, Contacts] = Bounded(MAX_KEPT_CONTACTS)
"""Of crowds that this process has played lately."""


def sweep_social(
    spark: Callable[[], Session], specs: Sequence[RunSpec], folder: Path, watch: Watch = unwatched
) -> list[SocialRun | RunOutcome]:
    """Every run, in the order of the table, or what became of it if it failed."""
    files = KeptFiles(folder)
    tasks = [ShortTask(run_identity(spec, TWIN), _pack(spec)) for spec in specs]
    outcomes = sweep(spark, tasks, play_social, files, RUNS_PER_JOB, watch)
    return [
        msgspec.msgpack.decode(files.found(outcome.run), type=SocialRun) if outcome.ok else outcome
        for outcome in outcomes
    ]


def _pack(spec: RunSpec) -> bytes:
    return msgspec.msgpack.encode((msgspec.msgpack.encode(spec.scenario), spec.trace.carry()))


def play_social(run: str, data: bytes) -> bytes:
    """A run, played where Spark wants it played."""
    packed, trace = msgspec.msgpack.decode(data, type=tuple[bytes, bytes])
    scenario = msgspec.msgpack.decode(packed, type=Scenario)
    key = contacts_key(scenario)
    if key not in _CONTACTS:
        _CONTACTS[key] = contacts_for(scenario)
    return msgspec.msgpack.encode(play_compiled(scenario, operations_of(trace), _CONTACTS[key]))
