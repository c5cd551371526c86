"""Serve an ASGI application on a socket, on the event loop that the program runs on."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import uvicorn
from starlette.types import ASGIApp

from thyme.live.link.addresses import parse_address
from thyme.model.errors import InputError

GRACE_S = 1
"""For answers under way when the server ends."""


class QuietServer(uvicorn.Server):
    """Signals are the program's matter."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def page_socket(listen: str, option: str) -> socket.socket:
    """A socket for a page on host:port; InputError names the option that asked for it."""
    host, port = parse_address(listen, option, any_port=True)
    try:
        return socket.create_server((host, port))
    except OSError as error:
        raise InputError(f"{option}: cannot serve on {listen}: {error.strerror or error}") from error


@asynccontextmanager
async def served(application: ASGIApp, bound: socket.socket) -> AsyncIterator[None]:
    """The application is served while this is entered."""
    config = uvicorn.Config(
        application, loop="none", ws="none", lifespan="off", log_config=None, access_log=False,
        timeout_graceful_shutdown=GRACE_S,
    )  # fmt: skip
    server = QuietServer(config)
    serving = asyncio.ensure_future(server.serve(sockets=[bound]))
    try:
        yield
    finally:
        server.should_exit = True
        await asyncio.gather(serving, return_exceptions=True)
