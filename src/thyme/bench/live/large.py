"""A large object between two live nodes, beside UDP that carries as many bytes."""

from __future__ import annotations

import msgspec
from rich.console import Console

from thyme.bench.live.bare import give_parts, take_parts
from thyme.bench.live.processes import in_process
from thyme.bench.live.transfers import Transferred, give_object, take_object

LARGE = "large"


class LargeFigures(msgspec.Struct, frozen=True):
    bare_s: float
    """Over bare UDP …"""
    honest_s: float
    """… and over UDP where each byte is sealed, hashed, written and copied as a node does."""
    large: Transferred


def bench_large(size_bytes: int) -> LargeFigures:
    with in_process(give_parts) as pipe:
        bare_s = take_parts(pipe, size_bytes, honest=False)
    with in_process(give_parts) as pipe:
        honest_s = take_parts(pipe, size_bytes, honest=True)
    with in_process(give_object) as pipe:
        large = take_object(pipe, size_bytes)
    return LargeFigures(bare_s, honest_s, large)


def render_large(figures: LargeFigures) -> None:
    large = figures.large
    size_mb = large.size_bytes / 1e6
    Console().print(
        f"  {size_mb:,.0f} MB to a file: {large.wall_s:.2f} s ({size_mb / large.wall_s:,.0f} MB/s), "
        f"{large.cpu_s:.2f} s of CPU time, memory grew by {large.grown_bytes / 1e6:,.0f} MB; "
        f"UDP with the same window: {figures.bare_s:.2f} s bare, {figures.honest_s:.2f} s if each byte is sealed, "
        "hashed, written and copied as well"
    )
