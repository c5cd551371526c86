"""Serve a node's HTTP interface on the event loop that the node runs on.

On TCP everything goes through the `Guard`; a Unix socket is protected by file permissions: only its owner may use it
and its folder.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path
from stat import S_ISSOCK
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, NamedTuple, Self

import h11
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from thyme.live.http.endpoints import Endpoint, answer_error, document, routes_of
from thyme.live.http.guard import Admit, Guard, kept_token
from thyme.live.http.interface import NodeInterface, endpoints_of
from thyme.live.http.limits import JSON_BYTES, UNSENT_S, HttpOptions
from thyme.live.http.serving import BACKLOG, QuietServer, config_of, page_socket
from thyme.live.node.node import Node
from thyme.live.views import SessionView
from thyme.model.errors import InputError

LOCAL_NAMES = ("localhost", "127.0.0.1", "[::1]")
START_LOOK_S = 0.005
MAX_SOCKET_PATH_BYTES = 100
"""Longest path of a Unix socket on all systems."""
TOKEN_FILE = "http-token"


class Secure(NamedTuple):
    """How other machines are served: over https. Over http, they get nothing but a page that says so."""

    listen: str
    chain: Path
    key: Path
    introduction: ASGIApp
    """Served to other machines over http."""


class HttpServer:
    """The HTTP interface of a node that is open.

    async with HttpServer(node, listen="127.0.0.1:8470") as server:
        print(server.address, server.token)
    """

    def __init__(
        self,
        node: Node,
        *,
        listen: str = "",
        unix: Path | None = None,
        folder: Path | None = None,
        names: Sequence[str] = (),
        token: str = "",
        options: HttpOptions | None = None,
        more_endpoints: Callable[[NodeInterface], Iterable[Endpoint]] = lambda _: (),
        more_routes: Sequence[BaseRoute] = (),
        public: Callable[[str, str], bool] = lambda method, path: False,
        admit: Admit | None = None,
        secure: Secure | None = None,
    ) -> None:
        """`listen` is host:port of this machine, `unix` the path of a socket; at least one. `folder` keeps the token,
        uploads and contents; without it, they go with the server. `names` are further hosts that it is served under.
        `admit` says who may come without the token."""
        if not listen and unix is None:
            raise InputError("give an address to serve on: an address of this machine, or the path of a Unix socket")
        self._node, self._listen, self._unix = node, listen, unix
        self._options = options or HttpOptions()
        self._more_endpoints, self._more_routes, self._public = more_endpoints, more_routes, public
        self._admit, self._secure = admit, secure
        self._names = (*LOCAL_NAMES, *names)
        self._given_token = token
        self._temporary = TemporaryDirectory(prefix="thyme-http-") if folder is None else None
        self._folder = Path(self._temporary.name) if self._temporary else Path(str(folder))
        self._serving: list[tuple[uvicorn.Server, asyncio.Task[None]]] = []
        self.interface: NodeInterface | None = None
        self.token = ""
        self.address = ""
        """http://host:port, once it serves."""
        self.secure_port = 0

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def open(self) -> None:
        bound: list[tuple[socket.socket, str]] = []
        try:
            if self._listen:
                bound.append((page_socket(self._listen, "--http"), "http"))
            if self._secure is not None:
                bound.append((page_socket(self._secure.listen, "--http"), "https"))
            if self._unix is not None:
                bound.append((_unix_socket(self._unix), ""))
        except BaseException:
            for open_socket, _ in bound:
                open_socket.close()
            raise
        self.token = self._given_token or kept_token(self._folder / TOKEN_FILE)
        self.interface = interface = NodeInterface(self._node, self._folder, self._options)
        endpoints = [*endpoints_of(interface), *self._more_endpoints(interface)]
        for open_socket, scheme in bound:
            app = self._guarded(open_socket, endpoints, scheme) if scheme else self._application(endpoints, None)
            await self._serve(open_socket, app, self._secure if scheme == "https" else None)

    async def close(self) -> None:
        if self.interface is not None:
            await self.interface.end()
        for server, _ in self._serving:
            server.should_exit = True
        await asyncio.gather(*(task for _, task in self._serving), return_exceptions=True)
        self._serving.clear()
        if self._unix is not None:
            self._unix.unlink(missing_ok=True)
        if self._temporary is not None:
            self._temporary.cleanup()

    def _guarded(self, bound: socket.socket, endpoints: list[Endpoint], scheme: str) -> ASGIApp:
        host, port = bound.getsockname()[:2]
        written = f"[{host}]" if ":" in host else host
        names = (*self._names, written)
        guards: list[Guard] = []
        app = self._application(endpoints, guards)
        guards.append(
            Guard(
                app, token=self.token, names=names, port=port, public=self._is_public, admit=self._admit, scheme=scheme
            )
        )
        if scheme == "https":
            self.secure_port = port
            return guards[0]
        self.address = f"http://{written}:{port}"
        if self._secure is None:
            return guards[0]
        introduction = Guard(
            self._secure.introduction, token=self.token, names=names, port=port, public=lambda method, path: True
        )
        return _by_machine(guards[0], introduction)

    def _is_public(self, method: str, path: str) -> bool:
        return not path.startswith("/v1/") and path not in ("/openapi.json", "/metrics") and self._public(method, path)

    def _application(self, endpoints: list[Endpoint], guards: list[Guard] | None) -> Starlette:
        described = document(endpoints)

        async def openapi(_: Request, __: Any) -> Response:
            return JSONResponse(described)

        async def session(_: Request, __: Any) -> Response:
            cookies = {"set-cookie": guards[0].session_cookie()} if guards else {}
            return JSONResponse({"node": str(self._node.id)}, headers=cookies)

        own = [
            Endpoint("GET", "/openapi.json", openapi, "This document"),
            Endpoint("POST", "/v1/session", session, "Exchange the token for a cookie", gives=SessionView),
        ]
        routes: list[BaseRoute] = [*routes_of((*own, *endpoints), JSON_BYTES)]
        faults: dict[Any, Any] = {404: answer_error, 405: answer_error, Exception: answer_error}
        return Starlette(routes=[*routes, *self._more_routes], exception_handlers=faults)

    async def _serve(self, bound: socket.socket, app: ASGIApp, secure: Secure | None) -> None:
        config = config_of(
            app,
            http=_bounded_protocol(self._options),
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=UNSENT_S,
            ssl_certfile=secure.chain if secure else None,
            ssl_keyfile=secure.key if secure else None,
        )
        server = QuietServer(config)
        task = asyncio.get_running_loop().create_task(server.serve(sockets=[bound]))
        self._serving.append((server, task))
        while not server.started and not task.done():
            await asyncio.sleep(START_LOOK_S)
        if task.done():
            await task


def _by_machine(own: ASGIApp, others: ASGIApp) -> ASGIApp:
    """The first for requests of this machine, the second for those of others."""

    async def choose(scope: Scope, receive: Receive, send: Send) -> None:
        peer = scope.get("client")
        is_own = peer is not None and ip_address(peer[0]).is_loopback
        await (own if is_own else others)(scope, receive, send)

    return choose


def _bounded_protocol(options: HttpOptions) -> type[H11Protocol]:
    """HTTP/1.1 with a limit of connections and a timeout for headers: clients without a token cannot block the server
    with idle connections.
    """

    class BoundedProtocol(H11Protocol):
        _header_timer: asyncio.TimerHandle | None = None

        @property
        def busy(self) -> bool:
            return self.cycle is not None and not self.cycle.response_complete

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            opened[self] = None
            if len(opened) > options.connections:
                next((each for each in opened if not each.busy), self).transport.abort()
            self._limit_header()

        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            opened.pop(self, None)
            self._end_limit()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.conn.their_state is not h11.IDLE:
                self._end_limit()
            elif self._header_timer is None:
                self._limit_header()

        def _limit_header(self) -> None:
            self._header_timer = self.loop.call_later(options.header_s, self.transport.abort)

        def _end_limit(self) -> None:
            if self._header_timer is not None:
                self._header_timer.cancel()
                self._header_timer = None

    opened: dict[BoundedProtocol, None] = {}
    """In the order in which they came."""
    return BoundedProtocol


def _unix_socket(path: Path) -> socket.socket:
    """A socket that only this user can connect to. One that a killed process left behind is replaced."""
    if len(os.fsencode(path)) > MAX_SOCKET_PATH_BYTES:
        raise InputError(f"the path of the socket is too long: {path}; at most {MAX_SOCKET_PATH_BYTES} bytes")
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    _remove_dead(path)
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        bound.bind(os.fspath(path))
        bound.listen(BACKLOG)
    except OSError as error:
        bound.close()
        raise InputError(f"cannot serve on {path}: {error.strerror or error}") from error
    finally:
        os.umask(before)
    return bound


def _remove_dead(path: Path) -> None:
    with suppress(FileNotFoundError):
        if not S_ISSOCK(path.stat().st_mode):
            raise InputError(f"{path} exists and is not a socket; choose another path")
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            try:
                probe.connect(os.fspath(path))
            except ConnectionRefusedError:
                path.unlink()
                return
        raise InputError(f"a node already serves on {path}")
