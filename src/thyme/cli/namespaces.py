"""`thyme namespace`: namespaces that this device has joined, and namespaces nearby."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from thyme.model.errors import InputError
from thyme.model.quantities import metres_by_metres, pair_of
from thyme.model.terminal import printable

if TYPE_CHECKING:
    from collections.abc import Callable

    from thyme.approaches.deciding import Decision
    from thyme.live.daemon.client import Client
    from thyme.live.link.directory import NearbyNamespace
    from thyme.live.trust.keyring import Keyring
    from thyme.live.trust.namespaces import Namespace
    from thyme.model.areas import Area

app = typer.Typer(no_args_is_help=True, help="Namespaces: crowds that share a place and nothing else.")
Folder = Annotated[str, typer.Option("--store", metavar="DIR", help="The folder of the device's key and secrets.")]
Control = Annotated[str, typer.Option(help="Name of the daemon, or path of its socket.")]
AROUND_S = 3.5
"""Seconds to listen; members announce their namespace every three seconds."""


@app.command()
def new(
    name: Annotated[str, typer.Argument(help="Name of the namespace.")],
    closed: Annotated[
        bool, typer.Option("--closed", help="Only devices with the invitation can join and read.")
    ] = False,
    passphrase: Annotated[str, typer.Option(help="Only devices with this passphrase can join and read.")] = "",
    approach: Annotated[
        str,
        typer.Option(
            help="The approach. Default: dcs. `auto` chooses one from the decision map for the crowd described below."
        ),
    ] = "",
    setting: Annotated[list[str] | None, typer.Option("--set", help="A setting of the approach.")] = None,
    people: Annotated[int, typer.Option(help="With auto: expected number of people.")] = 0,
    area: Annotated[
        str,
        typer.Option(
            metavar="WIDTHxHEIGHT",
            help="With auto or --reference: the area in metres, if devices know where they are.",
        ),
    ] = "",
    reference: Annotated[
        str,
        typer.Option(
            metavar="LAT,LON", help="Latitude and longitude (WGS84) of the area's corner from which x and y count."
        ),
    ] = "",
    bearing: Annotated[
        float,
        typer.Option(metavar="DEGREES", help="With --reference: direction of the side HEIGHT, clockwise from north."),
    ] = 0.0,
    radio: Annotated[
        str,
        typer.Option(help="With --reference: 802.11g or bluetooth; the size of cells follows from its range."),
    ] = "802.11g",
    range_m: Annotated[
        float | None,
        typer.Option("--range", metavar="METRES", help="With auto: radio range. Default: of the radio, 113 m."),
    ] = None,
    walking: Annotated[float, typer.Option(metavar="SHARE", help="With auto: share of people who walk, 0 to 1.")] = 0.0,
    switching: Annotated[
        float, typer.Option(metavar="SHARE", help="With auto: share of people who switch off and on, 0 to 1.")
    ] = 0.0,
    store: Folder = "",
) -> None:
    """Create a namespace and print its invitation.

    Examples:

      thyme namespace new "the final" --closed

      thyme namespace new stage --approach auto --people 300 --area 200x120 --walking 0.3

      thyme namespace new square --area 200x120 --reference 38.7075,-9.1365 --bearing 30
    """
    import msgspec

    from thyme.live.trust.approach_choice import AUTO, DEFAULT_APPROACH, ExpectedCrowd, resolved
    from thyme.live.trust.identity import kept_identity
    from thyme.live.trust.namespaces import Namespace, namespace_of
    from thyme.model.areas import RADIO_RANGES_M

    keyring = _keyring(store)
    if keyring.find(name) is not None:
        raise InputError(f"this device has already joined a namespace {name!r}; leave it, or choose another name")
    approach = approach or DEFAULT_APPROACH
    made = Namespace.drawn(name) if closed and not passphrase else namespace_of(name, passphrase)
    sides = metres_by_metres(area, "--area") if area else (0.0, 0.0)
    ground = _ground(reference, sides, bearing, radio)
    expected = None
    if approach == AUTO:
        if not people:
            raise InputError(
                "--approach auto: give the number of people expected with --people, and the area with --area"
            )
        if range_m is None:
            range_m = RADIO_RANGES_M[radio]
        expected = ExpectedCrowd(people, *sides, range_m, walking, switching)
    elif people or walking or switching or (area and ground is None):
        raise InputError(
            "--people, --walking, --switching, and --area without --reference, are for --approach auto; leave them out"
        )
    approach, settings, decision = resolved(approach, _settings(approach, setting), expected)
    creator = kept_identity(_folder(store)).public if made.closed else b""
    made = msgspec.structs.replace(made, approach=approach, settings=settings, area=ground, creator=creator)
    keyring.add(made)
    if decision is not None:
        _tell(decision)
    _show(made)


def _ground(reference: str, sides: tuple[float, float], bearing: float, radio: str) -> Area | None:
    """The area with its reference point, if there is one."""
    from thyme.model.areas import DEFAULT_RADIO, Area

    if not reference:
        if bearing or radio != DEFAULT_RADIO:
            raise InputError("--bearing and --radio are for an area with a --reference; give it, or leave them out")
        return None
    if sides == (0.0, 0.0):
        raise InputError("--reference: give the area's sides as well, such as --area 200x120")
    corner = pair_of(reference, ",", "--reference", "degrees, such as 38.7075,-9.1365")
    return Area(*corner, *sides, bearing, radio)


def _settings(approach: str, setting: list[str] | None) -> dict[str, object]:
    from thyme.approaches.registry import find_approach
    from thyme.live.trust.approach_choice import AUTO
    from thyme.model.settings import parse_settings, set_keys

    if approach == AUTO:
        return parse_settings(setting)
    return set_keys({}, setting, find_approach(approach, "--approach").settings)


def _tell(decision: Decision) -> None:
    from thyme.approaches.registry import find_approach

    names = [find_approach(line.approach).title for line in decision.best]
    as_good = f"; {', '.join(names[1:])} would be as good" if names[1:] else ""
    doubt = "" if decision.dependable else ", though nothing is dependable in such a crowd"
    print(f"{names[0]} fits such a crowd (`thyme study map`){as_good}{doubt}")


@app.command("list")
def list_all(
    around: Annotated[bool, typer.Option("--around", help="Also list open namespaces nearby.")] = False,
    store: Folder = "",
) -> None:
    """List the namespaces that this device has joined, and with --around the open ones nearby."""
    from thyme.study.wording import counted

    for one in _keyring(store):
        renewed = f"  key renewed {counted(one.epoch, 'time')}" if one.epoch else ""
        print(f"{one.name}  {'closed' if one.closed else 'open'}  {one.approach or 'any approach'}{renewed}")
    if around:
        for entry in asyncio.run(_around()):
            print(f"{printable(entry.name)}  around  {printable(entry.approach)}")


@app.command()
def join(
    text: Annotated[str, typer.Argument(help="An invitation (thyme:…), or a name with --passphrase or --open.")],
    passphrase: Annotated[str, typer.Option(help="Passphrase of a closed namespace.")] = "",
    is_open: Annotated[bool, typer.Option("--open", help="Join the open namespace of this name.")] = False,
    store: Folder = "",
    control: Control = "",
) -> None:
    """Join a namespace. Then use it with `thyme node start --namespace NAME`.

    A newer invitation to a namespace gives this device, and its daemon, the namespace's new key.
    """
    from thyme.live.trust.namespaces import SCHEME, namespace_of

    if not (text.startswith(SCHEME) or passphrase or is_open):
        raise InputError(
            f"{text[:60]!r} is not an invitation, which begins with {SCHEME}; to join a namespace by its name, add "
            "--passphrase for a closed one, or --open"
        )
    joined, keyring = namespace_of(text, passphrase), _keyring(store)
    before = keyring.find(joined.name)
    keyring.add(joined)
    if before is not None and joined.supersedes(before):
        _tell_daemon(joined, store, control)
        print(f"{joined.name} has a new key")
        return
    print(f"joined {joined.name}; use it with: thyme node start --namespace {joined.name!r}")


@app.command()
def leave(name: str, store: Folder = "") -> None:
    """Forget a namespace and its secret."""
    _keyring(store).remove(name)


@app.command()
def invite(
    name: str,
    qr: Annotated[bool, typer.Option("--qr", help="Print it as a QR code.")] = False,
    store: Folder = "",
) -> None:
    """Print the invitation to a namespace. Give it only to those who may join."""
    _show(_keyring(store).get(name), qr=qr)


@app.command()
def renew(name: str, store: Folder = "", control: Control = "") -> None:
    """Give a closed namespace a new key and print the new invitation. Members take the key from each other.

    Only on the device that created the namespace, while its daemon runs: members hand the key on for a day, and old
    invitations end then. To exclude somebody, use shut-out.
    """
    from thyme.live.trust.namespaces import Namespace

    _keyring(store).get(name)
    client = _daemon_in(name, store, control)
    if client is None:
        raise InputError(
            f"the daemon of this device does not run in namespace {name!r}, so nobody would get the key; start it: "
            f"thyme node start --background --namespace {name!r}"
        )
    _show(Namespace.invited(client.renew_namespace()))


@app.command("shut-out")
def shut_out(name: str, store: Folder = "", control: Control = "") -> None:
    """Change the key of a namespace at once, to exclude somebody. Invite the others again."""
    from thyme.live.trust.identity import kept_identity

    keyring = _keyring(store)
    changed = keyring.get(name).renewed(kept_identity(_folder(store)).public)
    keyring.add(changed)
    _tell_daemon(changed, store, control)
    _show(changed)


def _tell_daemon(namespace: Namespace, store: str, control: str) -> None:
    """The daemon uses the namespace's new key from now on."""
    if (client := _daemon_in(namespace.name, store, control)) is not None:
        client.rejoin_namespace(namespace.invitation())


def _daemon_in(name: str, store: str, control: str) -> Client | None:
    """A client of this device's daemon if it runs in this namespace. One with its own --store needs --control."""
    from thyme.live.daemon.client import Client, NoDaemon
    from thyme.live.daemon.paths import control_path

    if store and not control:
        return None
    client = Client(control_path(control))
    try:
        return client if client.status().namespace == name else None
    except NoDaemon:
        return None


def _show(namespace: Namespace, *, qr: bool = False) -> None:
    print(namespace.invitation())
    if qr:
        import segno

        segno.make(namespace.invitation(), error="l").terminal(compact=True)


def _keyring(store: str) -> Keyring:
    from thyme.live.trust.keyring import Keyring

    return Keyring(_folder(store))


def _folder(store: str) -> Path:
    from thyme.live.store.folders import own_folder

    return Path(store).expanduser() if store else own_folder()


def shared_namespace(name: str, passphrase: str, store: str) -> Namespace:
    """The namespace that was named: one that this device has joined, else by invitation, or by name and passphrase. If
    this device has a newer key, with that one."""
    from thyme.live.trust.namespaces import DEFAULT_NAME, namespace_of

    keyring = None if store == "memory" else _keyring(store)
    if keyring is not None and not passphrase and (kept := keyring.find(name)) is not None:
        return kept
    named = namespace_of(name or DEFAULT_NAME, passphrase)
    kept = None if keyring is None else keyring.find(named.name)
    return kept if kept is not None and kept.supersedes(named) else named


def keep_namespace(store: str) -> Callable[[Namespace], None] | None:
    """What keeps a node's namespace when its key has changed. The file is read anew: other programs write it, too."""
    return None if store == "memory" else lambda namespace: _keyring(store).add(namespace)


async def _around() -> list[NearbyNamespace]:
    from thyme.live.node.node import Node
    from thyme.live.trust.namespaces import Namespace

    async with Node(store="memory", namespace=Namespace.drawn("listening").invitation()) as node:
        await asyncio.sleep(AROUND_S)
        return node.device.namespaces_around()
