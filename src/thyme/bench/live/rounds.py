"""The benchmark of live nodes: what one hop costs beside bare UDP, in one run and between the same processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection

import msgspec
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from thyme.bench.live.bare import give_parts, take_parts
from thyme.bench.live.floor import echo, ping
from thyme.bench.live.notifications import Round, be_notified, insert
from thyme.bench.live.transfers import Transferred, give_object, take_object

PINGS = 2_000
SINGLE = 500


class LiveFigures(msgspec.Struct, frozen=True):
    floor_s: list[float]
    """Bare UDP there and back."""
    single: Round
    many: Round
    bare_s: float
    """A large object over bare UDP …"""
    honest_s: float
    """… and over UDP where each byte is sealed, hashed, written and copied as a node does."""
    large: Transferred


def bench_live(inserts: int, size_bytes: int) -> LiveFigures:
    with _process(echo) as pipe:
        floor_s = sorted(ping(pipe.recv(), PINGS))
        pipe.send("enough")
    with _process(be_notified) as pipe:
        single, many = insert(pipe, SINGLE, inserts)
    with _process(give_parts) as pipe:
        bare_s = take_parts(pipe, size_bytes, honest=False)
    with _process(give_parts) as pipe:
        honest_s = take_parts(pipe, size_bytes, honest=True)
    with _process(give_object) as pipe:
        large = take_object(pipe, size_bytes)
    return LiveFigures(floor_s, single, many, bare_s, honest_s, large)


def render(figures: LiveFigures) -> None:
    table = Table(box=SIMPLE_HEAD)
    for column in ("one hop on loopback", "p50", "p99", "a second", "lost"):
        table.add_column(column, justify="left" if column.startswith("one") else "right")
    floor_s = figures.floor_s
    echoes = f"{len(floor_s) / sum(floor_s):,.0f}"
    table.add_row("bare UDP, there and back", _microseconds(floor_s, 0.5), _microseconds(floor_s, 0.99), echoes, "")
    for name, done in (
        ("notification, LS", figures.single),
        ("notifications of a plain loop of inserts", figures.many),
    ):
        rate = f"{done.notified / done.wall_s:,.0f}" if done is figures.many else ""
        lost = f"{done.inserted - done.notified:,} of {done.inserted:,}"
        table.add_row(name, _microseconds(done.took_s, 0.5), _microseconds(done.took_s, 0.99), rate, lost)
    Console().print(table)
    large = figures.large
    size_mb = large.size_bytes / 1e6
    Console().print(
        f"  {size_mb:,.0f} MB to a file: {large.wall_s:.2f} s ({size_mb / large.wall_s:,.0f} MB/s), "
        f"{large.cpu_s:.2f} s of CPU time, memory grew by {large.grown_bytes / 1e6:,.0f} MB; "
        f"UDP with the same window: {figures.bare_s:.2f} s bare, {figures.honest_s:.2f} s if each byte is sealed, "
        "hashed, written and copied as well"
    )


def _microseconds(took_s: list[float], share: float) -> str:
    return f"{took_s[min(len(took_s) - 1, int(share * len(took_s)))] * 1e6:,.0f} µs" if took_s else ""


@contextmanager
def _process(target: Callable[[Connection], None]) -> Iterator[Connection]:
    """Another process, and a pipe to it."""
    context = get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=target, args=(there,), daemon=True)
    process.start()
    try:
        yield here
        process.join(10.0)
    finally:
        if process.is_alive():
            process.terminate()
