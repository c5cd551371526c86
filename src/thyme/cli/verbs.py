"""`thyme put`, `sub`, `get`, `rm`, `ls`, `peers`: one thing each, asked of the node that runs on this device."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from thyme.cli.verb_lines import bar, object_line, objects_table, size_text
from thyme.model.errors import InputError

Control = Annotated[str, typer.Option(help="Speak to the daemon of this name, or whose socket has this path.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON object per line.")]
Last = Annotated[str, typer.Option(help="Only what was published in the last while, such as 10m, and from now on.")]


def put(
    file: Annotated[str, typer.Argument(help="What to store; - is standard input.")],
    tags: Annotated[str, typer.Option(help="The tags it is found by, such as goal,final.")],
    name: Annotated[str, typer.Option(help="Its name among this node's objects; the file's unless given.")] = "",
    summary: Annotated[str, typer.Option(help="What subscribers see of it; its name unless given.")] = "",
    as_json: Json = False,
    control: Control = "",
) -> None:
    """Store a file under tags, and notify whoever subscribed to them."""
    client = _client(control)
    words = [tag.strip() for tag in tags.split(",") if tag.strip()]
    if file == "-":
        if not name:
            raise InputError("what comes from standard input needs a name: thyme put - --name NAME --tags …")
        stored = client.insert(sys.stdin.buffer, None, name, words, summary or name, bar("put", name))
    else:
        path = Path(file)
        called = name or path.name
        with path.open("rb") as data:
            size_bytes = path.stat().st_size
            stored = client.insert(data, size_bytes, called, words, summary or called, bar("put", called))
    print(msgspec.json.encode(stored).decode() if as_json else f"{stored.key}  {size_text(stored.size_bytes)}")


def sub(
    query: Annotated[str, typer.Argument(help="Which objects, such as 'goal & !replay'.")],
    last: Last = "",
    past: Annotated[bool, typer.Option("--past", help="Only what is there already; then end.")] = False,
    future: Annotated[bool, typer.Option("--future", help="Only what is published from now on.")] = False,
    count: Annotated[int, typer.Option(min=0, help="End after so many matches; 0 does not end.")] = 0,
    as_json: Json = False,
    control: Control = "",
) -> None:
    """Subscribe: show what matches, past and future, until Ctrl-C."""
    shown = 0
    with suppress(KeyboardInterrupt):
        for kind, said in _client(control).listen(query, **_frame(last, past, future)):
            if kind == "notified":
                _show(said if as_json else object_line(said["object"]))
                shown += 1
                if shown == count:
                    break


def get(
    key: Annotated[str, typer.Argument(help="NAME@NODE as ls and sub show it, or a NAME that only one object has.")],
    output: Annotated[str, typer.Option("-o", "--output", help="The file to write; - is standard output.")] = "",
    control: Control = "",
) -> None:
    """Retrieve an object that this node was notified of, or found with ls, to a file."""
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
    print(f"{path}  {size_text(size_bytes)}")


def rm(
    key: Annotated[str, typer.Argument(help="An object of this node, by its key or name.")],
    control: Control = "",
) -> None:
    """Delete one of this node's own objects everywhere."""
    client = _client(control)
    client.delete(client.key_of(key))


def ls(
    query: Annotated[str, typer.Argument(help="Ask the crowd what matches; without it, list what is known here.")] = "",
    last: Last = "",
    as_json: Json = False,
    control: Control = "",
) -> None:
    """List objects: those of the crowd that match a query, or those that this node knows of."""
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
    """List who is in range."""
    for peer in _client(control).peers():
        _show(peer if as_json else f"{peer.node}  {peer.address}")


def _client(control: str) -> Any:
    from thyme.live.daemon.client import Client
    from thyme.live.daemon.places import control_path

    return Client(control_path(control))


def _frame(last: str, past: bool, future: bool) -> dict[str, float | str]:
    from thyme.live.node.operations.periods import span_s

    if future and (last or past):
        raise InputError("--future leaves out what --last and --past ask for; give one or the other")
    if last:
        return {"last_s": span_s(last), **({"frame": "past"} if past else {})}
    return {"frame": "past" if past else "future" if future else "always"}


def _show(what: Any) -> None:
    print(what if isinstance(what, str) else msgspec.json.encode(what).decode(), flush=True)
