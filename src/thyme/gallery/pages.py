"""The page and its parts, as files: nothing comes from elsewhere, and nothing is run that is not one of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Message, Receive, Scope, Send

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


def page_routes() -> list[BaseRoute]:
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
