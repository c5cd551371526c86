"""Serve an ASGI application on a socket, on the event loop that the program runs on."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from thyme.live.link.addresses import parse_address
from thyme.model.errors import InputError

BACKLOG = 128
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
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        bound = socket.socket(family, kind, protocol)
        try:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind(address)
            bound.listen(BACKLOG)
        except OSError:
            bound.close()
            raise
        return bound
    except OSError as error:
        raise InputError(f"{option}: cannot serve on {listen}: {error.strerror or error}") from error


def config_of(application: ASGIApp, **options: Any) -> uvicorn.Config:
    """On the event loop that runs, with no sockets but HTTP's and without logs."""
    return uvicorn.Config(
        application, loop="none", ws="none", lifespan="off", log_config=None, access_log=False, **options
    )


@asynccontextmanager
async def served(application: ASGIApp, bound: socket.socket) -> AsyncIterator[None]:
    """The application is served while this is entered."""
    server = QuietServer(config_of(application, timeout_graceful_shutdown=GRACE_S))
    serving = asyncio.ensure_future(server.serve(sockets=[bound]))
    try:
        yield
    finally:
        server.should_exit = True
        await asyncio.gather(serving, return_exceptions=True)
