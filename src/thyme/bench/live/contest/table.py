"""The contest as one table: what each contender needs, and how many times as much as those it is compared with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from thyme.bench.live.contest.brokers import Mosquitto, Nats, Redis
from thyme.bench.live.contest.contender import Contender
from thyme.bench.live.contest.floors import BareUdp, Zenoh
from thyme.bench.live.contest.measuring import Figures, Plan, measure
from thyme.bench.live.contest.nodes import Nodes

CONTENDERS: tuple[Callable[[], Contender], ...] = (
    BareUdp,
    Zenoh,
    Nats,
    Mosquitto,
    Redis,
    partial(Nodes, "ls", signed=False),
    partial(Nodes, "ls"),
    partial(Nodes, "dcs", signed=False),
    partial(Nodes, "dcs"),
    partial(Nodes, "dcs", dies=True),
)


def contest(plan: Plan, tell: Callable[[str], None] = lambda name: None, only: Sequence[str] = ()) -> list[Figures]:
    found = []
    for find in CONTENDERS:
        contender = find()
        if not only or any(part.lower() in contender.name.lower() for part in only):
            tell(contender.name)
            found.append(measure(contender, find, plan))
    return found


def render(found: list[Figures], plan: Plan, console: Console) -> None:
    by_name = {figures.name: figures for figures in found}
    zenoh, jetstream = by_name.get(Zenoh.name), by_name.get(Nats.name)
    table = Table(box=SIMPLE_HEAD)
    table.add_column("two processes on loopback")
    past = f"{plan.past:,} past"
    for column in (
        "p50",
        "p99",
        "× Zenoh",
        "a second",
        "lost",
        "CPU each",
        "kept a second",
        past,
        "× JetStream",
        "idle",
    ):
        table.add_column(column, justify="right")
    for figures in found:
        if figures.missing:
            table.add_row(figures.name, f"not there: {figures.missing}")
        else:
            table.add_row(figures.name, *_cells(figures, zenoh, jetstream))
    console.print(table)
    console.print(
        "  p50, p99: a single notification of 100 bytes. a second, CPU each: as many as there can be, all processes. "
        "kept a second: acknowledged; in brackets: before the disk has it. past: to a subscriber who comes late."
    )


def _cells(figures: Figures, zenoh: Figures | None, jetstream: Figures | None) -> list[str]:
    kept = _number(figures.kept_per_s)
    return [
        _microseconds(figures.p50_s),
        _microseconds(figures.p99_s),
        _times(figures.p50_s, zenoh.p50_s if zenoh else None),
        _number(figures.per_s),
        f"{figures.lost:,}" if figures.per_s else "",
        _microseconds(figures.cpu_s),
        kept if figures.synced or not kept else f"({kept})",
        _seconds(figures),
        _times(figures.past_s, jetstream.past_s if jetstream else None),
        f"{figures.idle:.1%}" if figures.idle is not None else "",
    ]


def _seconds(figures: Figures) -> str:
    if figures.past_s is None:
        return "all lost" if figures.past_lost else ""
    lost = f", {figures.past_lost:,} lost" if figures.past_lost else ""
    return f"{figures.past_s:.2f} s{lost}"


def _microseconds(value_s: float | None) -> str:
    return "" if value_s is None else f"{value_s * 1e6:,.0f} µs"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}"


def _times(value_s: float | None, other_s: float | None) -> str:
    return "" if value_s is None or not other_s else f"{value_s / other_s:.1f}"
