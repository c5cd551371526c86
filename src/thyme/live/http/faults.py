"""Errors of the HTTP interface: one JSON form for all, `{"error": {"kind", "message"}}`, with a fitting status."""

from __future__ import annotations

import logging

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from thyme.live.failures import OperationError
from thyme.live.store.room import StoreFull
from thyme.model.errors import InputError
from thyme.model.queries import QueryError

logger = logging.getLogger("thyme.live")


class Fault(Exception):
    """A request that cannot be answered, with its status."""

    def __init__(self, status: int, kind: str, message: str) -> None:
        super().__init__(message)
        self.status, self.kind = status, kind


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    kind: str
    message: str
    position: int | None = None
    """In a query that cannot be read: the character at which reading stopped, from 0."""


class Refusal(msgspec.Struct, frozen=True):
    """The body of every answer that is an error."""

    error: Problem


def fault_response(status: int, problem: Problem) -> Response:
    return Response(msgspec.json.encode(Refusal(problem)), status, media_type="application/json")


def not_found(what: str) -> Fault:
    return Fault(404, "unknown", f"there is no {what}")


def response_to(error: Exception) -> Response:
    """What a person or a program is told of an error."""
    text = " ".join(str(error).split())
    match error:
        case Fault():
            return fault_response(error.status, Problem(error.kind, text))
        case StoreFull():
            return fault_response(507, Problem("full", text))
        case QueryError():
            return fault_response(400, Problem("query", text, error.position))
        case InputError():
            return fault_response(400, Problem("input", text))
        case OperationError():
            return fault_response(502, Problem("operation", text))
        case HTTPException():
            return fault_response(error.status_code, Problem("request", str(error.detail)))
        case _:
            logger.error("a request failed by our own mistake", exc_info=error)
            return fault_response(500, Problem("defect", "the node made a mistake; its log says more"))


async def answer_error(_: Request, error: Exception) -> Response:
    return response_to(error)
