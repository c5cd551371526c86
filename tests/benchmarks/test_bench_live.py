"""`python -m benchmarks live`: the same measurements for live nodes and for others."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from functools import partial
from io import StringIO
from pathlib import Path

from msgspec.structs import fields as fields_of
from rich.console import Console

from benchmarks.live.contest.contender import Ability, Contender, Publisher, Server
from benchmarks.live.contest.floors import BareUdp
from benchmarks.live.contest.measuring import Figures, Plan, measure
from benchmarks.live.contest.nodes import Nodes
from benchmarks.live.contest.rounds import Round, compare, of, spread
from benchmarks.live.contest.servers import lacking
from benchmarks.live.contest.table import WRITING, render
from benchmarks.live.contest.wanted import WANTED, Bound, judge

FEW = Plan(single=5, many=200, past=50, idle_s=0.1)


def told_of(*rounds: Round) -> str:
    told = StringIO()
    for found in rounds:
        compare(found)
    render(rounds, FEW, Console(file=told, width=200))
    return told.getvalue()


def a_round(zenoh_us: float, node_us: float, plain_us: float = 0.0, **figures: float) -> Round:
    node = Figures("Thyme-LS", p50_s=node_us / 1e6)
    for name, value in figures.items():
        setattr(node, name, value)
    plain = Figures("Thyme-LS, unsigned", p50_s=plain_us / 1e6 if plain_us else None)
    return [Figures("Zenoh", p50_s=zenoh_us / 1e6), plain, node]


class Absent(Contender):
    name = "Absent"

    def missing(self) -> str:
        return lacking("no-such-server", "no_such_client")


def test_nodes_are_measured_in_every_row_and_lose_nothing() -> None:
    found = measure(Nodes("ls"), partial(Nodes, "ls"), FEW)
    measured = [found.p50_s, found.per_s, found.cpu_s, found.kept_per_s, found.past_s]
    assert None not in measured
    assert (found.lost, found.past_lost, found.synced) == (0, 0, True)


def test_what_udp_cannot_do_stays_empty() -> None:
    found = measure(BareUdp(), BareUdp, FEW)
    assert (found.p50_s is None, found.lost) == (False, 0)
    assert (found.past_s, found.kept_per_s) == (None, None)


def test_who_is_not_there_is_named_with_what_lacks() -> None:
    found = measure(Absent(), Absent, FEW)
    told = told_of([found, Figures("Zenoh", p50_s=1e-4, per_s=10.0)])
    assert "no-such-server and the Python package of no_such_client" in told


def test_ratios_are_to_zenoh_and_jetstream_of_the_same_round() -> None:
    rows = [
        Figures("Zenoh", p50_s=1e-4, per_s=10.0),
        Figures("NATS with JetStream", p50_s=2e-4, past_s=2.0, kept_per_s=5.0),
        Figures("Thyme-LS", p50_s=3e-4, past_s=5.0, past_lost=7, kept_per_s=6.0, synced=True),
    ]
    told = told_of(rows)
    line = next(line for line in told.splitlines() if "Thyme-LS" in line)
    assert [word for word in ("3.0", "2.5") if word not in line] == []
    assert [word for word in ("(5)", "7 lost") if word not in told] == []


def test_where_nothing_of_the_past_is_found_no_time_is_told() -> None:
    assert "all lost" in told_of([Figures("Thyme-LS, publisher dead", past_lost=7)])


def test_a_ratio_over_rounds_is_the_median_of_those_within_each() -> None:
    """That of the medians, 360 and 200 µs, would be 1.8."""
    rounds = [a_round(100, 400), a_round(200, 240), a_round(300, 360)]
    for found in rounds:
        compare(found)
    ratio = spread(of("Thyme-LS", rounds), "p50_times")
    assert ratio is not None
    assert (round(ratio.median, 6), round(ratio.least, 6), round(ratio.most, 6), ratio.rounds) == (1.2, 1.2, 4.0, 3)


def test_what_signatures_cost_is_told_beside_the_unsigned_of_the_same_round() -> None:
    found = a_round(100, 390, plain_us=300)
    compare(found)
    signing_s = found[-1].signing_s
    assert signing_s is not None
    assert round(signing_s * 1e6) == 90


def test_figures_have_their_range_below_them() -> None:
    lines = told_of(a_round(100, 300), a_round(100, 200), a_round(100, 500)).splitlines()
    at = next(i for i, line in enumerate(lines) if line.split()[:1] == ["Thyme-LS"])
    assert [word for word in ("300 µs", "3.0") if word not in lines[at]] == []
    assert [word for word in ("200–500 µs", "2.0–5.0") if word not in lines[at + 1]] == []


def test_one_round_has_no_ranges_in_its_table() -> None:
    before_wanted = told_of(a_round(100, 300)).partition("wanted")[0]
    assert ("–" in before_wanted, "Medians" in before_wanted) == (False, False)


def test_what_was_lost_in_any_round_is_told() -> None:
    told = told_of(a_round(100, 300, per_s=9.0), a_round(100, 300, per_s=9.0, lost=3), a_round(100, 300, per_s=9.0))
    assert any(line.split()[:1] == ["Thyme-LS"] and " 3 " in line for line in told.splitlines())


def test_a_bound_is_reached_in_as_many_rounds_as_keep_it() -> None:
    most, least = Bound("Thyme-LS", "cpu_s", most=2.0), Bound("Thyme-LS", "per_s", least=5.0)
    rounds = [[Figures("Thyme-LS", cpu_s=cpu_s, per_s=per_s)] for cpu_s, per_s in ((1.0, 5.0), (2.0, 4.0), (3.0, 6.0))]
    assert [(verdict.reached, verdict.rounds) for verdict in judge(rounds, [most, least])] == [(2, 3), (2, 3)]


def test_what_was_not_measured_is_not_judged() -> None:
    assert judge([[Figures("Thyme-LS", p50_s=1.0)]]) == []
    assert "wanted" not in told_of([Figures("Thyme-LS", p50_s=1.0)])


def test_below_the_table_stands_which_bounds_were_reached() -> None:
    lines = told_of(a_round(100, 190), a_round(100, 210)).splitlines()
    line = next(line for line in lines if "× Zenoh" in line and "≤ 2.0" in line)
    assert line.rstrip().endswith("1 of 2")


def test_every_bound_is_on_a_figure_that_there_is() -> None:
    fields = {field.name for field in fields_of(Figures)}
    assert [bound for bound in WANTED if bound.measured not in fields or bound.measured not in WRITING] == []
    assert [bound for bound in WANTED if (bound.most is None) == (bound.least is None)] == []


def test_who_fails_in_one_round_is_told_by_the_others() -> None:
    told = told_of([Figures("Thyme-LS", missing="it failed")], [Figures("Thyme-LS", p50_s=1e-4)])
    assert "Thyme-LS (1 of 2 rounds)" in told
    assert "100 µs" in told


class Failing(Contender):
    name = "Failing"
    abilities = Ability.PAST

    def publishing(self, server: Server, folder: Path | None) -> AbstractAsyncContextManager[Publisher]:
        raise SystemExit(1)


def test_one_that_fails_does_not_end_the_contest() -> None:
    assert "failed" in measure(Failing(), Failing, FEW).missing
