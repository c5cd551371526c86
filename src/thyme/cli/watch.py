"""`thyme watch`: what a live crowd is doing, from the logs of its nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from thyme.model.errors import InputError

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table

    from thyme.pipeline.live_windows import WindowFigures
    from thyme.pipeline.watching import Watched

CALENDAR_FROM_S = 1_000_000_000.0
"""Times from here on are seconds since 1970; earlier ones are those of a trace that a crowd played."""


def watch(
    where: Annotated[str, typer.Argument(metavar="DIR", help="Folder with the logs of live nodes.")],
    once: Annotated[bool, typer.Option("--once", help="Show what is there now, and end.")] = False,
    window_s: Annotated[float, typer.Option("--window", metavar="SECONDS", help="Length of a window.")] = 60.0,
    slide_s: Annotated[float, typer.Option("--slide", metavar="SECONDS", help="From one window to the next.")] = 10.0,
    late_s: Annotated[
        float, typer.Option("--late", metavar="SECONDS", help="How far behind the newest event one may come.")
    ] = 60.0,
    every_s: Annotated[
        float, typer.Option("--every", metavar="SECONDS", help="How often the logs are looked at.")
    ] = 2.0,
    last: Annotated[int, typer.Option("--last", min=1, help="How many windows to show, the newest ones.")] = 5,
    master: Annotated[str, typer.Option("--master", help="Where Spark runs; it must see this machine's files.")] = (
        "local[*]"
    ),
) -> None:
    """Watch a live crowd: success, latency, notifications and traffic over sliding windows.

    DIR is where nodes write their logs (`thyme node start --log DIR/NAME.jsonl`), subfolders included; logs may grow
    and new ones may come. It goes on until Ctrl-C. A node's address cannot be watched: nodes do not tell over the
    network what they did.

    Examples:

      thyme watch logs

      thyme watch logs --once --window 30 --slide 30
    """
    folder = _folder(where)
    from rich.console import Console
    from rich.live import Live

    from thyme.pipeline.live_windows import WatchOptions
    from thyme.pipeline.watching import watch_on, watch_once

    options = WatchOptions(window_s, slide_s, late_s, every_s)
    console = Console(highlight=False)
    if once:
        with Console(stderr=True).status("Reading the logs on Spark …"):
            watched = watch_once(folder, options, master)
        console.print(view(watched, last))
        return
    with suppress(KeyboardInterrupt), Live("Starting Spark …", console=console, auto_refresh=False) as live:
        watch_on(folder, options, lambda watched: live.update(view(watched, last), refresh=True), master)


def _folder(where: str) -> Path:
    folder = Path(where)
    if folder.is_dir():
        return folder
    if folder.exists():
        raise InputError(f"{where} is a file; give the folder that it is in")
    host, separator, port = where.rpartition(":")
    if separator and host and port.isdigit():
        raise InputError(
            f"{where} is a node's address, which cannot be watched; start nodes with --log DIR/NAME.jsonl and give DIR"
        )
    raise InputError(f"{where}: there is no such folder; give the one that nodes write their logs to")


def view(watched: Watched, last: int) -> Group:
    """The newest windows as a table, and a line on what was read."""
    from rich.console import Group

    windows = [list(rows) for _, rows in groupby(watched.windows, key=lambda row: row.from_s)]
    return Group(_table(windows[-last:]), _told(watched, len(windows), last))


def _told(watched: Watched, windows: int, last: int) -> str:
    parts = [f"{_some(watched.events, 'event')} of {_some(watched.logs, 'log')}"]
    if windows > last:
        parts.append(f"{_some(windows - last, 'earlier window')} not shown")
    if watched.malformed:
        parts.append(f"[yellow]{_some(watched.malformed, 'malformed line')} left out[/yellow]")
    if watched.late:
        parts.append(f"[yellow]{_some(watched.late, 'sum')} of events too late to count[/yellow]")
    if watched.torn:
        parts.append(f"half a line at the end of {_some(watched.torn, 'log')}")
    return " · ".join(parts)


def _some(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def _table(windows: Sequence[Sequence[WindowFigures]]) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("window", no_wrap=True)
    table.add_column("", no_wrap=True)
    for name in ("number", "succeed", "mean", "p95", "bytes"):
        table.add_column(name, justify="right", no_wrap=True)
    for rows in windows:
        lines = [line for row in rows for line in _lines(row)]
        for i, line in enumerate(lines):
            table.add_row("" if i else _span(rows[0]), *line, end_section=i + 1 == len(lines))
    return table


def _lines(row: WindowFigures) -> Iterator[tuple[str, ...]]:
    from thyme.pipeline.live_windows import NOTIFICATIONS, TRAFFIC
    from thyme.study.headline import duration, share

    if row.what == TRAFFIC:
        yield ("on the air", f"{row.air_frames:,}", "", "", "", f"{row.air_bytes:,}")
        rare = (("control", row.control_frames, row.control_bytes), ("dropped", row.dropped_frames, row.dropped_bytes))
        for name, frames, size_bytes in rare:
            if frames:
                yield (name, f"{frames:,}", "", "", "", f"{size_bytes:,}")
        return
    number = row.notified if row.what == NOTIFICATIONS else row.succeeded + row.failed
    success = "" if row.success is None else share(row.success)
    spans = ("" if value is None else duration(value) for value in (row.latency_mean_s, row.latency_p95_s))
    yield (row.what, f"{number:,}", success, *spans, "")


def _span(row: WindowFigures) -> str:
    if row.from_s < CALENDAR_FROM_S:
        return f"{row.from_s:g}–{row.to_s:g} s"
    begin, end = (datetime.fromtimestamp(at_s, UTC).astimezone() for at_s in (row.from_s, row.to_s))
    return f"{begin:%H:%M:%S}–{end:%H:%M:%S}"
