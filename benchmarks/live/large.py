"""A large object between two live nodes, beside UDP that carries as many bytes."""

from __future__ import annotations

from statistics import median

import msgspec

from benchmarks.live.bare import give_parts, take_parts
from benchmarks.live.processes import in_process
from benchmarks.live.transfers import Transferred, give_object, take_object
from benchmarks.printing import table_console

LARGE = "large"
ROUNDS = 7
ROUNDS_BYTES = 200_000_000
"""What all rounds together send; a large object is sent once."""


class LargeFigures(msgspec.Struct, frozen=True):
    bare_s: float
    """Over bare UDP …"""
    honest_s: float
    """… and over UDP where each byte is sealed, hashed, written and copied as a node does."""
    large: Transferred


def bench_large(size_bytes: int) -> list[LargeFigures]:
    """Rounds of all three in turn: one alone says little on a machine that has other work."""
    rounds = max(1, min(ROUNDS, ROUNDS_BYTES // size_bytes))
    return [_round(size_bytes) for _ in range(rounds)]


def _round(size_bytes: int) -> LargeFigures:
    with in_process(give_parts) as pipe:
        bare_s = take_parts(pipe, size_bytes, honest=False)
    with in_process(give_parts) as pipe:
        honest_s = take_parts(pipe, size_bytes, honest=True)
    with in_process(give_object) as pipe:
        large = take_object(pipe, size_bytes)
    return LargeFigures(bare_s, honest_s, large)


def render_large(rounds: list[LargeFigures]) -> None:
    size_mb = rounds[0].large.size_bytes / 1e6
    wall_s = median(one.large.wall_s for one in rounds)
    cpu_s = median(one.large.cpu_s for one in rounds)
    grown_mb = max(one.large.grown_bytes for one in rounds) / 1e6
    table_console().print(
        f"  {size_mb:,.0f} MB to a file, median of {len(rounds)}: {wall_s:.2f} s ({size_mb / wall_s:,.0f} MB/s), "
        f"{cpu_s:.2f} s of CPU time, memory grew by {grown_mb:,.0f} MB at most; UDP with the same window: "
        f"{median(one.bare_s for one in rounds):.2f} s bare (we take "
        f"{median(one.large.wall_s / one.bare_s for one in rounds):.1f} times as long), "
        f"{median(one.honest_s for one in rounds):.2f} s if each byte is sealed, hashed, written and copied as well "
        f"({median(one.large.wall_s / one.honest_s for one in rounds):.1f} times)"
    )
