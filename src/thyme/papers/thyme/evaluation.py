"""The analytical study as a whole: a sweep of crowds whose messages are counted, the tables and the figures.

A crowd of one approach, size and placement is a run; so is a cell whose nodes share their notifications (Figure 8).
Spark runs what is missing; finished runs are stored under their identity and not repeated.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, TypeVar

import msgspec

from thyme.approaches.registry import find_approach
from thyme.drafts import write_file
from thyme.model.settings.bounds import AtLeastOne
from thyme.papers.evaluated import Evaluated, Measurement, PaperEvaluation, measurements_at
from thyme.papers.thyme.analysis import ANALYSED, ApproachName, Cost
from thyme.papers.thyme.crowds import CrowdOptions, CrowdTraffic, Shared, measure_crowd, measure_shared
from thyme.papers.thyme.figures import Counts, analysis_csv, analysis_table, messages_figure, shared_figure
from thyme.pipeline.identity import code_identity, identity_of
from thyme.pipeline.runs.kept_files import KeptFiles, ShortTask
from thyme.pipeline.runs.sweep import OnProgress, RunOutcome, sweep
from thyme.pipeline.spark.lazy_session import LazySession
from thyme.sim.scenario import PAPER_SIZES
from thyme.study.folder import RUNS
from thyme.study.report.tables import FailedRun

OPERATIONS = 40
PER_CELL = (1, 2, 4, 8, 16)
CROWDS_PER_JOB = 3
"""The smallest take a fraction of a second, the largest some."""
CROWDS = measure_crowd.__module__
"""What decides a run, besides the approach."""


class CountedCrowd(msgspec.Struct, frozen=True, tag="crowd"):
    """What one operation of each kind sends in a crowd."""

    approach: ApproachName
    options: CrowdOptions

    @property
    def title(self) -> str:
        return f"{find_approach(self.approach).title}, {self.options.nodes} nodes, placement {self.options.seed}"

    @property
    def weight(self) -> int:
        return self.options.nodes

    def measure(self) -> CrowdTraffic:
        return measure_crowd(self.approach, self.options)


class CountedCell(msgspec.Struct, frozen=True, tag="cell"):
    """What each node of a cell sends (Figure 8)."""

    per_cell: int
    approach: ApproachName = "dcs"

    @property
    def title(self) -> str:
        return f"{self.per_cell} nodes per cell"

    @property
    def weight(self) -> int:
        return 8 * self.per_cell

    def measure(self) -> Shared:
        return measure_shared(self.per_cell)


Counted = CountedCrowd | CountedCell
Found = TypeVar("Found")


def crowds(sizes: Sequence[int], topologies: int, operations: int = OPERATIONS) -> list[CountedCrowd]:
    """All approaches on the same places."""
    return [
        CountedCrowd(approach, CrowdOptions(nodes=nodes, operations=operations, seed=seed))
        for approach in ANALYSED
        for nodes in sizes
        for seed in range(1, topologies + 1)
    ]


def counts_of(measured: Iterable[CrowdTraffic]) -> list[Counts]:
    """The measured counts of each approach, without approaches that were not measured."""
    runs = list(measured)
    per_cell = CrowdOptions().per_cell
    found = (Counts(one, per_cell, tuple(run for run in runs if run.approach == one)) for one in ANALYSED)
    return [counts for counts in found if counts.runs]


class AnalysisEvaluation(PaperEvaluation, frozen=True):
    sizes: Annotated[tuple[Annotated[int, msgspec.Meta(ge=4)], ...], msgspec.Meta(min_length=1)] = PAPER_SIZES
    topologies: AtLeastOne = 3

    def run(self, out: Path, master: str, watch: OnProgress) -> Evaluated:
        return thyme_analysis(out, crowds(self.sizes, self.topologies), master, watch)


def thyme_analysis(out: Path, crowds: Sequence[CountedCrowd], master: str, watch: OnProgress) -> Evaluated:
    """Measure, and write analysis.csv and analysis.md to `out`; gives the counts as metrics, and both figures."""
    counted: list[Counted] = [*crowds, *map(CountedCell, PER_CELL)]
    tasks = [ShortTask(_identity(one), msgspec.msgpack.encode(one), one.weight) for one in counted]
    files = KeptFiles(out / RUNS)
    session = LazySession("thyme analysis", master, brief=True)
    try:
        outcomes = sweep(session.need, tasks, play_counted, files, CROWDS_PER_JOB, watch)
    finally:
        session.close()
    failed = tuple(_failures(counted, outcomes))
    ended = [(one, files.found(outcome.run)) for one, outcome in zip(counted, outcomes, strict=True) if outcome.ok]
    found = counts_of(_decoded(ended, CountedCrowd, CrowdTraffic))
    shared = list(_decoded(ended, CountedCell, Shared))
    if not found or not shared:
        return Evaluated((), (), (), len(counted), failed)
    write_file(out / "analysis.csv", analysis_csv(found).encode())
    write_file(out / "analysis.md", analysis_table(found).encode())
    measured = tuple(one for counts in found for one in _measured(counts))
    return Evaluated((), measured, (messages_figure(found), shared_figure(shared)), len(counted), failed)


def play_counted(run: str, data: bytes) -> bytes:
    """A run, played in a Spark worker."""
    counted: Counted = msgspec.msgpack.decode(data, type=Counted)
    return msgspec.msgpack.encode(counted.measure())


def _identity(counted: Counted) -> str:
    return identity_of(counted, code_identity(CROWDS, find_approach(counted.approach).module))


def _measured(counts: Counts) -> Iterator[Measurement]:
    for nodes in counts.sizes:
        place = {"approach": find_approach(counts.approach).title, "nodes": nodes}
        sent = {f"{cost.value}.frames": counts.each(cost, nodes) for cost in Cost}
        busiest = [float(run.hot_spot) for run in counts.runs if run.nodes == nodes]
        yield from measurements_at(place, {**sent, "hot_spot.frames": busiest})


def _decoded(ended: Iterable[tuple[Counted, bytes]], kind: type[Counted], found: type[Found]) -> Iterator[Found]:
    return (msgspec.msgpack.decode(data, type=found) for one, data in ended if isinstance(one, kind))


def _failures(counted: Sequence[Counted], outcomes: Sequence[RunOutcome]) -> Iterator[FailedRun]:
    for one, outcome in zip(counted, outcomes, strict=True):
        if not outcome.ok:
            yield FailedRun(outcome.run, one.title, outcome.attempts, outcome.error)
