"""`thyme bench live`: the same measurements for live nodes and for others, and a word where somebody is not there."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from functools import partial
from io import StringIO
from pathlib import Path

from rich.console import Console

from thyme.bench.live.contest.contender import Ability, Contender, Publisher, Server
from thyme.bench.live.contest.floors import BareUdp
from thyme.bench.live.contest.measuring import Figures, Plan, measure
from thyme.bench.live.contest.nodes import Nodes
from thyme.bench.live.contest.servers import lacking
from thyme.bench.live.contest.table import render

FEW = Plan(single=5, many=200, past=50, idle_s=0.1)


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
    told = StringIO()
    render([found, Figures("Zenoh", p50_s=1e-4, per_s=10.0)], FEW, Console(file=told, width=200))
    assert "no-such-server and the Python package of no_such_client" in told.getvalue()


def test_ratios_are_to_zenoh_and_jetstream_of_the_same_run() -> None:
    told = StringIO()
    rows = [
        Figures("Zenoh", p50_s=1e-4, per_s=10.0),
        Figures("NATS with JetStream", p50_s=2e-4, past_s=2.0, kept_per_s=5.0),
        Figures("Thyme-LS", p50_s=3e-4, past_s=5.0, past_lost=7, kept_per_s=6.0, synced=True),
    ]
    render(rows, FEW, Console(file=told, width=200))
    line = next(line for line in told.getvalue().splitlines() if "Thyme-LS" in line)
    assert [word for word in ("3.0", "2.5", "7 lost") if word not in line] == []
    assert "(5)" in told.getvalue()


def test_where_nothing_of_the_past_is_found_no_time_is_told() -> None:
    told = StringIO()
    render([Figures("Thyme-LS, publisher dead", past_lost=7)], FEW, Console(file=told, width=200))
    assert "all lost" in told.getvalue()


class Failing(Contender):
    name = "Failing"
    abilities = Ability.PAST

    def publishing(self, server: Server, folder: Path | None) -> AbstractAsyncContextManager[Publisher]:
        raise SystemExit(1)


def test_one_that_fails_does_not_end_the_contest() -> None:
    assert "failed" in measure(Failing(), Failing, FEW).missing
