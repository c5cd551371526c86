"""The map of an emulated crowd in a browser: positions, links, stored objects and traffic, and what a person does to
the nodes by clicking.

A page, a stream of events (twice a second, the whole picture), and one address for actions. All need the token in the
page's address: anyone who can open it can kill processes of this user.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from secrets import token_urlsafe
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from thyme.live.emulation.stage import Stage
from thyme.live.http.serving import page_socket, served
from thyme.model.errors import InputError
from thyme.model.geometry import Point

PICTURE_EVERY_S = 0.5
MAX_ACTION_BYTES = 10_000
SHOWN_LINES = 8
STATIC = Path(__file__).parent / "static"
POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:"


class MapAction(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a person does: `kill` or `start` a node, `move` it, cut or mend a `link`, `cut` the area or `mend` it."""

    do: str
    node: int = -1
    other: int = -1
    x_m: float = 0.0
    y_m: float = 0.0


class Map:
    """Shows one stage."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self.token = token_urlsafe(16)
        self.lines: list[str] = []
        """Messages for people about recent events."""
        self.ended = asyncio.Event()
        """Set when the map is taken down, which ends its streams."""
        self._starting: set[asyncio.Task[None]] = set()
        routes = [
            Route("/", self._page),
            Route("/events", self._events),
            Route("/deeds", self._act_on_request, methods=["POST"]),
            *(Route(f"/{name}", self._file) for name in ("map.js", "map.css")),
        ]
        self.application = Starlette(routes=routes)

    def tell(self, text: str) -> None:
        self.lines = [*self.lines, text][-SHOWN_LINES:]

    def picture(self) -> dict[str, Any]:
        """All that the page shows."""
        stage, area = self._stage, self._stage.area
        carried = dict(stage.air.carried)
        stage.air.carried.clear()
        nodes = [
            {"x": round(place.x_m, 1), "y": round(place.y_m, 1), "on": member.on, "state": member.state}
            for place, member in zip(area.places, stage.members, strict=True)
        ]
        return {
            "width": area.options.width_m,
            "height": area.options.height_m,
            "range": area.options.range_m,
            "cell": stage.options.settings.get("grid", {}).get("cell_m", 0.0),
            "approach": stage.options.approach,
            "now": round(stage.now(), 1),
            "nodes": nodes,
            "links": area.links(),
            "carried": [[one, other, count] for (one, other), count in carried.items()],
            "cut": area.cut_at_m,
            "cutLinks": sorted(area.cut_links),
            "datagrams": stage.air.datagrams,
            "lost": stage.air.lost,
            "lines": self.lines,
        }

    def act(self, action: MapAction) -> None:
        stage = self._stage
        for node in {"link": (action.node, action.other), "cut": (), "mend": ()}.get(action.do, (action.node,)):
            if not 0 <= node < len(stage.members):
                raise InputError(f"there is no node {node}")
        match action.do:
            case "kill":
                stage.kill(action.node)
            case "start":
                task = asyncio.ensure_future(stage.start(action.node))
                self._starting.add(task)
                task.add_done_callback(self._starting.discard)
            case "move":
                stage.move(action.node, Point(action.x_m, action.y_m))
            case "link":
                stage.area.cut_link(action.node, action.other)
            case "cut":
                stage.area.cut_at_m = action.x_m
            case "mend":
                stage.area.cut_at_m = None
                stage.area.cut_links.clear()
            case _:
                raise InputError(f"there is no action {action.do!r}")
        target = (
            "" if action.node < 0 else f" node {action.node}" + (f" and {action.other}" if action.other >= 0 else "")
        )
        if action.do != "move":
            self.tell(f"{stage.now():.0f} s: {action.do}{target}, by hand")

    def _allowed(self, request: Request) -> bool:
        return hmac.compare_digest(request.query_params.get("token", "").encode(), self.token.encode())

    async def _page(self, request: Request) -> Response:
        if not self._allowed(request):
            return PlainTextResponse("open the address that thyme crowd printed", 403)
        headers = {"content-security-policy": POLICY, "referrer-policy": "no-referrer", "cache-control": "no-store"}
        return FileResponse(STATIC / "map.html", headers=headers)

    async def _file(self, request: Request) -> Response:
        return FileResponse(STATIC / request.url.path.rpartition("/")[2])

    async def _events(self, request: Request) -> Response:
        if not self._allowed(request):
            return PlainTextResponse("no", 403)
        return StreamingResponse(self._pictures(), media_type="text/event-stream")

    async def _pictures(self) -> AsyncIterator[bytes]:
        while not self.ended.is_set():
            yield b"data: %s\n\n" % msgspec.json.encode(self.picture())
            with suppress(TimeoutError):
                await asyncio.wait_for(self.ended.wait(), PICTURE_EVERY_S)

    async def _act_on_request(self, request: Request) -> Response:
        if not self._allowed(request):
            return PlainTextResponse("no", 403)
        try:
            body = await request.body()
            if len(body) > MAX_ACTION_BYTES:
                raise InputError("the request is too large")
            self.act(msgspec.json.decode(body, type=MapAction))
        except (InputError, msgspec.MsgspecError) as error:
            return PlainTextResponse(str(error), 400)
        return Response(status_code=204)


@asynccontextmanager
async def shown(stage: Stage, listen: str) -> AsyncIterator[tuple[Map, str]]:
    """While this is entered, the map is served; with its address."""
    chart = Map(stage)
    bound = page_socket(listen, "--map")
    host, port = bound.getsockname()[:2]
    async with served(chart.application, bound):
        try:
            yield chart, f"http://{host}:{port}/?token={chart.token}"
        finally:
            chart.ended.set()
