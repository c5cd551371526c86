"""Endpoints: one record each, from which both the route and its entry in the OpenAPI document are made, so that the
document never says anything else than the routes do.

A handler is given the request and, if the endpoint takes JSON, the record that was read from it; it gives a record, a
list of records or a response of its own.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from thyme import __version__
from thyme.live.failures import Problem, Refusal, RequestError, problem_of
from thyme.model.errors import InputError

Handler = Callable[[Request, Any], Awaitable[Any]]
_PARAMETER = re.compile(r"\{(\w+)(?::\w+)?\}")
_SCHEMAS = "#/components/schemas/{name}"


WHOLE = {"type": "integer", "minimum": 0, "maximum": 10**18 - 1}
PATH_SCHEMAS: dict[str, dict[str, Any]] = {
    "key": {"type": "string", "pattern": r"^[^/\x00]+@[0-9]{1,19}$"},
    "sid": WHOLE,
    "upload": {"type": "string", "pattern": "^[0-9a-zA-Z]+$"},
}
"""Parameters of a path."""


class Parameter(msgspec.Struct, frozen=True):
    """A parameter of a query string, or a header."""

    about: str
    schema: Mapping[str, Any] = msgspec.field(default_factory=lambda: {"type": "string"})
    required: bool = False


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
    query: Mapping[str, Parameter] = {}
    headers: Mapping[str, Parameter] = {}


def routes_of(endpoints: Iterable[Endpoint], json_bytes: int) -> list[Route]:
    """One route for each path, so that the answer to an unsupported method lists all supported ones."""
    paths: dict[str, dict[str, Endpoint]] = {}
    for each in endpoints:
        paths.setdefault(each.path, {})[each.method] = each
    return [_route(path, methods, json_bytes) for path, methods in paths.items()]


def _route(path: str, methods: Mapping[str, Endpoint], json_bytes: int) -> Route:
    async def serve(request: Request) -> Response:
        endpoint = methods["GET" if request.method == "HEAD" else request.method]
        try:
            body = await _body(request, endpoint.takes, json_bytes) if endpoint.takes is not None else None
            return _response(await endpoint.handler(request, body), endpoint.status)
        except Exception as error:
            return response_to(error)

    return Route(path, serve, methods=list(methods), name=path)


def response_to(error: Exception) -> Response:
    """The error, as reported to a client."""
    if isinstance(error, HTTPException):
        status, problem = error.status_code, Problem("request", str(error.detail))
        headers = dict(error.headers or {})
    else:
        status, problem = problem_of(error)
        headers = {}
    return Response(msgspec.json.encode(Refusal(problem)), status, headers, media_type="application/json")


async def answer_error(_: Request, error: Exception) -> Response:
    return response_to(error)


async def _body(request: Request, takes: Any, most_bytes: int) -> Any:
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise RequestError(415, "request", "send the request as JSON, with Content-Type: application/json")
    pieces, size = [], 0
    async for piece in request.stream():
        size += len(piece)
        if size > most_bytes:
            raise RequestError(413, "request", f"the request has more than {most_bytes} bytes")
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


def document(endpoints: Iterable[Endpoint], title: str = "Thyme node") -> dict[str, Any]:
    listed = list(endpoints)
    records = [record for each in listed for record in (each.takes, each.gives) if record is not None]
    _, components = msgspec.json.schema_components([*records, Refusal], ref_template=_SCHEMAS)
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in listed:
        path = _PARAMETER.sub(r"{\1}", endpoint.path)
        paths.setdefault(path, {})[endpoint.method.lower()] = _operation(endpoint)
    return {
        "openapi": "3.1.0",
        "info": {"title": title, "version": __version__},
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "cookie": {"type": "apiKey", "in": "cookie", "name": "thyme-PORT"},
            },
        },
        "security": [{"token": []}, {"cookie": []}],
    }


def _operation(endpoint: Endpoint) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "summary": endpoint.summary,
        "operationId": re.sub(r"\W+", "_", endpoint.method.lower() + _PARAMETER.sub(r"by_\1", endpoint.path)),
        "parameters": [
            *(
                {"name": name, "in": "path", "required": True, "schema": PATH_SCHEMAS.get(name, {"type": "string"})}
                for name in _PARAMETER.findall(endpoint.path)
            ),
            *(_parameter(name, each, "query") for name, each in endpoint.query.items()),
            *(_parameter(name, each, "header") for name, each in endpoint.headers.items()),
        ],
        "responses": {
            str(endpoint.status): _answer(endpoint),
            "default": {"description": "What was wrong", "content": _content("application/json", Refusal)},
        },
    }
    if endpoint.takes is not None:
        operation["requestBody"] = {"required": True, "content": _content("application/json", endpoint.takes)}
    elif endpoint.takes_bytes:
        operation["requestBody"] = {"required": True, "content": {"application/octet-stream": {}}}
    return operation


def _parameter(name: str, parameter: Parameter, where: str) -> dict[str, Any]:
    about, required = parameter.about, parameter.required
    return {"name": name, "in": where, "description": about, "required": required, "schema": dict(parameter.schema)}


def _answer(endpoint: Endpoint) -> dict[str, Any]:
    if endpoint.gives is not None:
        return {"description": endpoint.summary, "content": _content(endpoint.gives_type, endpoint.gives)}
    if endpoint.gives_type != "application/json":
        return {"description": endpoint.summary, "content": {endpoint.gives_type: {}}}
    return {"description": endpoint.summary}


def _content(media_type: str, record: Any) -> dict[str, Any]:
    (schema,), _ = msgspec.json.schema_components([record], ref_template=_SCHEMAS)
    return {media_type: {"schema": schema}}
