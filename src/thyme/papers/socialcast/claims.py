"""What the SocialCast paper states about its evaluation (§V), beside what runs of its points gave.

A claim is put as numbers that runs give (means over runs with 95 % intervals), and holds or not by the rule that
stands beside it here. A number that is stated holds if the mean is within `NEAR` of it; comparisons hold as they are
written. Claims whose points were not run are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from thyme.papers.evaluated import Claim
from thyme.papers.socialcast.figures import Found
from thyme.papers.socialcast.points import PREDICTION, RANDOM, SocialMeasure, SocialPoint
from thyme.study.results import summary_of

NEAR = 0.05
"""How far a share may be from a stated one."""
SIMILAR = 0.25
"""Traffic is similar if it differs by less than this share."""
SATURATED = 1.05
"""Traffic has levelled off if twice the hops add less than this."""


class _Runs:
    """Looks up runs by figure, series and place; `Missing` if there are none."""

    def __init__(self, points: Sequence[SocialPoint], found: Found) -> None:
        self._keys = {(point.figure, point.series, float(point.x)): point.key for point in points}
        self._found = found

    def at(self, figure: str, series: str, x: float) -> Sequence[SocialMeasure]:
        runs = self._found.get(self._keys.get((figure, series, float(x)), b""), ())
        if not runs:
            raise _Missing
        return runs

    def repeated(self) -> list[Sequence[SocialMeasure]]:
        """All points, if every one was run at least twice."""
        runs = [self._found.get(key, ()) for key in dict.fromkeys(self._keys.values())]
        if min(map(len, runs), default=0) < 2:
            raise _Missing
        return runs


class _Missing(Exception):
    """A point of the claim was not run."""


Judged = tuple[str, bool]


def judge_socialcast(points: Sequence[SocialPoint], found: Found) -> Iterator[Claim]:
    for id_, statement, rule in _RULES:
        runs = _Runs(points, found)
        try:
            measured, holds = rule(runs)
        except _Missing:
            continue
        yield Claim(id_, statement, measured, holds)


def _delivery(runs: Sequence[SocialMeasure]) -> float:
    return float(np.mean([run.delivery for run in runs]))


def _traffic(runs: Sequence[SocialMeasure]) -> float:
    return float(np.mean([run.traffic for run in runs]))


def _latency(runs: Sequence[SocialMeasure]) -> float:
    return float(np.mean([run.latency_s for run in runs]))


def half_width(values: Sequence[float]) -> float:
    """Of the 95 % interval of the mean, by Student's distribution; 0 for a single run."""
    summary = summary_of(values)
    return summary.half_width if summary is not None else 0.0


def _share(runs: Sequence[SocialMeasure]) -> str:
    return f"{_delivery(runs):.3f} ± {half_width([run.delivery for run in runs]):.3f}"


def _messages(runs: Sequence[SocialMeasure]) -> str:
    return f"{_traffic(runs):,.0f} ± {half_width([float(run.traffic) for run in runs]):,.0f}"


def _seconds(runs: Sequence[SocialMeasure]) -> str:
    return f"{_latency(runs):,.0f} ± {half_width([run.latency_s for run in runs]):,.0f} s"


def _largest_hops(runs: Sequence[SocialMeasure]) -> int:
    return max((hop for run in runs for hop in run.hops), default=0)


def _buffers(runs: Sequence[SocialMeasure], holds: Callable[[int], bool]) -> float:
    return float(np.mean([holds(size) for run in runs for size in run.buffered]))


def _s01(runs: _Runs) -> Judged:
    found = runs.at("3", PREDICTION, 5)
    return _share(found), abs(_delivery(found) - 0.93) <= NEAR


def _s02(runs: _Runs) -> Judged:
    found = runs.at("3", RANDOM, 5)
    return _share(found), abs(_delivery(found) - 0.40) <= NEAR


def _s03(runs: _Runs) -> Judged:
    found = runs.at("3", RANDOM, 15)
    return _share(found), abs(_delivery(found) - 0.90) <= NEAR


def _s04(runs: _Runs) -> Judged:
    ours, random = (runs.at("3", series, 5) for series in (PREDICTION, RANDOM))
    return f"{_messages(ours)} and {_messages(random)}", abs(_traffic(ours) / _traffic(random) - 1.0) <= SIMILAR


def _s05(runs: _Runs) -> Judged:
    uniform, own = (runs.at("4", f"{who} publishers", 3) for who in ("uniform", "subscribing"))
    return f"{_seconds(uniform)} and {_seconds(own)}", _latency(own) < _latency(uniform)


def _s06(runs: _Runs) -> Judged:
    found = runs.at("5", PREDICTION, 15)
    return _share(found), _delivery(found) > 0.90


def _s07(runs: _Runs) -> Judged:
    short, long = (runs.at("5", RANDOM, hops) for hops in (15, 35))
    return f"{_share(short)} at 15, {_share(long)} at 35", _delivery(short) < 0.90 <= _delivery(long)


def _s08(runs: _Runs) -> Judged:
    found = [runs.at("5", PREDICTION, hops) for hops in (15, 25, 35, 50)]
    told = ", ".join(_messages(each) for each in found)
    return f"{told} at 15, 25, 35, 50 hops", _traffic(found[3]) <= SATURATED * _traffic(found[1])


def _s09(runs: _Runs) -> Judged:
    ours, random = (_largest_hops(runs.at("6", series, 0)) for series in (PREDICTION, RANDOM))
    return f"{ours} and {random}", ours <= 31 < random


def _s10(runs: _Runs) -> Judged:
    default = runs.at("7", PREDICTION, 0)
    few, many = _buffers(default, lambda size: size < 5), _buffers(default, lambda size: size > 30)
    return f"{few:.2f} fewer than 5, {many:.2f} more than 30", abs(few - 0.5) <= 0.1 and abs(many - 0.02) <= NEAR


def _s11(runs: _Runs) -> Judged:
    few = _buffers(runs.at("7", RANDOM, 0), lambda size: size < 10)
    return f"{few:.2f} below 10", few > 0.5


def _s12(runs: _Runs) -> Judged:
    without, half = (runs.at("8", f"w_col = {weight:g}", 6) for weight in (0.0, 0.5))
    return f"{_share(without)} at w_col 0, {_share(half)} at 0.5", _delivery(without) < _delivery(half) - NEAR


def _s13(runs: _Runs) -> Judged:
    alone, half = (runs.at("8", f"w_col = {weight:g}", 6) for weight in (1.0, 0.5))
    return f"{_seconds(alone)} at w_cdc 0, {_seconds(half)} at 0.5", _latency(half) < _latency(alone)


def _s14(runs: _Runs) -> Judged:
    few, many = (runs.at("9", f"{PREDICTION}, γ = 3", interests) for interests in (7, 20))
    told = f"{_messages(few)} at 7, {_messages(many)} at 20; delivery {_share(few)} and {_share(many)}"
    return told, _traffic(many) < _traffic(few) and min(_delivery(few), _delivery(many)) > 0.80


def _s15(runs: _Runs) -> Judged:
    ours, random = (runs.at("10", series, 8_000) for series in (PREDICTION, RANDOM))
    told = f"{_share(ours)} and {_share(random)}; traffic {_messages(ours)} and {_messages(random)}"
    complete = min(_delivery(ours), _delivery(random)) >= 1.0 - NEAR
    return f"at 8 km: {told}", complete and _traffic(ours) < _traffic(random)


def _s16(runs: _Runs) -> Judged:
    """Over all points that were run: the statement has no other bound."""
    of_point = [float(np.std([run.delivery for run in each], ddof=1)) for each in runs.repeated()]
    default = float(np.std([run.delivery for run in runs.at("7", PREDICTION, 0)], ddof=1))
    largest = max(of_point)
    return f"{largest:.3f} at its largest, {default:.3f} with the defaults", largest <= 0.016


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
