"""The doors of a running node: its HTTP interface on a control socket, on an address of this machine, or both."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from thyme.live.daemon.places import expect_own
from thyme.live.node.node import Node

PRIVATE = 0o700


class Doors(msgspec.Struct, frozen=True):
    """Where a node can be spoken to."""

    control: Path | None = None
    http: str = ""
    """host:port; nowhere unless given."""
    folder: Path | None = None
    """Keeps the token, uploads and contents; without it, they go with the node."""


class Here(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Metres from the south-west corner of the area."""

    x_m: float
    y_m: float


class Ending(msgspec.Struct, frozen=True):
    process: int
    """It has ended when this process has."""


class Opened(msgspec.Struct, frozen=True):
    control: str
    address: str
    token: str


@asynccontextmanager
async def opened(node: Node, doors: Doors, stop: Callable[[], object]) -> AsyncIterator[Opened | None]:
    """While this is entered, programs can speak to the node; one that asks for its end has `stop` called."""
    if doors.control is None and not doors.http:
        yield None
        return
    from thyme.live.http.endpoints import Endpoint
    from thyme.live.http.interface import NodeInterface
    from thyme.live.http.server import HttpServer

    async def end(_: Any, __: None) -> Ending:
        stop()
        return Ending(os.getpid())

    async def place(_: Any, here: Here) -> None:
        node.place(here.x_m, here.y_m)

    def more(_: NodeInterface) -> list[Endpoint]:
        return [
            Endpoint("POST", "/v1/stop", end, "Leave and end", gives=Ending),
            Endpoint("PUT", "/v1/position", place, "Say where the device is now", takes=Here, status=204),
        ]

    if doors.control is not None:
        doors.control.parent.mkdir(parents=True, exist_ok=True, mode=PRIVATE)
        expect_own(doors.control.parent)
    server = HttpServer(node, listen=doors.http, unix=doors.control, folder=doors.folder, more_endpoints=more)
    async with server:
        control = "" if doors.control is None else str(doors.control)
        yield Opened(control, server.address, server.token if server.address else "")
