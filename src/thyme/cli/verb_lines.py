"""What the verbs show: objects as lines and tables, sizes, and a bar of progress on a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from thyme.live.daemon.client import Object

BAR_CHARS = 30
SHOW_S = 0.1
"""Between two drawings of a bar."""
SUMMARY_CHARS = 60


def size_text(size_bytes: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if size_bytes < 1_000:
            return f"{size_bytes:.0f} {unit}" if unit == "B" else f"{size_bytes:.1f} {unit}"
        size_bytes /= 1_000
    return f"{size_bytes:.1f} TB"


def object_line(said: dict[str, Any]) -> str:
    """One match: when, which, how large, under what, and what its owner says of it."""
    return "  ".join(_cells(said))


def objects_table(objects: Iterable[Object]) -> str:
    rows = [_cells({name: getattr(each, name) for name in each.__struct_fields__}) for each in objects]
    widths = [max((len(row[i]) for row in rows), default=0) for i in range(5)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def _cells(said: dict[str, Any]) -> list[str]:
    at = datetime.fromtimestamp(said["published_s"]).strftime("%Y-%m-%d %H:%M:%S")
    summary = " ".join((said["summary_text"] or "").split())
    shown = "".join(c if c.isprintable() else "·" for c in summary)[:SUMMARY_CHARS]
    return [at, said["key"], size_text(said["size_bytes"]), ",".join(said["tags"]), f'"{shown}"' if shown else ""]


def bar(verb: str, name: str) -> Callable[[int, int], None] | None:
    """Draws how far something is, on standard error and only if that is a terminal."""
    if not sys.stderr.isatty():
        return None
    began_s = time.monotonic()
    drawn_s = began_s

    def draw(done_bytes: int, size_bytes: int) -> None:
        nonlocal drawn_s
        now_s, ended = time.monotonic(), 0 < size_bytes <= done_bytes
        if now_s - drawn_s < SHOW_S and not (ended and drawn_s > began_s):
            return
        drawn_s = now_s
        share = done_bytes / size_bytes if size_bytes else 0.0
        full = "█" * round(BAR_CHARS * share)
        speed = size_text(done_bytes / max(now_s - began_s, SHOW_S))
        sys.stderr.write(
            f"\r{verb} {name} {full:░<{BAR_CHARS}} {share:4.0%} of {size_text(size_bytes)}, {speed}/s\x1b[K"
        )
        if ended:
            sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()

    return draw
