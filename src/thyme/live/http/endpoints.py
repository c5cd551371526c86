"""Endpoints: one record each, from which both the route and its entry in the OpenAPI document are made.

A handler is given the request and, if the endpoint takes JSON, the record that was read from it; it gives a record, a
list of records or a response of its own.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from thyme.live.http.faults import Fault, response_to
from thyme.model.errors import InputError

Handler = Callable[[Request, Any], Awaitable[Any]]


class Endpoint(msgspec.Struct, frozen=True):
    method: str
    path: str
    handler: Handler
    summary: str
    takes: Any = None
    """The record that the JSON of the request is read as."""
    takes_bytes: bool = False
    """The body is a content, read in parts."""
    gives: Any = None
    """The record of the answer's JSON, or a list of one."""
    gives_type: str = "application/json"
    status: int = 200
    query: Mapping[str, str] = {}
    """Parameters of the query string, and what each is; `tag*` may be repeated."""
    headers: Mapping[str, str] = {}


def route_of(endpoint: Endpoint, json_bytes: int) -> Route:
    async def serve(request: Request) -> Response:
        try:
            body = await _body(request, endpoint.takes, json_bytes) if endpoint.takes is not None else None
            return _response(await endpoint.handler(request, body), endpoint.status)
        except Exception as error:
            return response_to(error)

    return Route(endpoint.path, serve, methods=[endpoint.method], name=f"{endpoint.method} {endpoint.path}")


async def _body(request: Request, takes: Any, most_bytes: int) -> Any:
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise Fault(415, "request", "send the request as JSON, with Content-Type: application/json")
    pieces, size = [], 0
    async for piece in request.stream():
        size += len(piece)
        if size > most_bytes:
            raise Fault(413, "request", f"the request has more than {most_bytes} bytes")
        pieces.append(piece)
    try:
        return msgspec.json.decode(b"".join(pieces), type=takes)
    except msgspec.DecodeError as error:
        raise InputError(f"the request cannot be read: {error}") from error


def _response(answer: Any, status: int) -> Response:
    if isinstance(answer, Response):
        return answer
    if answer is None:
        return Response(status_code=204)
    return Response(msgspec.json.encode(answer), status, media_type="application/json")
