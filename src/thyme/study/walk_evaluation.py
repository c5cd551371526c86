"""The walks evaluation as a whole: run it, write its table and figures, and try the other readings of the paper.

`write_evaluation` makes Figures 8–10 and the table behind them from columns that may come from here
(`run_evaluation`) or from a sweep. `compare_readings` runs a smaller evaluation under each single answer to what
the paper leaves open, and under the earlier methods, and says which of its statements each one reproduces.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from thyme.approaches.walks.batch import (
    PAPER_INITIATORS,
    BatchOptions,
    Columns,
    join_columns,
    run_on_graph,
)
from thyme.approaches.walks.graph import draw_graph
from thyme.approaches.walks.readings import WalkOptions, answers, parse_reading
from thyme.study.walk_claims import ClaimResult, check_claims
from thyme.study.walk_figures import summary_csv, walk_figures

COMPARED_COUNTS = (2, 3, 4, 5, 7, 10, 20, 50, 100, 250, 500)
COMPARED_NETWORKS = 20
COMPARED_DRAWS = 5


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


def write_evaluation(table: Columns, data: Path, figures: Path) -> list[ClaimResult]:
    """Writes walks_evaluation.csv and the three figures; gives the claims beside what was measured."""
    data.mkdir(parents=True, exist_ok=True)
    figures.mkdir(parents=True, exist_ok=True)
    (data / "walks_evaluation.csv").write_text(summary_csv(table), "utf-8")
    for picture in walk_figures(table):
        (figures / f"{picture.name}.png").write_bytes(picture.png)
    return check_claims(table)


def run_variant(
    variant: Variant,
    networks: int = COMPARED_NETWORKS,
    draws: int = COMPARED_DRAWS,
    seed: int = 1,
    sizes: Sequence[int] = tuple(PAPER_INITIATORS),
) -> Columns:
    parts = []
    for nodes in sizes:
        counts = (*COMPARED_COUNTS, *PAPER_INITIATORS[nodes][-2:])
        for network in range(networks):
            graph = draw_graph(nodes, network, seed)
            for pure in (False, True):
                walk = msgspec.structs.replace(variant.walk, pure=pure)
                batch = BatchOptions(seed=seed, walk=walk, reading=parse_reading(variant.reading))
                parts.append(run_on_graph(graph, network, counts, draws, batch))
    return join_columns(parts)


def compare_readings(
    networks: int = COMPARED_NETWORKS, draws: int = COMPARED_DRAWS, seed: int = 1
) -> Iterator[tuple[Variant, list[ClaimResult]]]:
    for variant in variants():
        yield variant, check_claims(run_variant(variant, networks, draws, seed))


def readings_csv(compared: Sequence[tuple[Variant, Sequence[ClaimResult]]]) -> str:
    """One row per reading and claim."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["reading", "claim", "statement", "measured", "holds"])
    for variant, results in compared:
        for result in results:
            writer.writerow(
                [variant.name, result.claim, result.statement, result.measured, "yes" if result.holds else "no"]
            )
    return text.getvalue()
