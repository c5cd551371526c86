"""HTTP over a Unix socket, with the standard library: a command that asks one thing starts quickly."""

from __future__ import annotations

import http.client
import os
import socket
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from thyme.live.daemon.places import expect_own
from thyme.live.failures import OperationError
from thyme.model.errors import InputError

CONNECT_S = 10.0


class NoDaemon(InputError):
    """There is nobody to speak to."""


class Refused(InputError):
    """The node said no, and why."""


class CrowdFailed(OperationError):
    """The node understood, and the crowd could not carry it out."""

    def __init__(self, message: str) -> None:
        Exception.__init__(self, message)
        self.reason = message


class _Problem(msgspec.Struct):
    kind: str
    message: str


class _Refusal(msgspec.Struct):
    error: _Problem


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("node")
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(CONNECT_S)
        self.sock.connect(os.fspath(self._path))
        self.sock.settimeout(None)


def ask(
    path: Path,
    method: str,
    target: str,
    body: bytes | Iterable[bytes] | None = None,
    headers: Mapping[str, str] | None = None,
) -> http.client.HTTPResponse:
    """The answer of the node whose control socket is at `path`, to be read and closed. An iterable goes in chunks."""
    connection = _UnixConnection(path)
    try:
        expect_own(path)
        chunked = body is not None and not isinstance(body, bytes) and "Content-Length" not in (headers or {})
        sent = {**(headers or {}), **({"Transfer-Encoding": "chunked"} if chunked else {}), "Connection": "close"}
        connection.request(method, target, body=body, headers=sent, encode_chunked=chunked)
        answer = connection.getresponse()
    except (FileNotFoundError, ConnectionRefusedError, NotADirectoryError) as error:
        raise NoDaemon(f"no node runs here ({path}); start one with: thyme node start --background") from error
    except (OSError, http.client.HTTPException) as error:
        raise NoDaemon(f"the node at {path} does not answer: {error}") from error
    if answer.status >= http.client.BAD_REQUEST:
        raise _error(answer)
    return answer


def ask_json(path: Path, method: str, target: str, given: Any = None) -> Any:
    body = None if given is None else msgspec.json.encode(given)
    headers = {"Content-Type": "application/json"} if body is not None else {}
    with ask(path, method, target, body, headers) as answer:
        read = answer.read()
    return msgspec.json.decode(read) if read else None


def _error(answer: http.client.HTTPResponse) -> Exception:
    with answer:
        read = answer.read()
    try:
        problem = msgspec.json.decode(read, type=_Refusal).error
    except msgspec.MsgspecError:
        problem = _Problem("request", f"the node answered {answer.status} {answer.reason}")
    if problem.kind == "operation":
        return CrowdFailed(problem.message)
    return Refused(problem.message)
