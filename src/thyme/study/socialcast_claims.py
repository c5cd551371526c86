"""What the SocialCast paper states about its evaluation (§V), beside what runs of its points gave.

A claim is put as numbers that runs give, and holds or not by the rule that stands beside it here. A number that is
stated holds within `NEAR`; comparisons hold as they are written. Claims whose points were not run are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec
import numpy as np

from thyme.study.socialcast_figures import Found
from thyme.study.socialcast_points import PREDICTION, RANDOM, SocialMeasure, SocialPoint

NEAR = 0.05
"""How far a share may be from a stated one."""
SIMILAR = 0.25
"""Traffic is similar if it differs by less than this share."""


class SocialClaim(msgspec.Struct, frozen=True):
    id: str
    statement: str
    measured: str
    holds: bool
    runs: int


class _Runs:
    """Looks up runs by figure, series and place; `Missing` if there are none."""

    def __init__(self, points: Sequence[SocialPoint], found: Found) -> None:
        self._keys = {(point.figure, point.series, float(point.x)): point.key for point in points}
        self._found = found
        self.used: list[int] = []

    def at(self, figure: str, series: str, x: float) -> Sequence[SocialMeasure]:
        runs = self._found.get(self._keys.get((figure, series, float(x)), b""), ())
        if not runs:
            raise _Missing
        self.used.append(len(runs))
        return runs


class _Missing(Exception):
    """A point of the claim was not run."""


Judged = tuple[str, bool]


def judge_socialcast(points: Sequence[SocialPoint], found: Found) -> Iterator[SocialClaim]:
    for id_, statement, rule in _RULES:
        runs = _Runs(points, found)
        try:
            measured, holds = rule(runs)
        except _Missing:
            continue
        yield SocialClaim(id_, statement, measured, holds, min(runs.used))


def _delivery(runs: Sequence[SocialMeasure]) -> float:
    return float(np.mean([run.delivery for run in runs]))


def _traffic(runs: Sequence[SocialMeasure]) -> float:
    return float(np.mean([run.traffic for run in runs]))


def _latency(runs: Sequence[SocialMeasure]) -> float:
    return float(np.mean([run.latency_s for run in runs]))


def _largest_hops(runs: Sequence[SocialMeasure]) -> int:
    return max((hop for run in runs for hop in run.hops), default=0)


def _buffers(runs: Sequence[SocialMeasure], holds: Callable[[int], bool]) -> float:
    return float(np.mean([holds(size) for run in runs for size in run.buffered]))


def _s01(runs: _Runs) -> Judged:
    share = _delivery(runs.at("3", PREDICTION, 5))
    return f"{share:.3f}", abs(share - 0.93) <= NEAR


def _s02(runs: _Runs) -> Judged:
    share = _delivery(runs.at("3", RANDOM, 5))
    return f"{share:.3f}", abs(share - 0.40) <= NEAR


def _s03(runs: _Runs) -> Judged:
    share = _delivery(runs.at("3", RANDOM, 15))
    return f"{share:.3f}", abs(share - 0.90) <= NEAR


def _s04(runs: _Runs) -> Judged:
    ours, random = (_traffic(runs.at("3", series, 5)) for series in (PREDICTION, RANDOM))
    return f"{ours:.0f} and {random:.0f}", abs(ours / random - 1.0) <= SIMILAR


def _s05(runs: _Runs) -> Judged:
    uniform, own = (_latency(runs.at("4", f"{who} publishers", 3)) for who in ("uniform", "subscribing"))
    return f"{uniform:.0f} s and {own:.0f} s", own < uniform


def _s06(runs: _Runs) -> Judged:
    share = _delivery(runs.at("5", PREDICTION, 15))
    return f"{share:.3f}", share > 0.90


def _s07(runs: _Runs) -> Judged:
    short, long = (_delivery(runs.at("5", RANDOM, hops)) for hops in (15, 35))
    return f"{short:.3f} at 15, {long:.3f} at 35", short < 0.90 <= long


def _s08(runs: _Runs) -> Judged:
    at_15, at_25, at_35 = (_traffic(runs.at("5", PREDICTION, hops)) for hops in (15, 25, 35))
    return f"{at_15:.0f}, {at_25:.0f}, {at_35:.0f} at 15, 25, 35 hops", at_35 <= 1.05 * at_25


def _s09(runs: _Runs) -> Judged:
    ours, random = (_largest_hops(runs.at("6", series, 0)) for series in (PREDICTION, RANDOM))
    return f"{ours} and {random}", ours <= 31 < random


def _s10(runs: _Runs) -> Judged:
    default = runs.at("7", PREDICTION, 0)
    few, many = _buffers(default, lambda size: size < 5), _buffers(default, lambda size: size > 30)
    return f"{few:.2f} fewer than 5, {many:.2f} more than 30", abs(few - 0.5) <= 0.1


def _s11(runs: _Runs) -> Judged:
    few = _buffers(runs.at("7", RANDOM, 0), lambda size: size < 10)
    return f"{few:.2f} below 10", few > 0.5


def _s12(runs: _Runs) -> Judged:
    without, half = (_delivery(runs.at("8", f"w_col = {weight:g}", 6)) for weight in (0.0, 0.5))
    return f"{without:.3f} at w_col 0, {half:.3f} at 0.5", without < half - NEAR


def _s13(runs: _Runs) -> Judged:
    alone, half = (_latency(runs.at("8", f"w_col = {weight:g}", 6)) for weight in (1.0, 0.5))
    return f"{alone:.0f} s at w_cdc 0, {half:.0f} s at 0.5", half < alone


def _s14(runs: _Runs) -> Judged:
    few, many = (runs.at("9", f"{PREDICTION}, γ = 3", interests) for interests in (7, 20))
    least = min(_delivery(few), _delivery(many))
    told = f"{_traffic(few):.0f} at 7, {_traffic(many):.0f} at 20; delivery at least {least:.3f}"
    return told, _traffic(many) < _traffic(few) and least > 0.80


def _s15(runs: _Runs) -> Judged:
    ours, random = (runs.at("10", series, 8_000) for series in (PREDICTION, RANDOM))
    told = f"{_delivery(ours):.3f} and {_delivery(random):.3f}; traffic {_traffic(ours):.0f} and {_traffic(random):.0f}"
    complete = min(_delivery(ours), _delivery(random)) >= 1.0 - NEAR
    return f"at 8 km: {told}", complete and _traffic(ours) < _traffic(random)


def _s16(runs: _Runs) -> Judged:
    deviation = float(np.std([run.delivery for run in runs.at("7", PREDICTION, 0)]))
    return f"{deviation:.3f} with the defaults", deviation <= 0.016


_RULES: tuple[tuple[str, str, Callable[[_Runs], Judged]], ...] = (
    ("S01", "γ = 5: SocialCast delivers 93 %", _s01),
    ("S02", "γ = 5: without prediction 40 %", _s02),
    ("S03", "without prediction, three times the copies give about 90 %", _s03),
    ("S04", "traffic is similar with the same γ", _s04),
    ("S05", "latency is lower if publishers subscribe", _s05),
    ("S06", "15 hops suffice for more than 90 %", _s06),
    ("S07", "without prediction, 90 % needs at least 35 hops", _s07),
    ("S08", "traffic saturates above 25 hops", _s08),
    ("S09", "no delivery needs more than 31 hops, against 93", _s09),
    ("S10", "about half of the nodes buffer fewer than 5, 2 % more than 30", _s10),
    ("S11", "without prediction, most nodes buffer fewer than 10", _s11),
    ("S12", "delivery drops where w_col < 0.5", _s12),
    ("S13", "at 6 m/s, w_cdc = 0.5 instead of 0 lowers latency (4,000 s to below 3,000 s)", _s13),
    ("S14", "7 to 20 interests: traffic falls (15,000 to 11,000), delivery above 80 %", _s14),
    ("S15", "with no limit of hops both deliver all, SocialCast with less traffic when sparse", _s15),
    ("S16", "largest deviation of delivery 0.016", _s16),
)
