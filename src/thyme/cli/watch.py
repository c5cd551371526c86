"""`thyme watch`: metrics of a running crowd, from the logs of its nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from thyme.cli.settings import Conf, Master
from thyme.model.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console, Group
    from rich.table import Table

    from thyme.live.node.logs.spools import FollowedNodes
    from thyme.pipeline.watch.stream import Watched, WatchPlaces
    from thyme.pipeline.watch.windows import WatchOptions, WindowFigures

CALENDAR_FROM_S = 1_000_000_000.0
"""Times from here on are seconds since 1970; earlier ones are those of a trace that a crowd played."""


def watch(
    where: Annotated[
        list[str],
        typer.Argument(metavar="DIR|HOST:PORT…", help="Folder with logs of live nodes, or addresses of their --tell."),
    ],
    once: Annotated[bool, typer.Option("--once", help="Show the current state and exit.")] = False,
    window_s: Annotated[float, typer.Option("--window", metavar="SECONDS", help="Length of a window.")] = 60.0,
    slide_s: Annotated[float, typer.Option("--slide", metavar="SECONDS", help="Distance between windows.")] = 10.0,
    late_s: Annotated[
        float, typer.Option("--late", metavar="SECONDS", help="Count events up to this far behind the newest.")
    ] = 60.0,
    every_s: Annotated[
        float, typer.Option("--every", metavar="SECONDS", help="Interval between two readings of the logs.")
    ] = 2.0,
    last: Annotated[int, typer.Option("--last", min=1, help="Number of newest windows to show.")] = 5,
    sink: Annotated[Path | None, typer.Option(metavar="DIR", help="Also write the windows as Parquet.")] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder of the reading position, to continue after a restart.")
    ] = None,
    master: Master = "",
    conf: Conf = None,
) -> None:
    """Watch a live crowd: success, latency, notifications and traffic over sliding windows.

    DIR is the folder to which nodes write logs (`thyme node start --log DIR/NAME.jsonl`), with its subfolders; new logs
    are noticed. HOST:PORT is the address of `thyme node start --tell HOST:PORT`; several are possible. The command runs
    until Ctrl-C, or until all these nodes have left.

    Examples:

      thyme watch logs

      thyme watch 127.0.0.1:9101 127.0.0.1:9102

      thyme watch logs --once --window 30 --slide 30

      thyme watch logs --sink windows --checkpoint watch
    """
    places = _places(where)
    from rich.console import Console

    from thyme.pipeline.watch.stream import WatchPlaces
    from thyme.pipeline.watch.windows import WatchOptions

    kept = WatchPlaces(sink, checkpoint)
    options = WatchOptions(window_s, slide_s, late_s, every_s)
    console = Console(highlight=False)
    if isinstance(places, Path):
        _watch_folder(console, places, options, master, once, last, kept)
        return
    if checkpoint is not None:
        raise InputError("--checkpoint needs a folder of logs: events sent by nodes cannot be read a second time")
    from thyme.live.node.logs.spools import FollowedNodes

    with TemporaryDirectory(prefix="thyme-follow-") as spool, FollowedNodes(places, Path(spool)) as following:
        _watch_folder(console, Path(spool), options, master, once, last, kept, following)


def _watch_folder(
    console: Console,
    folder: Path,
    options: WatchOptions,
    master: str,
    once: bool,
    last: int,
    kept: WatchPlaces,
    following: FollowedNodes | None = None,
) -> None:
    """Watch a folder of logs: a given one, or the one that logs of remote nodes are copied to."""
    from rich.console import Console, Group
    from rich.live import Live

    from thyme.pipeline.watch.stream import watch_on, watch_once

    def shown(watched: Watched) -> Group:
        if following is None:
            return view(watched, last)
        told = msgspec.structs.replace(watched, logs=len(following.nodes))
        return Group(view(told, last), *_followed(following))

    if following is not None:
        following.catch_up()
    if once:
        with Console(stderr=True).status("Reading the logs on Spark …"):
            watched = watch_once(folder, options, master, kept)
        console.print(shown(watched))
        return
    over = (lambda: following.over) if following is not None else (lambda: False)
    with suppress(KeyboardInterrupt), Live("Starting Spark …", console=console, auto_refresh=False) as live:
        watch_on(folder, options, lambda watched: live.update(shown(watched), refresh=True), master, over, kept)


def _followed(following: FollowedNodes) -> Iterator[str]:
    """Problems with nodes whose logs are followed."""
    for node in following.nodes:
        told = [f"{node.greeting.forgotten:,} events of its past forgotten"] if node.greeting.forgotten else []
        if node.left:
            told.append(node.failure or "left")
        if told:
            yield f"[yellow]{node.name}: {', '.join(told)}[/yellow]"


def _places(where: list[str]) -> Path | list[str]:
    """One folder, or the addresses of nodes."""
    for one in where:
        path = Path(one)
        if path.is_dir():
            if len(where) > 1:
                raise InputError(f"{one} is a folder among {len(where)} places; give one folder, or addresses of nodes")
            return path
        if path.exists():
            raise InputError(f"{one} is a file; give the folder that contains it")
        host, separator, port = one.rpartition(":")
        if not (separator and host and port.isdigit()):
            raise InputError(
                f"{one}: there is no such folder, and it is no HOST:PORT; give the folder with the logs of nodes, or "
                "the HOST:PORT of their --tell"
            )
    return where


def view(watched: Watched, last: int) -> Group:
    """The newest windows as a table, and a line about the logs read."""
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
    from thyme.pipeline.watch.windows import NOTIFICATIONS, TRAFFIC
    from thyme.study.wording import duration, share

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
