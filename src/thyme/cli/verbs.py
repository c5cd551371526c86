"""`thyme put`, `sub`, `get`, `rm`, `ls`, `peers`: operations of the node that runs on this device.

They print objects as lines and tables, and a progress bar on a terminal.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from thyme.model.errors import InputError
from thyme.model.quantities import seconds_of
from thyme.model.terminal import printable

if TYPE_CHECKING:
    from thyme.live.views import ObjectView

CLICK_ERROR: Any = typer.BadParameter.__mro__[2]
"""The base class of click's errors; some releases of typer carry their own copy of click."""
Control = Annotated[str, typer.Option(help="Name of the daemon, or path of its socket.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON object per line.")]
Last = Annotated[str, typer.Option(help="Only objects of this last period, such as 10m, and new ones.")]
BAR_CHARS = 30
SHOW_S = 0.1
"""Seconds between two updates of a progress bar."""
SUMMARY_CHARS = 60


def put(
    file: Annotated[str, typer.Argument(help="File to store; -: standard input. With --text, the object's name.")],
    tags: Annotated[str, typer.Option(help="Tags, such as goal,final.")],
    name: Annotated[str, typer.Option(help="Name of the object. Default: the file's.")] = "",
    summary: Annotated[str, typer.Option(help="Summary in notifications. Default: the name.")] = "",
    text: Annotated[str | None, typer.Option(help="Store this text instead of a file.")] = None,
    expires: Annotated[str, typer.Option(help="Expire on all devices after this time, such as 2h or 3d.")] = "",
    as_json: Json = False,
    control: Control = "",
) -> None:
    """Store a file under tags and notify subscribers."""
    client = _client(control)
    lasts_s = seconds_of(expires, "--expires") if expires else None
    words = [tag.strip() for tag in tags.split(",") if tag.strip()]
    if text is not None:
        content = text.encode()
        seen = summary or text[:SUMMARY_CHARS]
        stored = client.insert(BytesIO(content), len(content), name or file, words, seen, lasts_s=lasts_s)
    elif file == "-":
        if not name:
            raise InputError("standard input has no file name; name the object: thyme put - --name NAME --tags …")
        stored = client.insert(sys.stdin.buffer, None, name, words, summary or name, bar("put", name), lasts_s)
    else:
        path = Path(file)
        called = name or path.name
        with path.open("rb") as data:
            size_bytes = path.stat().st_size
            stored = client.insert(data, size_bytes, called, words, summary or called, bar("put", called), lasts_s)
    until = f"  until {time_text(stored.expires_s)}" if stored.expires_s is not None else ""
    _show(stored if as_json else f"{printable(stored.key)}  {size_text(stored.size_bytes)}{until}")


def sub(
    query: Annotated[str, typer.Argument(help="Query, such as 'goal & !replay'.")],
    last: Last = "",
    past: Annotated[bool, typer.Option("--past", help="Only past matches; then exit.")] = False,
    future: Annotated[bool, typer.Option("--future", help="Only future matches.")] = False,
    count: Annotated[int, typer.Option(min=0, help="Exit after this many matches; 0: do not exit.")] = 0,
    confirm: Annotated[bool, typer.Option("--confirm", help="Print a line when the subscription is in place.")] = False,
    as_json: Json = False,
    control: Control = "",
) -> None:
    """Subscribe: show past and future matches, until Ctrl-C."""
    shown = 0
    with suppress(KeyboardInterrupt):
        for kind, said in _client(control).listen(query, **_frame(last, past, future)):
            if kind == "subscribed" and confirm:
                _show(said if as_json else f"subscribed to {said['query']}")
            elif kind == "notified":
                _show(said if as_json else object_line(said["object"]))
                shown += 1
                if shown == count:
                    break


def get(
    key: Annotated[str, typer.Argument(help="NAME@NODE as ls and sub show it, or a unique NAME.")],
    output: Annotated[str, typer.Option("-o", "--output", help="File to write; -: standard output.")] = "",
    as_json: Json = False,
    control: Control = "",
) -> None:
    """Retrieve an object from a notification or from ls to a file."""
    client = _client(control)
    whole = client.key_of(key)
    name = whole.rpartition("@")[0]
    progress = bar("get", name)
    if output == "-":
        with client.retrieve(whole, progress) as answer:
            while piece := answer.read(1 << 18):
                sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
        return
    path = Path(output or Path(name).name)
    if not output and path.exists():
        raise InputError(f"{path} exists already; name another file with -o FILE, or -o {path} to replace it")
    size_bytes = client.retrieve_to(whole, path, progress)
    _show(
        {"key": whole, "file": str(path), "size_bytes": size_bytes}
        if as_json
        else f"{printable(path)}  {size_text(size_bytes)}"
    )


def rm(
    key: Annotated[str, typer.Argument(help="Key or name of an object of this node.")],
    as_json: Json = False,
    control: Control = "",
) -> None:
    """Delete an object of this node, on all devices."""
    client = _client(control)
    whole = client.key_of(key)
    client.delete(whole)
    if as_json:
        _show({"deleted": whole})


def ls(
    query: Annotated[
        str, typer.Argument(help="Ask the crowd what matches. Default: list the objects known here.")
    ] = "",
    last: Last = "",
    as_json: Json = False,
    control: Control = "",
) -> None:
    """List objects of the crowd that match a query, or objects known to this node."""
    client = _client(control)
    if last and not query:
        raise InputError("--last needs a query, such as: thyme ls goal --last 10m")
    objects = client.found(query, **_frame(last, False, False)) if query else client.objects()
    if as_json:
        for each in objects:
            _show(each)
    elif objects:
        print(objects_table(objects))


def peers(as_json: Json = False, control: Control = "") -> None:
    """List nodes in range."""
    client = _client(control)
    here = client.peers()
    for peer in here:
        _show(peer if as_json else "  ".join(filter(None, (peer.node, printable(peer.name), peer.address))))
    for note in () if here else client.status().notes:
        print(f"thyme: {note}", file=sys.stderr)


def _client(control: str) -> Any:
    from thyme.live.daemon.client import Client
    from thyme.live.daemon.paths import control_path

    return Client(control_path(control))


def _frame(last: str, past: bool, future: bool) -> dict[str, float | str]:
    if future and (last or past):
        raise InputError("--future excludes past objects, which --last and --past ask for; give one or the other")
    if last:
        return {"last_s": seconds_of(last, "--last"), **({"frame": "past"} if past else {})}
    return {"frame": "past" if past else "future" if future else "always"}


def _show(what: Any) -> None:
    print(what if isinstance(what, str) else msgspec.json.encode(what).decode(), flush=True)


VERBS = {each.__name__: each for each in (put, sub, get, rm, ls, peers)}


def run_verb(words: Sequence[str], control: Path) -> None:
    """Run a line of a node's shell: one of the verbs, on the node with this control socket."""
    if words[0] == "help":
        print("\n".join([*(f"{name:8}{each.__doc__}" for name, each in VERBS.items()), "quit    Leave."]), flush=True)
        return
    if words[0] not in VERBS:
        raise InputError(f"there is no command {words[0]!r}; expected one of {', '.join(VERBS)}, help or quit")
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(VERBS[words[0]])
    confirm = ["--confirm"] if words[0] == "sub" else []
    try:
        typer.main.get_command(app).main(
            [*words[1:], *confirm, "--control", str(control)], prog_name=words[0], standalone_mode=False
        )
    except CLICK_ERROR as error:
        raise InputError(f"{words[0]}: {error.format_message()}; {words[0]} --help shows how it is used") from error


def size_text(size_bytes: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if size_bytes < 1_000:
            return f"{size_bytes:.0f} {unit}" if unit == "B" else f"{size_bytes:.1f} {unit}"
        size_bytes /= 1_000
    return f"{size_bytes:.1f} TB"


def time_text(at_s: float) -> str:
    return datetime.fromtimestamp(at_s).strftime("%Y-%m-%d %H:%M:%S")


def object_line(said: dict[str, Any]) -> str:
    """One match: publication time, key, its owner's name, size, tags, summary and its expiry, if it has one."""
    return "  ".join(cell for cell in _cells(said) if cell)


def objects_table(objects: Iterable[ObjectView]) -> str:
    rows = [_cells({name: getattr(each, name) for name in each.__struct_fields__}) for each in objects]
    widths = [max((len(row[i]) for row in rows), default=0) for i in range(7)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True) if width).rstrip() for row in rows
    )


def _cells(said: dict[str, Any]) -> list[str]:
    summary = " ".join((said["summary_text"] or "").split())
    shown = printable(summary)[:SUMMARY_CHARS]
    tags = printable(",".join(said["tags"]))
    until = "" if said["expires_s"] is None else f"until {time_text(said['expires_s'])}"
    at, key, size = time_text(said["published_s"]), printable(said["key"]), size_text(said["size_bytes"])
    return [at, key, printable(said["owner_name"]), size, tags, f'"{shown}"' if shown else "", until]


def bar(verb: str, name: str) -> Callable[[int, int], None] | None:
    """A function that draws a progress bar on standard error; none if that is not a terminal."""
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
            f"\r{verb} {printable(name)} {full:░<{BAR_CHARS}} {share:4.0%} of {size_text(size_bytes)}, {speed}/s\x1b[K"
        )
        if ended:
            sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()

    return draw
