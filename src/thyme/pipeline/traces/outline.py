"""What a trace amounts to, for those who tell of it: how many operations of which kind, by whom, from when to when.

Made of three columns, batch by batch: whoever writes a sentence about ten million operations need not hold them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from thyme.model.records import OperationKind
from thyme.pipeline.spark import dataset
from thyme.places import Place

STEP_S = 10.0
"""How finely it is told when operations come."""
_TOLD = ["at_s", "node", "kind"]
_AGGREGATES = [([], "count_all"), ("node", "distinct"), ("at_s", "min"), ("at_s", "max")]


class Stretch(msgspec.Struct, frozen=True):
    """From when to when something happened."""

    first_s: float = float("inf")
    last_s: float = float("-inf")

    @property
    def lasts_s(self) -> float:
        return max(0.0, self.last_s - self.first_s)

    def with_times(self, first_s: float, last_s: float) -> Stretch:
        return Stretch(min(self.first_s, first_s), max(self.last_s, last_s))


class TraceOutline(msgspec.Struct, frozen=True):
    """`kinds` counts operations, in order of names, and `paces` those of each step of `STEP_S` that has some;
    `publishers` are the nodes that insert, in order."""

    kinds: dict[str, int]
    paces: dict[str, dict[int, int]]
    nodes: int
    publishers: tuple[int, ...]
    when: Stretch
    inserting: Stretch

    @property
    def operations(self) -> int:
        return sum(self.kinds.values())

    @property
    def inserts(self) -> int:
        return self.kinds.get(OperationKind.INSERT, 0)


def outline_of(batches: Iterable[pa.RecordBatch]) -> TraceOutline:
    """The outline of a trace's rows, whatever their order and their other columns."""
    steps: Counter[tuple[str, int]] = Counter()
    nodes: set[int] = set()
    publishers: set[int] = set()
    when = inserting = Stretch()
    for batch in batches:
        step = pc.floor(pc.divide(batch["at_s"], STEP_S)).cast(pa.int64())
        grouped = pa.table([step, *map(batch.column, _TOLD)], ["step", *_TOLD]).group_by(["kind", "step"])
        for row in grouped.aggregate(_AGGREGATES).to_pylist():
            steps[row["kind"], row["step"]] += row["count_all"]
            nodes.update(row["node_distinct"])
            when = when.with_times(row["at_s_min"], row["at_s_max"])
            if row["kind"] == OperationKind.INSERT:
                publishers.update(row["node_distinct"])
                inserting = inserting.with_times(row["at_s_min"], row["at_s_max"])
    paces: dict[str, dict[int, int]] = {}
    for (kind, at), number in sorted(steps.items()):
        paces.setdefault(kind, {})[at] = number
    kinds = {kind: sum(pace.values()) for kind, pace in paces.items()}
    return TraceOutline(kinds, paces, len(nodes), tuple(sorted(publishers)), when, inserting)


def read_outline(path: Place) -> TraceOutline:
    """The outline of a trace that is a dataset."""
    return outline_of(dataset.open_files(path).to_batches(columns=_TOLD))
