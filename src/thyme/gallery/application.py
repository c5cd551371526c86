"""The gallery as a program: a node, its page, and the way from one gallery to another.

The page listens on this machine only; with `share` it listens on the network as well, where phones enter as guests with
the key in the address that they scan. The token, which opens everything, is only in the host's own address. With
`https` phones are served over https only: the address that they scan shows a page that explains the browser's warning
and leads there.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import psutil
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Message, Receive, Scope, Send

from thyme.gallery.forms import NewGallery, SecurePage
from thyme.gallery.galleries import Galleries
from thyme.gallery.handlers import GalleryHandlers, gallery_endpoints
from thyme.gallery.limits import GalleryOptions
from thyme.gallery.sessions import Sessions, ViewerSession
from thyme.live.http.endpoints import Endpoint
from thyme.live.http.guard import kept_token
from thyme.live.http.interface import NodeInterface
from thyme.live.http.server import TOKEN_FILE, HttpServer, Secure
from thyme.live.node.node import Node
from thyme.model.geometry import Point

if TYPE_CHECKING:
    from thyme.gallery.certificates import HostCertificate

LOCAL, EVERYWHERE = "127.0.0.1", "0.0.0.0"
QUICK = {"join_wait_s": 0.5, "settle_s": 1.0, "past_matches": 24}
"""A person waits for the node to join, and a page of the past fills a screen."""
STATIC = Path(__file__).parent / "static"
CONTENT_POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' blob:",
        "connect-src 'self'",
        "manifest-src 'self'",
        "worker-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types thyme",
    ]
)
HEADERS = {"content-security-policy": CONTENT_POLICY, "cache-control": "no-cache"}
AT_THE_ROOT = {
    "/": ("index.html", "text/html"),
    "/sw.js": ("sw.js", "text/javascript"),
    "/manifest.webmanifest": ("manifest.webmanifest", "application/manifest+json"),
}


class ApplicationOptions(msgspec.Struct, frozen=True):
    folder: Path
    port: int = 0
    share: bool = False
    https: bool = False
    """Whether guests are served over https, if the page is shared."""
    listen: str = "127.0.0.1:0"
    """Where the node listens for others; nothing is everywhere, and those of the network find each other."""
    peers: tuple[str, ...] = ()
    position: Point | None = None
    gallery: NewGallery | None = None
    by: str = ""
    subscribe: str = ""
    """A query to subscribe to when a gallery is opened for the first time."""
    leave_s: float = 3.0
    """How long leaving waits for others to take over what this node held for them."""
    demo: bool = False
    limits: GalleryOptions = GalleryOptions()


class Application:
    """Runs until it is stopped; `opened` is called whenever a gallery is open."""

    def __init__(self, options: ApplicationOptions, opened: Callable[[Application], None] = lambda _: None) -> None:
        self.options = options
        self._opened = opened
        options.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.galleries = Galleries(options.folder, options.gallery)
        self._switch = asyncio.Event()
        self.galleries.changed = self._switch.set
        self._port, self._listen = options.port, options.listen
        self._secure_port = options.port + 1 if options.port else 0
        self.certificate = _certificate(options.folder) if options.https else None
        self.token = kept_token(options.folder / TOKEN_FILE)
        self.node: Node | None = None
        self.sessions: Sessions | None = None

    @property
    def page(self) -> str:
        """The page's address on this machine."""
        return f"http://{LOCAL}:{self._port}/#token={self.token}"

    @property
    def guest_page(self) -> str:
        """The address on the network where guests enter, if the page is shared there."""
        host = own_addresses()[0] if self.options.share and own_addresses() else ""
        return f"http://{host}:{self._port}/#guest={self.sessions.key}" if host and self.sessions else ""

    async def run(self) -> None:
        while True:
            self._switch.clear()
            await self._run_one()

    async def _run_one(self) -> None:
        options, namespace = self.options, self.galleries.current
        folder = options.folder / "galleries" / namespace.folder
        grid = namespace.settings["grid"]
        middle = Point(min(grid["width_m"], grid["cell_m"]) / 2, min(grid["height_m"], grid["cell_m"]) / 2)
        node = Node(
            store=folder / "store",
            namespace=namespace.invitation(),
            listen=self._listen,
            peers=options.peers,
            settings=QUICK,
            position=options.position or middle,
            leave_s=options.leave_s,
        )
        async with AsyncExitStack() as stack:
            await node.open()
            stack.push_async_callback(node.close)
            server = self._server(node, folder, stack)
            await stack.enter_async_context(server)
            await node.connect(options.peers)
            await node.join()
            self.node, self._port = node, int(server.address.rpartition(":")[2])
            self._secure_port = server.secure_port
            if options.listen:  # where others know this device, in whatever gallery it is
                self._listen = node.address
            self._opened(self)
            await node.device.joined.wait()
            assert self.sessions is not None, "the server is open"
            await self.sessions.welcome(options.subscribe)
            await self._switch.wait()
            await asyncio.sleep(SWITCH_S)

    def _server(self, node: Node, folder: Path, stack: AsyncExitStack) -> HttpServer:
        options = self.options

        def endpoints(interface: NodeInterface) -> list[Endpoint]:
            sessions = self.sessions = Sessions(interface, options.folder, folder, options.limits)
            stack.push_async_callback(sessions.end)
            if options.by and not sessions.host.sharing.photos.by:
                sessions.call(sessions.host, options.by)
            fingerprint = self.certificate.fingerprint if self.certificate else ""
            handlers = GalleryHandlers(
                *(interface, sessions, self.galleries, lambda: self.guest_page),
                fingerprint=fingerprint, demo=options.demo,
            )  # fmt: skip
            return gallery_endpoints(handlers)

        def admit(headers: Headers, method: str, path: str) -> ViewerSession | None:
            assert self.sessions is not None, "the server is open"
            return self.sessions.admit(headers, method, path)

        return HttpServer(
            node,
            listen=f"{EVERYWHERE if options.share else LOCAL}:{self._port}",
            folder=folder / "web",
            names=own_addresses() if options.share else (),
            token=self.token,
            more_endpoints=endpoints,
            more_routes=page_routes(),
            public=is_page,
            admit=admit,
            secure=self._secure(),
        )

    def _secure(self) -> Secure | None:
        if self.certificate is None:
            return None
        introduction = Starlette(routes=introduction_routes(self.certificate, lambda: self._secure_port))
        return Secure(f"{EVERYWHERE}:{self._secure_port}", self.certificate.chain, self.certificate.key, introduction)


SWITCH_S = 0.2
"""For the answer to a request for another gallery."""


def _certificate(folder: Path) -> HostCertificate:
    from thyme.gallery.certificates import host_certificate

    return host_certificate(folder, own_addresses())


def own_addresses() -> list[str]:
    """This machine's addresses on networks, those of Wi-Fi and cable before those of virtual ones."""
    found: list[tuple[bool, str]] = []
    for name, addresses in psutil.net_if_addrs().items():
        for address in addresses:
            if address.family == socket.AF_INET and not address.address.startswith("127."):
                found.append((name.startswith(("docker", "br-", "veth", "virbr", "tun")), address.address))
    return [address for _, address in sorted(found)]


def introduction_routes(certificate: HostCertificate, secure_port: Callable[[], int]) -> list[BaseRoute]:
    """What phones find at the address that they scanned, if the gallery is served over https."""

    async def where(request: Request) -> Response:
        told = SecurePage(f"https://{request.url.hostname}:{secure_port()}/")
        return JSONResponse(msgspec.to_builtins(told))

    async def authority(_: Request) -> Response:
        kind = "application/x-x509-ca-cert"
        return FileResponse(certificate.authority, media_type=kind, filename="thyme-gallery.crt")

    return [
        Route("/", _file("https.html", "text/html"), methods=["GET"]),
        Route("/https", where, methods=["GET"]),
        Route("/authority", authority, methods=["GET"]),
        Mount("/static", _Files(directory=STATIC)),
    ]


def page_routes() -> list[BaseRoute]:
    """The page and its parts, as files: nothing comes from elsewhere, and nothing is run that is not one of them."""
    single = [Route(path, _file(*named), methods=["GET"]) for path, named in AT_THE_ROOT.items()]
    return [*single, Mount("/static", _Files(directory=STATIC))]


def is_page(method: str, path: str) -> bool:
    """The shell of the page holds nothing of anybody's, so it needs no token."""
    return method in ("GET", "HEAD") and (path in AT_THE_ROOT or path.startswith("/static/"))


def _file(name: str, media_type: str) -> Callable[[Request], Awaitable[Response]]:
    async def give(_: Request) -> Response:
        return FileResponse(STATIC / name, media_type=media_type, headers=HEADERS)

    return give


class _Files(StaticFiles):
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                ours = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message["headers"] = [*message["headers"], *ours]
            await send(message)

        await super().__call__(scope, receive, send_guarded)
