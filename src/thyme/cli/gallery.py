"""`thyme gallery`: the shared photo gallery of this device, as a page in the browser."""

from __future__ import annotations

import asyncio
import signal
import sys
import webbrowser
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from thyme.gallery.application import Application, ApplicationOptions

PORT = 8470
ReportPosition = Callable[[str], Awaitable[None]]
"""Reports the position of this node to the emulated crowd."""
DEMO_NAME = "Demo festival"


def gallery(
    demo: Annotated[bool, typer.Option("--demo", help="Add an emulated crowd of people who post photos.")] = False,
    share: Annotated[
        bool, typer.Option("--share", help="Let phones on this network open the page; prints a QR code.")
    ] = False,
    https: Annotated[
        bool, typer.Option("--https", help="Serve guests over https; browsers warn first, and a page explains it.")
    ] = False,
    name: Annotated[str, typer.Option(help="Name of the gallery; a new one is created.")] = "",
    passphrase: Annotated[str, typer.Option(help="Passphrase of a closed gallery.", envvar="THYME_PASSPHRASE")] = "",
    invitation: Annotated[str, typer.Option(help="Join the gallery of an invitation (thyme:…).")] = "",
    by: Annotated[str, typer.Option(help="Author name that others see on your photos.")] = "",
    peer: Annotated[list[str] | None, typer.Option(help="host:port of a node in range; repeatable.")] = None,
    listen: Annotated[str, typer.Option(help="host:port on which the node listens. Default: all interfaces.")] = "",
    at: Annotated[str, typer.Option("--at", metavar="X,Y", help="Position of this device, in metres.")] = "",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port of the page; 0: a free one.")] = PORT,
    folder: Annotated[str, typer.Option(metavar="DIR", help="Folder for photos and all other data.")] = "",
    open_page: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
) -> None:
    """Share photos with people nearby, without the Internet: a node with a gallery in the browser."""
    from platformdirs import user_data_path

    from thyme.gallery.application import ApplicationOptions
    from thyme.gallery.forms import NewGallery
    from thyme.gallery.limits import EVERY_PHOTO
    from thyme.live.loop import run
    from thyme.live.node.position import position_of

    if https:
        _check_https(share)
    base = Path(folder).expanduser() if folder else user_data_path("thyme", appauthor=False) / "gallery"
    named = name or (DEMO_NAME if demo and not invitation else "")
    first = NewGallery(name=named, passphrase=passphrase, invitation=invitation) if named or invitation else None
    options = ApplicationOptions(
        folder=base / "demo" if demo else base,
        port=port,
        share=share,
        https=https,
        listen=listen or ("127.0.0.1:0" if demo else ""),
        peers=tuple(peer or ()),
        position=position_of(at, "--at ") if at else None,
        gallery=first,
        by=by or ("Robin" if demo else ""),
        subscribe="festival" if demo else EVERY_PHOTO,
        demo=demo,
    )
    run(_run(options, open_page))


def _check_https(share: bool) -> None:
    from thyme.extras import require
    from thyme.model.errors import InputError

    if not share:
        raise InputError(
            "--https protects the connections of guests: add --share; your own page does not leave this machine"
        )
    require("gallery", "--https")


async def _run(options: ApplicationOptions, open_page: bool) -> None:
    from thyme.gallery.application import Application

    opened = asyncio.Event()

    def show(application: Application) -> None:
        if not opened.is_set():
            print(_welcome(application), flush=True)
            if open_page:
                webbrowser.open(application.page)
        opened.set()

    application = Application(options, show)
    async with _crowd(application) if options.demo else _nobody() as tell:
        await _live(application, opened, tell)


async def _live(application: Application, opened: asyncio.Event, tell: ReportPosition) -> None:
    life = asyncio.create_task(application.run())
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, life.cancel)
    waiting = asyncio.create_task(opened.wait())
    await asyncio.wait({life, waiting}, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    if application.node is not None:
        await tell(application.node.address)
    with suppress(asyncio.CancelledError):
        await life


def _welcome(application: Application) -> str:
    from thyme.gallery.codes import terminal_code

    lines = [f"{application.galleries.current.name}: open {application.page}"]
    if application.guest_page:
        lines += [
            "",
            terminal_code(application.guest_page),
            "",
            f"Guests on this network: scan, or open {application.guest_page}",
            "Guests choose a name and see what is published; your private photos and settings stay yours.",
            *_protection(application),
        ]
    elif application.options.share:
        lines.append("This machine has no address on a network, so phones cannot open the page.")
    return "\n".join([*lines, "Ctrl-C ends it."])


def _protection(application: Application) -> list[str]:
    if application.certificate is None:
        return ["There is no encryption between a phone and this machine: use a network that you trust, or --https."]
    return [
        "The code shows a page that explains the browser's warning, and leads to https. Guests who install the",
        f"certificate can compare its fingerprint: {application.certificate.fingerprint}",
    ]


@asynccontextmanager
async def _nobody() -> AsyncIterator[ReportPosition]:
    async def tell(_: str) -> None:
        """No crowd is emulated."""

    yield tell


@asynccontextmanager
async def _crowd(application: Application) -> AsyncIterator[ReportPosition]:
    """The emulated crowd, in a child process that receives the position of this node."""
    invitation = application.galleries.current.invitation()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "thyme.gallery.demo.emulated_crowd", invitation), stdin=asyncio.subprocess.PIPE
    )
    pipe = process.stdin
    assert pipe is not None, "it was asked for"

    async def tell(address: str) -> None:
        with suppress(ConnectionError):
            pipe.write(f"{address}\n".encode())
            await pipe.drain()

    try:
        yield tell
    finally:
        pipe.close()
        try:
            await asyncio.wait_for(process.wait(), 5.0)
        except TimeoutError:
            process.kill()
