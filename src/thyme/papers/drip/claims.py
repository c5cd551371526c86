"""What the DRIP paper states about its evaluation (§VI-B, §V-C), beside what runs of its points gave.

A claim is stated in numbers from runs, and holds or not by the rule beside it: a trend holds if the means of the first
and the last point of every line differ that way, a comparison if it holds at every k. Claims whose points were not run
are not tested.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from thyme.papers.drip.points import (
    ABILITY,
    BROKERS,
    COPIES,
    RANDOM,
    SF,
    SF_BRIDGES,
    DripMeasure,
    DripPoint,
    copies_series,
)
from thyme.study.claims import Bound, Claim, Trend

Found = Mapping[bytes, Sequence[DripMeasure]]
"""Runs by `DripPoint.key`."""
Read = Callable[[DripMeasure], float]


GROWS, FALLS = Trend("grows", change=0.0), Trend("falls", change=0.0)
CLAIMS = (
    Claim("D01", "Figure 3a", "broker coverage grows with m"),
    Claim("D02", "Figure 3a", "broker coverage falls with k"),
    Claim("D03", "Figure 3b", "DRIP's delay is below SF's"),
    Claim("D04", "Figure 3b", "delay falls with m"),
    Claim("D05", "Figure 3b", "delay grows with k"),
    Claim("D06", "Figure 4", "selection by ability has the lower delay"),
)


def judge_drip(points: Sequence[DripPoint], found: Found) -> Iterator[Claim]:
    table = _Table(points, found)
    tests = (
        _over_copies(table, "3a", _coverage, GROWS),
        _over_brokers(table, "3a", _coverage, FALLS),
        _below_sf(table),
        _over_copies(table, "3b", _delay, FALLS),
        _over_brokers(table, "3b", _delay, GROWS),
        _below_random(table),
    )
    for claim, parts in zip(CLAIMS, tests, strict=True):
        told = "; ".join(text for text, _ in parts)
        yield claim.judged(told, all(holds for _, holds in parts)) if parts else claim


Place = tuple[str, str, int]
"""⟨figure, series, k⟩."""
Parts = list[tuple[str, bool]]
"""What was measured at one place of a claim, in words, and whether the claim holds there."""


class _Table:
    """Runs by figure, series and k."""

    def __init__(self, points: Sequence[DripPoint], found: Found) -> None:
        self._runs = {(point.figure, point.series, point.x): found.get(point.key, ()) for point in points}

    def mean(self, place: Place, read: Read) -> float | None:
        runs = self._runs.get(place, ())
        return float(np.mean([read(run) for run in runs])) if runs else None

    def difference(self, one: Place, other: Place, read: Read) -> str:
        """Of `one` less the other, as mean and standard error over the seeds that both have; a seed has the same
        movement and the same events everywhere."""
        by_seed = [{run.seed: read(run) for run in self._runs.get(place, ())} for place in (one, other)]
        seeds = sorted(by_seed[0].keys() & by_seed[1].keys())
        if len(seeds) < 2:
            return ""
        found = [by_seed[0][seed] - by_seed[1][seed] for seed in seeds]
        return f" ({np.mean(found):+.2g} ± {np.std(found, ddof=1) / len(found) ** 0.5:.2g})"


def _coverage(run: DripMeasure) -> float:
    return run.coverage


def _delay(run: DripMeasure) -> float:
    return run.delay_s


def _over_copies(table: _Table, figure: str, read: Read, trend: Trend) -> Parts:
    lines = {f"k = {k}": {m: (figure, copies_series(m), k) for m in COPIES} for k in BROKERS}
    return _trends(table, lines, "m", read, trend)


def _over_brokers(table: _Table, figure: str, read: Read, trend: Trend) -> Parts:
    lines = {f"m = {m}": {k: (figure, copies_series(m), k) for k in BROKERS} for m in COPIES}
    return _trends(table, lines, "k", read, trend)


def _trends(table: _Table, lines: dict[str, dict[int, Place]], axis: str, read: Read, trend: Trend) -> Parts:
    parts: Parts = []
    for name, line in lines.items():
        known = {x: value for x, place in line.items() if (value := table.mean(place, read)) is not None}
        if len(known) > 1:
            low, high = min(known), max(known)
            change = table.difference(line[high], line[low], read)
            text = f"{name}: {known[low]:.3g} at {axis} = {low}, {known[high]:.3g} at {axis} = {high}{change}"
            parts.append((text, trend.holds([known[low], known[high]])))
    return parts


def _below_sf(table: _Table) -> Parts:
    parts: Parts = []
    for k in BROKERS:
        sf, wider = (table.mean(("3b", series, k), _delay) for series in (SF, SF_BRIDGES))
        drip = [value for m in COPIES if (value := table.mean(("3b", copies_series(m), k), _delay)) is not None]
        if sf is not None and drip:
            text = f"k = {k}: {min(drip):.3g} to {max(drip):.3g} s against {sf:.3g} s"
            if wider is not None:
                text += f" (over bridges {wider:.3g} s)"
            parts.append((text, Bound("<", sf).holds(drip)))
    return parts


def _below_random(table: _Table) -> Parts:
    parts: Parts = []
    for k in BROKERS:
        places: tuple[Place, Place] = ("4", ABILITY, k), ("4", RANDOM, k)
        able, chance = (table.mean(place, _delay) for place in places)
        if able is not None and chance is not None:
            change = table.difference(*places, _delay)
            parts.append((f"k = {k}: {able:.3g} s against {chance:.3g} s{change}", Bound("<", chance).holds([able])))
    return parts
