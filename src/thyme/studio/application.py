"""The studio's page, on this machine only: its address has a token, as those of other pages have."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from secrets import token_urlsafe
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute, Route

from thyme.live.failures import not_found
from thyme.live.http.endpoints import Endpoint, answer_error, routes_of
from thyme.live.http.guard import Guard
from thyme.live.http.serving import page_socket, served
from thyme.studio.studies import PLAYER, QUESTIONS, Checked, Progress, Question, Studies

STATIC = Path(__file__).parent / "static"
FILES = {"/": "index.html", "/studio.js": "studio.js", "/studio.css": "studio.css"}
MAX_JSON_BYTES = 20_000
TOKEN_BYTES = 24
PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
REPORT_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'"
)
"""The report is one file of our own making that loads nothing; it may not speak to the studio."""


class StudyAnswers(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    answers: dict[str, str]


class StudioHandlers:
    def __init__(self, studies: Studies) -> None:
        self._studies = studies

    async def questions(self, _: Request, __: None) -> tuple[Question, ...]:
        return QUESTIONS

    async def check(self, _: Request, asked: StudyAnswers) -> Checked:
        return await asyncio.to_thread(self._studies.check, asked.answers)

    async def start(self, _: Request, asked: StudyAnswers) -> Checked:
        return await self._studies.start(asked.answers)

    async def stop(self, _: Request, __: None) -> Progress:
        await self._studies.stop()
        return self._studies.progress

    async def progress(self, _: Request, __: None) -> Progress:
        return self._studies.progress

    async def file(self, _: Request, __: None) -> Response:
        if self._studies.file is None or self._studies.place is None:
            raise not_found("study yet; start one")
        name = f"{self._studies.place.name}.toml"
        return FileResponse(self._studies.file, media_type="application/toml", filename=name)

    async def report(self, _: Request, __: None) -> Response:
        if self._studies.report is None:
            raise not_found("report yet; start a study and wait until it is complete")
        return FileResponse(
            self._studies.report, media_type="text/html", headers={"content-security-policy": REPORT_POLICY}
        )


def endpoints(h: StudioHandlers) -> list[Endpoint]:
    return [
        Endpoint("GET", "/v1/questions", h.questions, "What a study asks"),
        Endpoint(
            "POST", "/v1/check", h.check, "What is wrong, or how long it takes", takes=StudyAnswers, gives=Checked
        ),
        Endpoint("POST", "/v1/start", h.start, "Run a study", takes=StudyAnswers, gives=Checked),
        Endpoint("POST", "/v1/stop", h.stop, "Stop the study", gives=Progress),
        Endpoint("GET", "/v1/progress", h.progress, "How far the study is", gives=Progress),
        Endpoint("GET", "/v1/study.toml", h.file, "The study file", gives_type="application/toml"),
        Endpoint("GET", "/v1/report", h.report, "The report", gives_type="text/html"),
    ]


@asynccontextmanager
async def studio(folder: Path, port: int, player: Sequence[str] = PLAYER) -> AsyncIterator[str]:
    """The studio is served while this is entered; its address. Studies are kept in the folder."""
    bound: socket.socket = page_socket(f"127.0.0.1:{port}", "--port")
    studies, token = Studies(folder, player), token_urlsafe(TOKEN_BYTES)
    guards: list[Guard] = []

    async def session(_: Request, __: None) -> Response:
        return Response(status_code=204, headers={"set-cookie": guards[0].session_cookie()})

    own = [Endpoint("POST", "/v1/session", session, "Exchange the token for a cookie", status=204)]
    faults: dict[Any, Any] = {404: answer_error, 405: answer_error, Exception: answer_error}
    routes: list[BaseRoute] = [*routes_of([*own, *endpoints(StudioHandlers(studies))], MAX_JSON_BYTES)]
    application = Starlette(routes=[*routes, *(Route(path, _file) for path in FILES)], exception_handlers=faults)
    actual = int(bound.getsockname()[1])
    guard = Guard(
        application,
        token=token,
        names=("127.0.0.1", "localhost"),
        port=actual,
        public=lambda method, path: method in ("GET", "HEAD") and path in FILES,
    )
    guards.append(guard)
    async with served(guard, bound):
        try:
            yield f"http://127.0.0.1:{actual}/#token={token}"
        finally:
            await studies.stop()


async def _file(request: Request) -> Response:
    headers = {"content-security-policy": PAGE_POLICY, "cache-control": "no-cache"}
    return FileResponse(STATIC / FILES[request.url.path], headers=headers)
