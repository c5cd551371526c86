"""The OpenAPI document is as strict as the server: requests drawn from it are answered as it says."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings

from thyme.live import Node
from thyme.live.http.server import HttpServer

schemathesis: Any = pytest.importorskip("schemathesis")

pytestmark = pytest.mark.long

EXAMPLES = 15
BEYOND_SCHEMAS = ("/v1/query", "/v1/objects", "/v1/uploads", "/v1/subscriptions", "/v1/found")
"""They take queries, tags, or fields that exclude each other: rules that a schema cannot state."""


@contextmanager
def served() -> Iterator[tuple[str, str]]:
    """The address and token of a node that is served by a thread."""
    ready, ending = threading.Event(), threading.Event()
    at: list[str] = []

    async def run() -> None:
        async with (
            Node(1, store="memory", settings={"join": {"wait_s": 0.05}}) as node,
            HttpServer(node, listen="127.0.0.1:0") as server,
        ):
            at.extend((server.address, server.token))
            ready.set()
            await asyncio.to_thread(ending.wait)

    thread = threading.Thread(target=lambda: asyncio.run(run()))
    thread.start()
    try:
        assert ready.wait(60.0)
        yield at[0], at[1]
    finally:
        ending.set()
        thread.join()


def ask(operation: Any, address: str, headers: dict[str, str], excluded: list[Any]) -> None:
    @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
    @given(case=operation.as_strategy())
    def each(case: Any) -> None:
        answer = case.call(base_url=address, headers=headers)
        case.validate_response(answer, excluded_checks=excluded)

    each()


def test_requests_that_the_document_describes_are_answered_as_it_says() -> None:
    from schemathesis.specs.openapi.checks import (  # type: ignore[import-not-found,unused-ignore]
        ignored_auth,
        positive_data_acceptance,
    )

    with served() as (address, token):
        headers = {"authorization": f"Bearer {token}"}
        document = httpx.get(f"{address}/openapi.json", headers=headers).json()
        checked = 0
        for found in schemathesis.openapi.from_dict(document).get_all_operations():
            operation = found.ok()
            if "text/event-stream" in str(operation.definition.raw["responses"]):
                continue  # it would not end
            excluded = [ignored_auth, *([positive_data_acceptance] if operation.path in BEYOND_SCHEMAS else [])]

            ask(operation, address, headers, excluded)
            checked += 1
        assert checked > 15
