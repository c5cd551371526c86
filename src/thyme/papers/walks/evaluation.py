"""The walks evaluation as a whole: its table, its figures, and the other readings of the paper.

`write_evaluation` makes Figures 8–10 and the table behind them from the columns of a sweep. `compare_readings` takes
each single answer to what the paper leaves open, and the earlier methods, on fewer numbers of initiators, and says
which of the paper's statements each one reproduces.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from thyme.approaches.walks.options import Method
from thyme.model.errors import InputError
from thyme.model.settings.bounds import AtLeastOne
from thyme.papers.evaluated import Evaluated, Measurement, PaperEvaluation, measurements_at
from thyme.papers.walks.batch import PAPER_DRAWS, PAPER_INITIATORS, PAPER_NETWORKS, BatchOptions, Columns
from thyme.papers.walks.claims import check_claims
from thyme.papers.walks.figures import MEASURES, boxes_of, summary_csv, walk_figures
from thyme.papers.walks.readings import WalkOptions, answers, parse_reading
from thyme.papers.walks.sweep import WalkSweep, sweep_walks
from thyme.pipeline.runs.sweep import OnProgress
from thyme.pipeline.spark.lazy_session import LazySession
from thyme.study.claims import Claim
from thyme.study.folder import RUNS
from thyme.study.report.tables import FailedRun
from thyme.study.results import csv_text

COMPARED_COUNTS = (2, 3, 4, 5, 7, 10, 20, 50, 100, 250, 500)


class WalksEvaluation(PaperEvaluation, frozen=True):
    networks: AtLeastOne = PAPER_NETWORKS
    draws: AtLeastOne = PAPER_DRAWS
    sizes: Annotated[tuple[Literal[1000, 2000, 3000], ...], msgspec.Meta(min_length=1)] = (1000, 2000, 3000)
    seed: int = 1
    reading: str = "default"
    method: Method = "neighbourhood"
    branches: int = 1
    compare: bool = False
    """Try every reading and method."""

    def run(self, out: Path, master: str, watch: OnProgress) -> Evaluated:
        walk = WalkOptions(method=self.method, branches=self.branches)
        batch = BatchOptions(seed=self.seed, walk=walk, reading=parse_reading(self.reading))

        def swept(counts: dict[int, tuple[int, ...]], batch: BatchOptions) -> WalkSweep:
            return sweep_walks(self.networks, self.draws, out / RUNS, counts, batch, master, watch)

        if not self.compare:
            return write_evaluation(swept({nodes: PAPER_INITIATORS[nodes] for nodes in self.sizes}, batch), out)
        if batch != BatchOptions(seed=batch.seed):
            raise InputError(
                "compare=true tries every reading and method by itself: leave out reading, method and branches"
            )
        counts = compared_counts(self.sizes)

        def play(variant: BatchOptions) -> Columns:
            found = swept(counts, variant)
            if found.failed:
                raise InputError(f"a network failed: {found.failed[0][1].error}")
            return found.columns

        session = LazySession("thyme walks", master, brief=True)
        try:
            session.need()
            compared = list(compare_readings(play, batch.seed))
        finally:
            session.close()
        write_readings(compared, out)
        claims = [
            msgspec.structs.replace(claim, id=f"{variant.name}: {claim.id}")
            for variant, claims in compared
            for claim in claims
        ]
        overlays = 2 * self.networks * self.draws * sum(map(len, counts.values())) * len(compared)
        return Evaluated(tuple(claims), (), (), overlays)


class Variant(msgspec.Struct, frozen=True):
    """A reading and the options of the directional walks; pure walks take the reading only."""

    name: str
    reading: str = "default"
    walk: WalkOptions = WalkOptions()


def variants() -> tuple[Variant, ...]:
    """The default, every other single answer, and the paper's earlier methods."""
    others = [value for values in answers().values() for value in values[1:]]
    return (
        Variant("default"),
        *(Variant(value, value) for value in others),
        Variant("method second", walk=WalkOptions(method="second")),
        Variant("method weights", walk=WalkOptions(method="weights")),
        Variant("two branches", walk=WalkOptions(branches=2)),
    )


def write_evaluation(swept: WalkSweep, out: Path) -> Evaluated:
    """The paper's table, in `out`; gives the same as metrics, with figures and claims."""
    failed = tuple(
        FailedRun(network.name, f"{network.nodes} nodes, network {network.number}", outcome.attempts, outcome.error)
        for network, outcome in swept.failed
    )
    if len(failed) == swept.runs:
        return Evaluated((), (), (), swept.runs, failed)
    table = swept.columns
    out.mkdir(parents=True, exist_ok=True)
    (out / "walks_evaluation.csv").write_text(summary_csv(table), "utf-8")
    claims, measured, pictures = check_claims(table), _measured(table), walk_figures(table)
    return Evaluated(tuple(claims), tuple(measured), tuple(pictures), swept.runs, failed)


def _measured(table: Columns) -> Iterator[Measurement]:
    """Each overlay is a run."""
    for place, rows in boxes_of(table):
        yield from measurements_at(place, {metric: table[metric][rows].astype(float).tolist() for metric in MEASURES})


def compared_counts(sizes: Sequence[int]) -> dict[int, tuple[int, ...]]:
    """Numbers of initiators for comparing readings: fewer points than in §VI, up to the same share."""
    return {nodes: (*COMPARED_COUNTS, *PAPER_INITIATORS[nodes][-2:]) for nodes in sizes}


def compare_readings(play: Callable[[BatchOptions], Columns], seed: int = 1) -> Iterator[tuple[Variant, list[Claim]]]:
    """The paper's statements judged for each variant; `play` returns the columns of a batch with both kinds of
    walks."""
    for variant in variants():
        batch = BatchOptions(seed=seed, walk=variant.walk, reading=parse_reading(variant.reading))
        yield variant, check_claims(play(batch))


def write_readings(compared: Sequence[tuple[Variant, Sequence[Claim]]], data: Path) -> None:
    data.mkdir(parents=True, exist_ok=True)
    (data / "walks_readings.csv").write_text(readings_csv(compared), "utf-8")


def readings_csv(compared: Sequence[tuple[Variant, Sequence[Claim]]]) -> str:
    """One row per reading and claim."""
    rows = (
        [variant.name, result.id, result.statement, result.measured, "yes" if result.holds else "no"]
        for variant, results in compared
        for result in results
    )
    return csv_text(["reading", "claim", "statement", "measured", "holds"], rows)
