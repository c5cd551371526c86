"""Errors that reach an application, and their JSON form, `{"error": {"kind", "message"}}`, with an HTTP status.

A request that makes no sense is an `InputError`; an operation that was valid and failed is an `OperationError`. The
server turns errors into problems (`problem_of`), and its clients turn them back (`error_of`).
"""

from __future__ import annotations

import logging

import msgspec

from thyme.host import StoreFull
from thyme.model.errors import InputError
from thyme.model.records import OperationKind

logger = logging.getLogger("thyme.live")


class OperationError(Exception):
    """The operation was valid and failed."""

    def __init__(self, kind: OperationKind, reason: str) -> None:
        super().__init__(f"{kind.value} failed: {reason}")
        self.reason = reason


class ReaderTooSlow(Exception):
    """Items of a stream were dropped because they were not read in time. Reading can go on; the next item is the oldest
    that is left."""

    def __init__(self, lost: int, maximum: int) -> None:
        super().__init__(f"{lost} items were dropped: they were not read in time, and at most {maximum} wait")
        self.lost = lost


class CrowdFailed(OperationError):
    """The same, reported by the node that was asked."""

    def __init__(self, message: str) -> None:
        Exception.__init__(self, message)
        self.reason = message


class Refused(InputError):
    """The node that was asked refused the request; the message says why."""


class RequestError(Exception):
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


def not_found(what: str) -> RequestError:
    return RequestError(404, "unknown", f"there is no {what}")


def problem_of(error: Exception) -> tuple[int, Problem]:
    """The status and the body that tell a client of an error."""
    from thyme.model.formulas import QueryError

    text = " ".join(str(error).split())
    match error:
        case RequestError():
            return error.status, Problem(error.kind, text)
        case StoreFull():
            return 507, Problem("full", text)
        case QueryError():
            return 400, Problem("query", text, error.position)
        case InputError():
            return 400, Problem("input", text)
        case OperationError():
            return 502, Problem("operation", text)
    logger.error("internal error while answering a request", exc_info=error)
    return 500, Problem("defect", "internal error; the node's log says more")


def error_of(problem: Problem) -> Exception:
    """The exception that a client raises for a reported problem."""
    return CrowdFailed(problem.message) if problem.kind == "operation" else Refused(problem.message)
