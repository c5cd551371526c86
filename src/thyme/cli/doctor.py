"""`thyme doctor`: why two devices do not see each other."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from thyme.model.errors import InputError
from thyme.model.terminal import printable

if TYPE_CHECKING:
    from thyme.live.doctor import Diagnosis


def doctor(
    namespace: Annotated[str, typer.Option(help="The namespace of both devices: its name or invitation.")] = "",
    passphrase: Annotated[str, typer.Option(help="Passphrase of a closed namespace.")] = "",
    peer: Annotated[list[str] | None, typer.Option(help="host:port of a node that is not found; repeatable.")] = None,
    approach: Annotated[str, typer.Option(help="What this device runs; the namespace's, or dcs.")] = "",
    store: Annotated[str, typer.Option(metavar="DIR", help="The folder of this device's key.")] = "",
) -> None:
    """Listen for a few seconds, and report which nodes are found and why others are not. Run it on both devices."""
    findings = asyncio.run(_examined(namespace, passphrase, peer or [], approach, store))
    for finding in findings:
        print(f"{'ok ' if finding.fine else '?? '} {printable(finding.text)}")
    if not all(finding.fine for finding in findings):
        raise typer.Exit(1)


async def _examined(name: str, passphrase: str, peers: list[str], approach: str, store: str) -> list[Diagnosis]:
    from pathlib import Path
    from socket import AF_UNSPEC

    from thyme.cli.namespaces import shared_namespace
    from thyme.live.doctor import Doctor
    from thyme.live.link.sockets import resolve
    from thyme.live.store.folders import own_folder
    from thyme.live.trust.approach_choice import DEFAULT_APPROACH
    from thyme.live.trust.identity import KEY_FILE, kept_identity

    shared = shared_namespace(name, passphrase, store)
    folder = Path(store).expanduser() if store else own_folder()
    own = kept_identity(folder).node if (folder / KEY_FILE).exists() else None
    addresses = [await resolve(one, "--peer", AF_UNSPEC) for one in peers]
    try:
        return await Doctor(shared, approach or shared.approach or DEFAULT_APPROACH, own).examine(addresses)
    except OSError as error:
        raise InputError(f"the network cannot be examined: {error}") from error
