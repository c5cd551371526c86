"""A node that programs share: its HTTP interface on a control socket, an address of this machine, or both; and a node
without a terminal, which runs until a signal or a program asks it to leave."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any

import msgspec

from thyme.live.daemon.paths import expect_own
from thyme.live.node.node import Node
from thyme.live.trust.device_names import MAX_NAME_BYTES

PRIVATE = 0o700


class HttpAccess(msgspec.Struct, frozen=True):
    """Addresses of a node's interfaces."""

    control: Path | None = None
    http: str = ""
    """host:port; nowhere unless given."""
    folder: Path | None = None
    """Keeps the token, uploads and contents; without it, they go with the node."""


class Here(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Metres from the south-west corner of the area, or degrees (WGS84) if the area has a reference point."""

    x_m: float | None = None
    y_m: float | None = None
    latitude: float | None = None
    longitude: float | None = None


class Called(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_NAME_BYTES)]
    """What people call this device."""


class Invitation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    invitation: str


class Ending(msgspec.Struct, frozen=True):
    process: int
    """It has ended when this process has."""


class Served(msgspec.Struct, frozen=True):
    control: str
    address: str
    token: str


@asynccontextmanager
async def served(node: Node, access: HttpAccess, stop: Callable[[], object]) -> AsyncIterator[Served | None]:
    """While this is entered, programs can speak to the node; one that asks for its end has `stop` called."""
    if access.control is None and not access.http:
        yield None
        return
    from thyme.live.http.endpoints import Endpoint
    from thyme.live.http.interface import NodeInterface
    from thyme.live.http.server import HttpServer

    async def end(_: Any, __: None) -> Ending:
        stop()
        return Ending(os.getpid())

    async def place(_: Any, here: Here) -> None:
        node.place(here.x_m, here.y_m, latitude=here.latitude, longitude=here.longitude)

    async def rename(_: Any, called: Called) -> None:
        node.rename(called.name)

    async def renew(_: Any, __: None) -> Invitation:
        return Invitation(node.renew())

    async def rejoin(_: Any, given: Invitation) -> None:
        node.rejoin(given.invitation)

    def more(_: NodeInterface) -> list[Endpoint]:
        return [
            Endpoint("POST", "/v1/stop", end, "Leave and end", gives=Ending),
            Endpoint("PUT", "/v1/position", place, "Say where the device is now", takes=Here, status=204),
            Endpoint("PUT", "/v1/name", rename, "Say what people call the device", takes=Called, status=204),
            Endpoint("POST", "/v1/namespace/key", renew, "Renew the namespace's key", gives=Invitation),
            Endpoint("PUT", "/v1/namespace/key", rejoin, "Use a newer invitation's key", takes=Invitation, status=204),
        ]

    if access.control is not None:
        access.control.parent.mkdir(parents=True, exist_ok=True, mode=PRIVATE)
        expect_own(access.control.parent)
    server = HttpServer(node, listen=access.http, unix=access.control, folder=access.folder, more_endpoints=more)
    async with server:
        control = "" if access.control is None else str(access.control)
        yield Served(control, server.address, server.token if server.address else "")


async def serve(node: Node, access: HttpAccess) -> None:
    """Run a node to its end, with its HTTP interface."""
    leave = asyncio.Event()
    loop = asyncio.get_running_loop()
    signals = (signal.SIGINT, signal.SIGTERM)
    for number in signals:
        loop.add_signal_handler(number, leave.set)
    try:
        await node.open()
        try:
            async with served(node, access, leave.set) as reached:
                _say(node, reached)
                await node.connect(node.options.peers)
                await _until(leave, node)
        finally:
            await node.close()
    finally:
        for number in signals:
            loop.remove_signal_handler(number)


async def _until(leave: asyncio.Event, node: Node) -> None:
    """Take part until it is time to leave, which may be before it began."""
    joining = asyncio.ensure_future(node.join())
    leaving = asyncio.ensure_future(leave.wait())
    try:
        await asyncio.wait({joining, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if joining.done():
            joining.result()
            await leaving
    finally:
        joining.cancel()
        leaving.cancel()
        await asyncio.gather(joining, leaving, return_exceptions=True)


def _say(node: Node, reached: Served | None) -> None:
    lines = [f"node {node.id} ({node.options.approach}) listens on {node.address}"]
    if reached is not None and reached.control:
        lines.append(f"programs of this user reach it at {reached.control}")
    if reached is not None and reached.address:
        lines.append(f"programs with its token reach it at {reached.address}")
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()
