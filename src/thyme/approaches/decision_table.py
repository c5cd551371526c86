"""The decision map's table: crowds, and what each approach did in them.

`decision.csv` has one line for each crowd, workload and approach, with the mean and the range of its runs on 802.11g
(`thyme.study.mapping` plays them and says which crowds those are).
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from math import pi
from typing import Literal, get_args

import msgspec

from thyme.model.errors import InputError

TABLE = "decision.csv"
DEPENDABLE_SUCCESS = 0.95
DEPENDABLE_RECALL = 0.90
CELL_M = 40.0
USUAL_RANGE_M = 113.0
"""Density is in people per cell of the papers, at the papers' radio range."""

Contents = Literal["texts", "photos", "large photos"]
"""Texts alone, or one post in five is a photo of 100 kB or of 2 MB."""
CONTENTS_BYTES: dict[Contents, int] = {"photos": 100_000, "large photos": 2_000_000}
PHOTO_SHARE = 0.2
Workload = Literal["all", "future"]
"""Questions about past and future, with deletes; or about the future only, without deletes."""


class CrowdKind(msgspec.Struct, frozen=True, order=True):
    """A crowd as the map tells crowds apart; by default the usual one of so many people."""

    people: int
    density: float = 2.0
    """People per 40 m × 40 m."""
    walking: float = 0.0
    """Share of people who walk."""
    leaving: float = 0.0
    """Share of people who leave for good."""
    switching: float = 0.0
    """Share of people who switch off and on."""
    contents: Contents = "texts"

    def __post_init__(self) -> None:
        if self.people < 1 or self.density <= 0.0:
            raise InputError(
                f"a crowd of {self.people:g} people, {self.density:g} in a cell; expected positive numbers"
            )
        for name in ("walking", "leaving", "switching"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise InputError(f"{name} is {getattr(self, name):g}; expected a share of the people, from 0 to 1")

    @property
    def reach(self) -> float:
        """How many others a radio reaches, on average, far from the edge."""
        return min(self.people - 1.0, self.density * pi * USUAL_RANGE_M**2 / CELL_M**2)


def density_of(people: int, area_m2: float, range_m: float) -> float:
    """People per cell of a radio of this range; of no area at all, all are in one cell."""
    cell_m2 = (CELL_M * range_m / USUAL_RANGE_M) ** 2
    return people * cell_m2 / max(area_m2, cell_m2)


class Measured(msgspec.Struct, frozen=True):
    """A number that several runs gave, with the smallest and the largest."""

    mean: float
    low: float
    high: float

    def __format__(self, spec: str) -> str:
        return format(self.mean, spec)


class DecisionRow(msgspec.Struct, frozen=True):
    """What one approach did in one crowd of the map."""

    kind: CrowdKind
    workload: Workload
    approach: str
    success: Measured
    recall: Measured
    notified_s: Measured | None
    """Half of the notifications came within this."""
    late_s: Measured | None
    """19 of 20 did."""
    air_bytes: Measured
    """Sent by each person in a minute."""
    joules: Measured
    """Used by each radio in a minute."""
    gini: Measured

    @property
    def dependable(self) -> bool:
        return self.success.mean >= DEPENDABLE_SUCCESS and self.recall.mean >= DEPENDABLE_RECALL

    @property
    def never_dependable(self) -> bool:
        """Not even by its best runs."""
        return self.success.high < DEPENDABLE_SUCCESS or self.recall.high < DEPENDABLE_RECALL


def ruled_out(kind: CrowdKind, workload: Workload, known: Iterable[DecisionRow]) -> set[str]:
    """Approaches that are not simulated in a crowd: no run of them was dependable in an easier one, which has fewer
    people or shares smaller contents, and is otherwise the same."""
    return {
        line.approach
        for line in known
        if line.workload == workload and line.never_dependable and _is_easier(line.kind, kind)
    }


def _is_easier(one: CrowdKind, than: CrowdKind) -> bool:
    sizes = get_args(Contents)
    return (
        one != than
        and one.people <= than.people
        and sizes.index(one.contents) <= sizes.index(than.contents)
        and msgspec.structs.replace(one, people=than.people, contents=than.contents) == than
    )


MEASURED = DecisionRow.__struct_fields__[3:]
RANGED = tuple(f"{name}{end}" for name in MEASURED for end in ("", "_low", "_high"))
"""The columns of what was measured."""


@cache
def table() -> tuple[DecisionRow, ...]:
    """The map as it comes with Thyme."""
    return tuple(read_table(files("thyme.approaches").joinpath(TABLE).read_text("utf-8")))


def read_table(text: str) -> Iterator[DecisionRow]:
    for row in csv.DictReader(text.splitlines()):
        kind = msgspec.convert({name: row[name] for name in CrowdKind.__struct_fields__}, CrowdKind, strict=False)
        measured = {name: _measured(row, name) for name in MEASURED}
        yield msgspec.convert(
            measured | {"kind": kind, "workload": row["workload"], "approach": row["approach"]}, DecisionRow
        )


def _measured(row: Mapping[str, str], name: str) -> Measured | None:
    mean, low, high = (row[f"{name}{end}"] for end in ("", "_low", "_high"))
    return Measured(float(mean), float(low or mean), float(high or mean)) if mean else None
