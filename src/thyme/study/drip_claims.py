"""What the DRIP paper states about its evaluation (§VI-B, §V-C), beside what runs of its points gave.

A claim is put as numbers that runs give, and holds or not by the rule that stands beside it here: a trend holds if the
means of the first and the last point of every line differ that way, a comparison if it holds at every k. Claims whose
points were not run are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec
import numpy as np

from thyme.study.drip_points import ABILITY, BROKERS, COPIES, RANDOM, SF, DripMeasure, DripPoint, copies_series

Found = Mapping[bytes, Sequence[DripMeasure]]
"""Runs by `DripPoint.key`."""
Read = Callable[[DripMeasure], float]


class DripClaim(msgspec.Struct, frozen=True):
    id: str
    statement: str
    measured: str
    holds: bool
    runs: int


def judge_drip(points: Sequence[DripPoint], found: Found) -> Iterator[DripClaim]:
    table = _Table(points, found)
    for id_, statement, parts in (
        ("D01", "broker coverage grows with m", _over_copies(table, "3a", _coverage, grows=True)),
        ("D02", "broker coverage falls with k", _over_brokers(table, "3a", _coverage, grows=False)),
        ("D03", "DRIP's delay is below SF's", _below_sf(table)),
        ("D04", "delay falls with m", _over_copies(table, "3b", _delay, grows=False)),
        ("D05", "delay grows with k", _over_brokers(table, "3b", _delay, grows=True)),
        ("D06", "selection by ability has the lower delay", _below_random(table)),
    ):
        if parts:
            measured = "; ".join(text for text, _ in parts)
            yield DripClaim(id_, statement, measured, all(holds for _, holds in parts), table.fewest_runs)


class _Table:
    """Means by figure, series and k."""

    def __init__(self, points: Sequence[DripPoint], found: Found) -> None:
        self._runs = {(point.figure, point.series, point.x): found.get(point.key, ()) for point in points}
        self.fewest_runs = min((len(runs) for runs in self._runs.values() if runs), default=0)

    def mean(self, figure: str, series: str, k: int, read: Read) -> float | None:
        runs = self._runs.get((figure, series, k), ())
        return float(np.mean([read(run) for run in runs])) if runs else None


def _coverage(run: DripMeasure) -> float:
    return run.coverage


def _delay(run: DripMeasure) -> float:
    return run.delay_s


Parts = list[tuple[str, bool]]


def _over_copies(table: _Table, figure: str, read: Read, *, grows: bool) -> Parts:
    return _trends(
        {
            f"k = {k}": [(m, table.mean(figure, copies_series(m), k, read)) for m in COPIES]
            for k in BROKERS
        },
        "m",
        grows,
    )  # fmt: skip


def _over_brokers(table: _Table, figure: str, read: Read, *, grows: bool) -> Parts:
    return _trends(
        {
            f"m = {m}": [(k, table.mean(figure, copies_series(m), k, read)) for k in BROKERS]
            for m in COPIES
        },
        "k",
        grows,
    )  # fmt: skip


def _trends(lines: dict[str, list[tuple[int, float | None]]], axis: str, grows: bool) -> Parts:
    parts: Parts = []
    for name, line in lines.items():
        known = [(x, value) for x, value in line if value is not None]
        if len(known) > 1:
            (low, first), (high, last) = known[0], known[-1]
            text = f"{name}: {first:.3g} at {axis} = {low}, {last:.3g} at {axis} = {high}"
            parts.append((text, (last > first) == grows and last != first))
    return parts


def _below_sf(table: _Table) -> Parts:
    parts: Parts = []
    for k in BROKERS:
        sf = table.mean("3b", SF, k, _delay)
        drip = [value for m in COPIES if (value := table.mean("3b", copies_series(m), k, _delay)) is not None]
        if sf is not None and drip:
            parts.append((f"k = {k}: {min(drip):.3g} to {max(drip):.3g} s against {sf:.3g} s", max(drip) < sf))
    return parts


def _below_random(table: _Table) -> Parts:
    parts: Parts = []
    for k in BROKERS:
        able, chance = table.mean("4", ABILITY, k, _delay), table.mean("4", RANDOM, k, _delay)
        if able is not None and chance is not None:
            parts.append((f"k = {k}: {able:.3g} s against {chance:.3g} s", able < chance))
    return parts
