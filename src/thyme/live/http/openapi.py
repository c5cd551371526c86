"""The OpenAPI document, generated from the table of endpoints: it never says anything else than the routes do."""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib.metadata import version
from typing import Any

import msgspec

from thyme.live.http.endpoints import Endpoint
from thyme.live.http.faults import Refusal

_PARAMETER = re.compile(r"\{(\w+)(?::\w+)?\}")
_SCHEMAS = "#/components/schemas/{name}"


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
        "info": {"title": title, "version": version("thyme")},
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
                {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
                for name in _PARAMETER.findall(endpoint.path)
            ),
            *(_parameter(name, about, "query") for name, about in endpoint.query.items()),
            *(_parameter(name, about, "header") for name, about in endpoint.headers.items()),
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


def _parameter(name: str, about: str, where: str) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    if name.endswith("*"):
        schema = {"type": "array", "items": schema}
    return {"name": name.rstrip("*"), "in": where, "description": about, "schema": schema}


def _answer(endpoint: Endpoint) -> dict[str, Any]:
    if endpoint.gives is not None:
        return {"description": endpoint.summary, "content": _content(endpoint.gives_type, endpoint.gives)}
    if endpoint.gives_type != "application/json":
        return {"description": endpoint.summary, "content": {endpoint.gives_type: {}}}
    return {"description": endpoint.summary}


def _content(media_type: str, record: Any) -> dict[str, Any]:
    (schema,), _ = msgspec.json.schema_components([record], ref_template=_SCHEMAS)
    return {media_type: {"schema": schema}}
