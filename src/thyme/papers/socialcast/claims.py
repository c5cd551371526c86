"""What the SocialCast paper states about its evaluation (§V), beside what runs of its points gave.

A claim is stated in numbers from runs (means with 95 % intervals), and holds or not by the bounds beside it. A number
that is stated holds if the mean is within `NEAR` of it; comparisons hold as they are written. Claims whose points were
not run are not tested.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from thyme.papers.socialcast.figures import Found
from thyme.papers.socialcast.points import PREDICTION, RANDOM, SocialMeasure, SocialPoint
from thyme.study.claims import Bound, Claim
from thyme.study.results import Summary, summary_of

NEAR = 0.05
"""How far a share may be from a stated one."""
SIMILAR = 0.25
"""Traffic is similar if it differs by less than this share."""
SATURATED = 1.05
"""Traffic has levelled off if twice the hops add less than this."""
DEVIATION = 0.016
"""Of delivery between the runs of a point, at its largest (§V)."""
Runs = Sequence[SocialMeasure]


class _Points:
    """Looks up runs by figure, series and place; `Missing` if there are none."""

    def __init__(self, points: Sequence[SocialPoint], found: Found) -> None:
        self._keys = {(point.figure, point.series, float(point.x)): point.key for point in points}
        self._found = found

    def at(self, figure: str, series: str, x: float) -> Runs:
        runs = self._found.get(self._keys.get((figure, series, float(x)), b""), ())
        if not runs:
            raise _Missing
        return runs

    def repeated(self) -> list[Runs]:
        """All points, if every one was run at least twice."""
        runs = [self._found.get(key, ()) for key in dict.fromkeys(self._keys.values())]
        if min(map(len, runs), default=0) < 2:
            raise _Missing
        return runs


class _Missing(Exception):
    """A point of the claim was not run."""


Judged = tuple[str, bool]


def judge_socialcast(points: Sequence[SocialPoint], found: Found) -> Iterator[Claim]:
    lookup = _Points(points, found)
    for claim, test in _TESTS:
        try:
            yield claim.judged(*test(lookup))
        except _Missing:
            yield claim


def _delivery(runs: Runs) -> Summary:
    return _summary([run.delivery for run in runs])


def _traffic(runs: Runs) -> Summary:
    return _summary([float(run.traffic) for run in runs])


def _latency(runs: Runs) -> Summary:
    return _summary([run.latency_s for run in runs])


def _summary(values: Sequence[float]) -> Summary:
    """Of the runs that gave a number; NaN, which no bound holds, if none did."""
    return summary_of(values) or Summary(float("nan"), None, None, None, 0)


def _is_less(one: Summary, other: Summary) -> bool:
    return Bound("<", other.mean).holds([one])


def _share(found: Summary) -> str:
    return f"{found.mean:.3f} ± {found.half_width:.3f}"


def _messages(found: Summary) -> str:
    return f"{found.mean:,.0f} ± {found.half_width:,.0f}"


def _seconds(found: Summary) -> str:
    return f"{_messages(found)} s"


def _largest_hops(runs: Runs) -> int:
    return max((hop for run in runs for hop in run.hops), default=0)


def _buffers(runs: Runs, holds: Callable[[int], bool]) -> float:
    return float(np.mean([holds(size) for run in runs for size in run.buffered]))


def _stated_delivery(figure: str, series: str, x: float, bound: Bound) -> Callable[[_Points], Judged]:
    def test(points: _Points) -> Judged:
        found = _delivery(points.at(figure, series, x))
        return _share(found), bound.holds([found])

    return test


def _s04(points: _Points) -> Judged:
    ours, random = (_traffic(points.at("3", series, 5)) for series in (PREDICTION, RANDOM))
    similar = Bound("=", 1.0, near=SIMILAR).holds([ours.mean / random.mean])
    return f"{_messages(ours)} and {_messages(random)}", similar


def _s05(points: _Points) -> Judged:
    uniform, own = (_latency(points.at("4", f"{who} publishers", 3)) for who in ("uniform", "subscribing"))
    return f"{_seconds(uniform)} and {_seconds(own)}", _is_less(own, uniform)


def _s07(points: _Points) -> Judged:
    short, long = (_delivery(points.at("5", RANDOM, hops)) for hops in (15, 35))
    holds = Bound("<", 0.90).holds([short]) and Bound(">=", 0.90).holds([long])
    return f"{_share(short)} at 15, {_share(long)} at 35", holds


def _s08(points: _Points) -> Judged:
    found = [_traffic(points.at("5", PREDICTION, hops)) for hops in (15, 25, 35, 50)]
    told = ", ".join(_messages(each) for each in found)
    return f"{told} at 15, 25, 35, 50 hops", Bound("<=", SATURATED * found[1].mean).holds(found[3:])


def _s09(points: _Points) -> Judged:
    ours, random = (_largest_hops(points.at("6", series, 0)) for series in (PREDICTION, RANDOM))
    return f"{ours} and {random}", Bound("<=", 31.0).holds([ours]) and Bound(">", 31.0).holds([random])


def _s10(points: _Points) -> Judged:
    default = points.at("7", PREDICTION, 0)
    few, many = _buffers(default, lambda size: size < 5), _buffers(default, lambda size: size > 30)
    holds = Bound("=", 0.5, near=0.1).holds([few]) and Bound("=", 0.02, near=NEAR).holds([many])
    return f"{few:.2f} fewer than 5, {many:.2f} more than 30", holds


def _s11(points: _Points) -> Judged:
    few = _buffers(points.at("7", RANDOM, 0), lambda size: size < 10)
    return f"{few:.2f} below 10", Bound(">", 0.5).holds([few])


def _s12(points: _Points) -> Judged:
    without, half = (_delivery(points.at("8", f"w_col = {weight:g}", 6)) for weight in (0.0, 0.5))
    drops = Bound("<", half.mean - NEAR).holds([without])
    return f"{_share(without)} at w_col 0, {_share(half)} at 0.5", drops


def _s13(points: _Points) -> Judged:
    alone, half = (_latency(points.at("8", f"w_col = {weight:g}", 6)) for weight in (1.0, 0.5))
    return f"{_seconds(alone)} at w_cdc 0, {_seconds(half)} at 0.5", _is_less(half, alone)


def _s14(points: _Points) -> Judged:
    few, many = (points.at("9", f"{PREDICTION}, γ = 3", interests) for interests in (7, 20))
    traffic, delivery = [_traffic(few), _traffic(many)], [_delivery(few), _delivery(many)]
    told = f"{_messages(traffic[0])} at 7, {_messages(traffic[1])} at 20"
    holds = _is_less(traffic[1], traffic[0]) and Bound(">", 0.80).holds(delivery)
    return f"{told}; delivery {_share(delivery[0])} and {_share(delivery[1])}", holds


def _s15_delivery(points: _Points) -> Judged:
    both = [_delivery(points.at("10", series, 8_000)) for series in (PREDICTION, RANDOM)]
    return f"at 8 km: {_share(both[0])} and {_share(both[1])}", Bound(">=", 1.0 - NEAR).holds(both)


def _s15_traffic(points: _Points) -> Judged:
    ours, random = (_traffic(points.at("10", series, 8_000)) for series in (PREDICTION, RANDOM))
    return f"at 8 km: {_messages(ours)} and {_messages(random)}", _is_less(ours, random)


def _s16_everywhere(points: _Points) -> Judged:
    """Over all points that were run: the statement has no other bound."""
    of_point = [_delivery(runs).deviation or 0.0 for runs in points.repeated()]
    return f"{max(of_point):.3f} at its largest", Bound("<=", DEVIATION).holds(of_point)


def _s16_defaults(points: _Points) -> Judged:
    default = _delivery(points.at("7", PREDICTION, 0)).deviation or 0.0
    return f"{default:.3f} with the defaults", Bound("<=", DEVIATION).holds([default])


def _equals(value: float) -> Bound:
    return Bound("=", value, near=NEAR)


_TESTS: tuple[tuple[Claim, Callable[[_Points], Judged]], ...] = (
    (
        Claim("S01", "Figure 3", "γ = 5: SocialCast delivers 93 %"),
        _stated_delivery("3", PREDICTION, 5, _equals(0.93)),
    ),
    (
        Claim("S02", "Figure 3", "γ = 5: without prediction 40 %"),
        _stated_delivery("3", RANDOM, 5, _equals(0.40)),
    ),
    (
        Claim("S03", "Figure 3", "without prediction, three times the copies give about 90 %"),
        _stated_delivery("3", RANDOM, 15, _equals(0.90)),
    ),
    (Claim("S04", "Figure 3", "traffic is similar with the same γ"), _s04),
    (Claim("S05", "Figure 4", "latency is lower if publishers subscribe"), _s05),
    (
        Claim("S06", "Figure 5", "15 hops suffice for more than 90 %"),
        _stated_delivery("5", PREDICTION, 15, Bound(">", 0.90)),
    ),
    (Claim("S07", "Figure 5", "without prediction, 90 % needs at least 35 hops"), _s07),
    (Claim("S08", "Figure 5", "traffic saturates above 25 hops"), _s08),
    (Claim("S09", "Figure 6", "no delivery needs more than 31 hops, against 93"), _s09),
    (Claim("S10", "Figure 7", "about half of the nodes buffer fewer than 5, 2 % more than 30"), _s10),
    (Claim("S11", "Figure 7", "without prediction, most nodes buffer fewer than 10"), _s11),
    (Claim("S12", "Figure 8", "delivery drops where w_col < 0.5"), _s12),
    (
        Claim("S13", "Figure 8", "at 6 m/s, w_cdc = 0.5 instead of 0 lowers latency (4,000 s to below 3,000 s)"),
        _s13,
    ),
    (Claim("S14", "Figure 9", "7 to 20 interests: traffic falls (15,000 to 11,000), delivery above 80 %"), _s14),
    (Claim("S15a", "Figure 10", "with no limit of hops both deliver all"), _s15_delivery),
    (Claim("S15b", "Figure 10", "with no limit of hops SocialCast has less traffic when sparse"), _s15_traffic),
    (Claim("S16a", "§V", "largest deviation of delivery 0.016, over all points"), _s16_everywhere),
    (Claim("S16b", "§V", "largest deviation of delivery 0.016, with the defaults"), _s16_defaults),
)
