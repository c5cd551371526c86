"""`thyme node`: run a live node at a prompt, as a daemon, or for a program."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from thyme.model.errors import InputError
from thyme.model.quantities import bytes_of, pair_of, seconds_of

if TYPE_CHECKING:
    from thyme.live.daemon.service import HttpAccess
    from thyme.live.node.node import Node
    from thyme.live.trust.namespaces import Namespace

DEFAULT = "node"
DEGREES = "degrees, such as 38.7075,-9.1365"
Control = Annotated[str, typer.Option(help="Name of the daemon, or path of its socket.")]

app = typer.Typer(no_args_is_help=True, help="Live nodes: the simulator's protocols over UDP.")

EXAMPLES = """\
As a daemon for commands and programs:

    thyme node start --background

    thyme put kick.jpg --tags goal,final

Three terminals, three nodes in a line; type `help` in one of them:

    thyme node start --id 1 --listen 127.0.0.1:9001 --peer 127.0.0.1:9002

    thyme node start --id 2 --listen 127.0.0.1:9002 --peer 127.0.0.1:9001 --peer 127.0.0.1:9003

    thyme node start --id 3 --listen 127.0.0.1:9003 --peer 127.0.0.1:9002

Where not all devices are in range of each other, Thyme-DCS needs the area and where each node stands:

    thyme node start --id 1 --approach dcs --set grid.width_m=80.0 --set grid.height_m=40.0 --at 10,20

Without a terminal, commands are read from standard input. With --json, every answer is one JSON line.
"""


@app.callback()
def node() -> None:
    """Live nodes."""


@app.command(epilog=EXAMPLES)
def start(
    node_id: Annotated[
        int | None,
        typer.Option("--id", help="A fixed number, for tests. Default: the number of the node's key."),
    ] = None,
    namespace: Annotated[str, typer.Option(help="The namespace: its name, or an invitation (thyme:…).")] = "thyme",
    passphrase: Annotated[str, typer.Option(help="Passphrase of a closed namespace.")] = "",
    listen: Annotated[
        str,
        typer.Option(
            help="host:port to listen on; port 0: a free one. Default: all interfaces; with --id, this machine."
        ),
    ] = "",
    peer: Annotated[list[str] | None, typer.Option(help="host:port of a node in range; repeatable.")] = None,
    only_peers: Annotated[bool, typer.Option("--only-peers", help="Accept only the --peer nodes.")] = False,
    approach: Annotated[
        str,
        typer.Option(
            help="How data is shared: es, ls, …; all nodes use the same. The namespace's, or dcs (ls with --id)."
        ),
    ] = "",
    setting: Annotated[
        list[str] | None,
        typer.Option("--set", help="A setting of the approach, such as join.wait_s=0.5; `--set list` shows all."),
    ] = None,
    at: Annotated[
        str, typer.Option("--at", metavar="X,Y", help="Where the node stands, in metres, for Thyme-DCS in an area.")
    ] = "",
    position_file: Annotated[
        str,
        typer.Option(metavar="FILE", help="A file with the position X,Y; read again when it changes."),
    ] = "",
    position: Annotated[
        str,
        typer.Option(
            metavar="gpsd|LAT,LON",
            help="In a namespace with a reference point: where gpsd says that the node is (gpsd://host:port for "
            "another address than port 2947 of this machine), or a fixed latitude and longitude.",
        ),
    ] = "",
    log: Annotated[str, typer.Option(help="Write events to FILE.jsonl or FILE.parquet.")] = "",
    tell: Annotated[str, typer.Option(help="Serve events at host:port, for `thyme watch host:port`.")] = "",
    store: Annotated[
        str,
        typer.Option(
            metavar="DIR",
            help="Store data in this folder; `memory`: nowhere. Default: a folder of this node and approach in the "
            "user's data.",
        ),
    ] = "",
    durability: Annotated[
        str,
        typer.Option(help="full: answered operations survive a power cut; batched: written every half second."),
    ] = "full",
    most_bytes: Annotated[
        str,
        typer.Option(
            metavar="SIZE",
            help="Largest size of the store, such as 500MB or 2GB. When it is nearly full, retrieved contents and "
            "contents kept for others are removed, oldest first; own objects stay.",
        ),
    ] = "0",
    most_age: Annotated[
        str,
        typer.Option(metavar="TIME", help="Remove others' contents this long after publication, such as 12h or 7d."),
    ] = "0",
    json_logs: Annotated[
        bool, typer.Option("--json-logs", help="Write warnings and errors as JSON lines to standard error.")
    ] = False,
    seed: Annotated[int | None, typer.Option(help="Make the node's random choices reproducible.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Answer in JSON lines.")] = False,
    stay: Annotated[
        bool, typer.Option("--stay", help="Keep running when standard input ends, until a signal.")
    ] = False,
    background: Annotated[
        bool, typer.Option("--background", help="Run as a daemon for `thyme put`, `sub`, `get`, …")
    ] = False,
    service: Annotated[
        bool, typer.Option("--service", help="Run as a daemon in the foreground, for a service manager or a container.")
    ] = False,
    control: Annotated[
        str,
        typer.Option(
            metavar="NAME|PATH",
            help="The control socket: a name in the user's runtime folder, or a path. A daemon always has one.",
        ),
    ] = "",
    http: Annotated[
        str,
        typer.Option(metavar="HOST:PORT", help="Also serve HTTP at this address, for programs with the node's token."),
    ] = "",
) -> None:
    """Start a node and read commands: put, sub, get, rm, ls, peers, help, quit."""
    if background:
        _start_in_background(control)
        return
    from thyme.approaches.registry import find_approach
    from thyme.cli.namespaces import keep_namespace, shared_namespace
    from thyme.live.daemon.service import serve
    from thyme.live.loop import log_as_json, run
    from thyme.live.node.node import Node
    from thyme.live.trust.approach_choice import APPROACH_BY_HAND, DEFAULT_APPROACH, refuse_auto
    from thyme.model.settings import keys_of, set_keys
    from thyme.model.settings.writing import keys_text

    try:
        if json_logs:
            log_as_json()
        shared = shared_namespace(namespace, passphrase, store)
        approach = approach or shared.approach or (DEFAULT_APPROACH if node_id is None else APPROACH_BY_HAND)
        refuse_auto(approach)
        record = find_approach(approach, "--approach").settings
        if setting and "list" in setting:
            print(keys_text(keys_of(record)))
            raise typer.Exit
        options = {
            "namespace": shared.invitation(),
            "listen": listen,
            "peers": peer or [],
            "only_peers": only_peers,
            "approach": approach,
            "settings": set_keys({}, setting, record),
            **position_arguments(shared, at, position_file, position),
            "log": log,
            "tell": tell,
            "seed": seed,
            "store": store or None,
            "disk": {
                "durability": durability,
                "most_bytes": bytes_of(most_bytes, "--most-bytes"),
                "most_age_s": seconds_of(most_age, "--most-age"),
            },
        }
        access = _access(control if control or not service else DEFAULT, http, node_id, store)
        node = Node(node_id, **options)
        node.keep_namespace = keep_namespace(store)
        run(serve(node, access) if service else _run(node, access, as_json, stay))
    except InputError as error:
        typer.echo(f"thyme: {error}", err=True)
        raise typer.Exit(2) from error


def position_arguments(shared: Namespace, at: str, file: str, position: str) -> dict[str, Any]:
    """The position of the node, as options; the corner of the area by default."""
    from thyme.live.node.arguments import area_of
    from thyme.live.node.position import position_of

    if at and file:
        raise InputError("--at gives a fixed position, --position-file one that changes; give only one of them")
    if position and (at or file):
        raise InputError("--position replaces --at and --position-file; give one of them")
    if position.startswith("gpsd"):
        return {"position_source": position}
    if position:
        return {"position": area_of(shared).point(*pair_of(position, ",", "--position", DEGREES))}
    if file:
        return {"position_file": file}
    return {"position": position_of(at, "--at ")} if at else {}


def _access(control: str, http: str, node_id: int | None, store: str) -> HttpAccess:
    """The token, uploads and contents are stored beside the store; with a store in memory they are not kept."""
    from thyme.live.daemon.paths import control_path
    from thyme.live.daemon.service import HttpAccess
    from thyme.live.store.folders import MEMORY, data_folder

    if store == MEMORY:
        folder = None
    elif store:
        folder = Path(store).expanduser() / "http"
    else:
        folder = data_folder() / ("self" if node_id is None else str(node_id)) / "http"
    return HttpAccess(control_path(control) if control else None, http, folder)


async def _run(node: Node, access: HttpAccess, as_json: bool, stay: bool) -> None:
    from thyme.cli.verbs import run_verb
    from thyme.live.shell import run_node

    prompt = sys.stdin.isatty() and sys.stdout.isatty() and not as_json
    await run_node(node, run_verb, access, as_json=as_json, prompt=prompt, stay=stay)


def _start_in_background(control: str) -> None:
    from thyme.live.daemon.client import start_in_background
    from thyme.live.daemon.paths import control_path, log_path

    given = ["--service" if word == "--background" else word for word in sys.argv[1:]]
    state = start_in_background(given, control_path(control), log_path(control))
    print(f"node {state.node} ({state.approach}) listens on {state.address}; thyme put, sub, get and ls speak to it")


@app.command()
def stop(control: Control = "") -> None:
    """Stop the daemon; it leaves the crowd first."""
    from thyme.live.daemon.client import Client
    from thyme.live.daemon.paths import control_path

    Client(control_path(control)).stop()


@app.command()
def place(
    at: Annotated[str, typer.Argument(metavar="[X,Y]", help="Metres from the area's south-west corner.")] = "",
    coordinates: Annotated[
        str,
        typer.Option(metavar="LAT,LON", help="Latitude and longitude instead, in a namespace with a reference point."),
    ] = "",
    control: Control = "",
) -> None:
    """Report the position of the device to the daemon. A device that keeps changing position counts as moving."""
    from thyme.live.daemon.client import Client
    from thyme.live.daemon.paths import control_path
    from thyme.live.node.position import position_of

    if bool(at) == bool(coordinates):
        raise InputError("give the position as X,Y in metres, or with --coordinates LAT,LON in degrees")
    client = Client(control_path(control))
    if coordinates:
        latitude, longitude = pair_of(coordinates, ",", "--coordinates", DEGREES)
        client.place(latitude=latitude, longitude=longitude)
        return
    point = position_of(at)
    client.place(point.x_m, point.y_m)


@app.command()
def name(
    called: Annotated[
        str, typer.Argument(metavar="NAME", help="The new name, such as anna. Default: show the name.")
    ] = "",
    store: Annotated[str, typer.Option(metavar="DIR", help="The node's folder. Default: this device's.")] = "",
    control: Control = "",
) -> None:
    """Set or show the name that others see beside this device's number. Default: the host name."""
    from thyme.live.daemon.client import Client, NoDaemon
    from thyme.live.daemon.paths import control_path
    from thyme.live.store.folders import own_folder
    from thyme.live.trust.device_names import device_name_of, keep_name, kept_name
    from thyme.model.terminal import printable

    client, folder = Client(control_path(control)), Path(store).expanduser() if store else own_folder()
    running = not store
    try:
        if called and running:
            client.rename(device_name_of(called))
        elif running:
            print(printable(client.status().name))
    except NoDaemon:
        running = False
    if not running and called:
        keep_name(folder, device_name_of(called))
    elif not running:
        print(printable(kept_name(folder)))


@app.command()
def backup(
    archive: Annotated[Path, typer.Argument(metavar="FILE", help="The archive to write, such as thyme.tar.gz.")],
    store: Annotated[str, typer.Option(metavar="DIR", help="The node's folder. Default: this device's.")] = "",
) -> None:
    """Write this device's key, namespaces and stores to an archive; stop the node first."""
    from thyme.live.store.backup import back_up
    from thyme.live.store.folders import own_folder

    files = back_up(Path(store).expanduser() if store else own_folder(), archive)
    print(f"{archive}  {files} files; whoever has it can act as this device: keep it safe")


@app.command()
def restore(
    archive: Annotated[Path, typer.Argument(metavar="FILE", help="What `thyme node backup` wrote.")],
    store: Annotated[str, typer.Option(metavar="DIR", help="An empty folder. Default: this device's.")] = "",
) -> None:
    """Restore a backup on this device. The other device must not run any more."""
    from thyme.live.store.backup import restore as unpack
    from thyme.live.store.folders import own_folder

    folder = Path(store).expanduser() if store else own_folder()
    print(f"{folder}  {unpack(archive, folder)} files")


@app.command()
def status(as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False, control: Control = "") -> None:
    """Show the state of the daemon."""
    from thyme.approaches.registry import find_approach
    from thyme.live.daemon.client import Client
    from thyme.live.daemon.paths import control_path
    from thyme.study.wording import counted

    state = Client(control_path(control)).status()
    if as_json:
        print(msgspec.json.encode(state).decode())
        return
    print(state.line())
    known = f"{counted(state.objects, 'object')} known, {counted(state.subscriptions, 'subscription')}"
    print(f"{state.peers} in range, {known}")
    if find_approach(state.approach).capabilities.needs_positions:
        print(f"at {state.position[0]:g},{state.position[1]:g} of the area, in metres")
    if state.coordinates is not None:
        print("latitude {:.6f}, longitude {:.6f}".format(*state.coordinates))
    print(f"up for {state.now_s - state.started_s:.0f} s, {state.memory_bytes / 1e6:.0f} MB of memory")
    for note in state.notes:
        print(note)


if __name__ == "__main__":
    app()
