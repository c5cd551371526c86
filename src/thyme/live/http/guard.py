"""The guard in front of the HTTP interface: who may speak to the node.

Every request must name this server (`Host`: one of the names it is served under, so a foreign name that was made to
point here, DNS rebinding, gets nothing), must not come from another site's page (`Origin`, `Sec-Fetch-Site`), and what
is not public must show the node's token: as `Authorization: Bearer …`, or as the cookie that `POST /v1/session` gives a
page for it. The cookie is out of reach of scripts, is sent by pages of this very site only, and its name holds the
port, because browsers mix the cookies of a host's ports.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from hmac import compare_digest
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from secrets import token_urlsafe
from typing import Any

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from thyme.live.failures import RequestError
from thyme.live.http.endpoints import response_to
from thyme.model.errors import InputError

TOKEN_BYTES = 24
MIN_TOKEN_CHARS, MAX_TOKEN_CHARS = 16, 200
COOKIE_AGE_S = 400 * 86_400
"""The longest that browsers keep one."""
DEFAULT_PORTS = {"http": 80, "https": 443}
HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
)
CONTENT_POLICY = b"default-src 'none'; frame-ancestors 'none'"
"""For answers that say nothing else: nothing in them is ever run or shown as a page."""


def cookie_text(name: str, value: str, scheme: str) -> str:
    """The value of Set-Cookie. A host's http and https share their cookies, unless one says that it is for https."""
    secure = "; Secure" if scheme == "https" else ""
    return f"{name}={value}; Path=/; Max-Age={COOKIE_AGE_S}; HttpOnly; SameSite=Strict{secure}"


def kept_token(file: Path) -> str:
    """The token that is kept in a file which only its owner can read; it is made on first use."""
    try:
        token = file.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        token = token_urlsafe(TOKEN_BYTES)
        file.parent.mkdir(parents=True, exist_ok=True)
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as out:
            out.write(token)
    if not MIN_TOKEN_CHARS <= len(token) <= MAX_TOKEN_CHARS:
        raise InputError(f"{file} contains no token; remove it, and a new one is created")
    return token


SESSION = "thyme.session"
Admit = Callable[[Headers, str, str], Any]
"""Given headers, method and path of a request: its sender; a RequestError if it is not allowed."""


class Guard:
    """An ASGI application in front of another."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        token: str,
        names: Iterable[str],
        port: int,
        public: Callable[[str, str], bool] = lambda method, path: False,
        admit: Admit | None = None,
        scheme: str = "http",
    ) -> None:
        """`names` are the hosts that this server is known by; `public` says what needs no token, by method and path.
        `admit` is asked about requests without the token; handlers find what it gives in the scope, as SESSION."""
        self._app = app
        self._token = token.encode()
        self._hosts = {f"{name}:{port}" for name in names} | ({*names} if port == DEFAULT_PORTS[scheme] else set())
        self.cookie = f"thyme-{port}"
        self._public, self._admit, self._scheme = public, admit, scheme

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        headers = Headers(scope=scope)
        try:
            self._check_site(headers)
            if not self._public(scope["method"], scope["path"]):
                self._check_token(scope, headers)
        except RequestError as fault:
            await response_to(fault)(scope, receive, _with_headers(send))
            return
        await self._app(scope, receive, _with_headers(send))

    def session_cookie(self) -> str:
        """The value of Set-Cookie for a page whose request came through here."""
        return cookie_text(self.cookie, self._token.decode(), self._scheme)

    def _check_site(self, headers: Headers) -> None:
        host = headers.get("host", "").lower()
        if host not in self._hosts:
            raise RequestError(
                421, "host", "this server is not known by that name; use the address that it was started with"
            )
        origin = headers.get("origin")
        if origin is not None and origin.lower() != f"{self._scheme}://{host}":
            raise RequestError(403, "origin", "requests from other sites are refused")
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and not (
            headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
        ):
            raise RequestError(403, "origin", "requests from other sites are refused")

    def _check_token(self, scope: Scope, headers: Headers) -> None:
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and self._is_token(given.strip()):
            return
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(self.cookie)
        except CookieError:
            cookie = None
        if cookie is not None and self._is_token(cookie.value):
            return
        if self._admit is not None:
            scope[SESSION] = self._admit(headers, scope["method"], scope["path"])
        else:
            raise RequestError(401, "token", "give this node's token, as Authorization: Bearer TOKEN")

    def _is_token(self, given: str) -> bool:
        return compare_digest(given.encode("utf-8", "surrogatepass"), self._token)


def _with_headers(send: Send) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            given = list(message.get("headers", ()))
            names = {name.lower() for name, _ in given}
            given += [pair for pair in HEADERS if pair[0] not in names]
            if b"content-security-policy" not in names:
                given.append((b"content-security-policy", CONTENT_POLICY))
            if b"cache-control" not in names:
                given.append((b"cache-control", b"no-store"))
            message["headers"] = given
        await send(message)

    return send_with_headers
