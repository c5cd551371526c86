"""The gallery as a program: a node, its page, and the way from one gallery to another.

The page listens on this machine only; with `share` it listens on the network as well, for phones beside it, which get
the token in the address that they scan. The token opens everything, so the address is for those who may do everything.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path

import msgspec
import psutil

from thyme.gallery.forms import NewGallery
from thyme.gallery.galleries import CELL_M, Galleries
from thyme.gallery.handlers import Handlers
from thyme.gallery.library import Library
from thyme.gallery.limits import GalleryOptions
from thyme.gallery.pages import is_page, page_routes
from thyme.gallery.sharing import Sharing
from thyme.gallery.table import gallery_endpoints
from thyme.gallery.traffic import TrafficSums
from thyme.live.http.endpoints import Endpoint
from thyme.live.http.forms import NewSubscription
from thyme.live.http.guard import kept_token
from thyme.live.http.interface import NodeInterface
from thyme.live.http.server import TOKEN_FILE, HttpServer
from thyme.live.node.node import Node
from thyme.model.geometry import Point

LOCAL, EVERYWHERE = "127.0.0.1", "0.0.0.0"
QUICK = {"join_wait_s": 0.5, "settle_s": 1.0, "past_matches": 24}
"""A person waits for the node to join, and a page of the past fills a screen."""


class ApplicationOptions(msgspec.Struct, frozen=True):
    folder: Path
    port: int = 0
    share: bool = False
    listen: str = "127.0.0.1:0"
    """Where the node listens for others; nothing is everywhere, and those of the network find each other."""
    peers: tuple[str, ...] = ()
    position: Point | None = None
    gallery: NewGallery | None = None
    by: str = ""
    subscribe: str = ""
    """A query to subscribe to when there is no subscription yet."""
    leave_s: float = 3.0
    """How long leaving waits for others to take over what this node held for them."""
    demo: bool = False
    limits: GalleryOptions = GalleryOptions()


class Application:
    """Runs until it is stopped; `opened` is told whenever a gallery is open."""

    def __init__(self, options: ApplicationOptions, opened: Callable[[Application], None] = lambda _: None) -> None:
        self.options = options
        self._opened = opened
        options.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.galleries = Galleries(options.folder, options.gallery)
        self._switch = asyncio.Event()
        self.galleries.changed = self._switch.set
        self._port, self._listen = options.port, options.listen
        self.token = kept_token(options.folder / TOKEN_FILE)
        self.node: Node | None = None
        self.sharing: Sharing | None = None

    @property
    def page(self) -> str:
        """The page's address on this machine."""
        return f"http://{LOCAL}:{self._port}/#token={self.token}"

    @property
    def shared_page(self) -> str:
        """… and on the network, if it is shared there."""
        host = own_addresses()[0] if self.options.share and own_addresses() else ""
        return f"http://{host}:{self._port}/#token={self.token}" if host else ""

    async def run(self) -> None:
        while True:
            self._switch.clear()
            await self._run_one()

    async def _run_one(self) -> None:
        options, namespace = self.options, self.galleries.current
        folder = options.folder / "galleries" / namespace.folder
        grid = namespace.settings["grid"]
        middle = Point(min(grid["width_m"], CELL_M) / 2, min(grid["height_m"], CELL_M) / 2)
        traffic = TrafficSums()
        node = Node(
            store=folder / "store",
            namespace=namespace.invitation(),
            listen=self._listen,
            peers=options.peers,
            settings=QUICK,
            position=options.position or middle,
            log_to=traffic,
            leave_s=options.leave_s,
        )
        async with AsyncExitStack() as stack:
            await node.open()
            stack.push_async_callback(node.close)
            server = self._server(node, folder, traffic, stack)
            await stack.enter_async_context(server)
            await node.connect(options.peers)
            await node.join()
            self.node, self._port = node, int(server.address.rpartition(":")[2])
            if options.listen:  # where others know this device, in whatever gallery it is
                self._listen = node.address
            self._opened(self)
            await node.device.joined.wait()
            if options.subscribe and not node.subscriptions():
                assert server.interface is not None, "the server is open"
                await server.interface.subscriptions.add(NewSubscription(options.subscribe))
            await self._switch.wait()
            await asyncio.sleep(SWITCH_S)

    def _server(self, node: Node, folder: Path, traffic: TrafficSums, stack: AsyncExitStack) -> HttpServer:
        options = self.options

        def endpoints(interface: NodeInterface) -> list[Endpoint]:
            library = Library(folder, options.limits.photos)
            sharing = self.sharing = Sharing(node, library, options.limits, interface.events)
            stack.push_async_callback(sharing.end)
            if options.by and not sharing.shelf.by:
                sharing.shelf.call_me(options.by)
            handlers = Handlers(
                interface, sharing, self.galleries, traffic, lambda: self.shared_page, demo=options.demo
            )
            return gallery_endpoints(handlers)

        return HttpServer(
            node,
            listen=f"{EVERYWHERE if options.share else LOCAL}:{self._port}",
            folder=folder / "web",
            names=own_addresses() if options.share else (),
            token=self.token,
            more_endpoints=endpoints,
            more_routes=page_routes(),
            public=is_page,
        )


SWITCH_S = 0.2
"""For the answer to whoever asked for another gallery."""


def own_addresses() -> list[str]:
    """This machine's addresses on networks, those of Wi-Fi and cable before those of virtual ones."""
    found: list[tuple[bool, str]] = []
    for name, addresses in psutil.net_if_addrs().items():
        for address in addresses:
            if address.family == socket.AF_INET and not address.address.startswith("127."):
                found.append((name.startswith(("docker", "br-", "veth", "virbr", "tun")), address.address))
    return [address for _, address in sorted(found)]
