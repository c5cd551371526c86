"""Starting a node in the background, and a client of a running node: HTTP over its control socket, with the standard
library alone, so that a command starts quickly."""

from __future__ import annotations

import http.client
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import quote, urlencode

import msgspec

from thyme.drafts import drafted
from thyme.live.daemon.paths import control_path, expect_own
from thyme.live.failures import CrowdFailed, Problem, Refusal, error_of
from thyme.live.views import ObjectView, PeerView, StatusView
from thyme.model.errors import InputError

PIECE_BYTES = 262_144
POLL_S = 0.1
"""Polling interval of a retrieval's progress, or of a node's end."""
STOP_S = 20.0
"""Longer than a node takes its time to leave."""
Progress = Callable[[int, int], None]
"""(bytes done, bytes in all; 0 if unknown)"""
CONNECT_S = 10.0
PROGRAM = "from thyme.cli.main import run; run()"
START_S = 30.0
"""Startup timeout of a node, for a slow and busy device."""
LOOK_S = 0.05
SHOWN_BYTES = 2_000
"""Of the end of its log, when it did not start."""


class Client:
    """Speaks to the daemon whose control socket is at a path."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or control_path()

    def status(self) -> StatusView:
        return msgspec.convert(self._ask("GET", "/v1/status"), StatusView)

    def stop(self) -> None:
        """Let the node leave, and wait until it has."""
        process = self._ask("POST", "/v1/stop")["process"]
        give_up_s = time.monotonic() + STOP_S
        while _runs(process):
            if time.monotonic() > give_up_s:
                raise CrowdFailed(f"the node still hands over what it held for others; its process is {process}")
            time.sleep(POLL_S)

    def place(
        self,
        x_m: float | None = None,
        y_m: float | None = None,
        *,
        latitude: float | None = None,
        longitude: float | None = None,
    ) -> None:
        """The device is here now."""
        here = {"x_m": x_m, "y_m": y_m, "latitude": latitude, "longitude": longitude}
        self._ask("PUT", "/v1/position", here)

    def rename(self, name: str) -> None:
        """The device is called so from now on."""
        self._ask("PUT", "/v1/name", {"name": name})

    def renew_namespace(self) -> str:
        """Renew the key of the node's namespace; its new invitation."""
        return str(self._ask("POST", "/v1/namespace/key")["invitation"])

    def rejoin_namespace(self, invitation: str) -> None:
        """The node's namespace has the key of this newer invitation."""
        self._ask("PUT", "/v1/namespace/key", {"invitation": invitation})

    def peers(self) -> list[PeerView]:
        return msgspec.convert(self._ask("GET", "/v1/peers"), list[PeerView])

    def objects(self) -> list[ObjectView]:
        """Objects that the node inserted or was notified of."""
        found: list[ObjectView] = []
        while page := msgspec.convert(self._ask("GET", f"/v1/objects?skip={len(found)}"), list[ObjectView]):
            found += page
        return found

    def found(self, query: str, **frame: float | str) -> list[ObjectView]:
        """Matching objects that exist now."""
        return msgspec.convert(self._ask("GET", f"/v1/found?{urlencode({'query': query, **frame})}"), list[ObjectView])

    def listen(self, query: str, **frame: float | str) -> Iterator[tuple[str, Any]]:
        """Events of a subscription that ends with this iteration: their kinds and what they say."""
        with ask(self.path, "GET", f"/v1/notifications?{urlencode({'query': query, **frame})}") as answer:
            yield from _events(answer)

    def insert(
        self,
        data: BinaryIO,
        size_bytes: int | None,
        name: str,
        tags: Iterable[str],
        summary: str = "",
        progress: Progress | None = None,
        lasts_s: float | None = None,
    ) -> ObjectView:
        """Insert the contents of a stream; its size may be unknown. With `lasts_s`, the object ends so long after."""
        ends = [] if lasts_s is None else [("lasts_s", str(lasts_s))]
        asked = urlencode([("name", name), ("summary", summary), *ends, *(("tag", tag) for tag in tags)])
        headers = {} if size_bytes is None else {"Content-Length": str(size_bytes)}
        pieces = _pieces(data, size_bytes or 0, progress)
        with ask(self.path, "POST", f"/v1/objects?{asked}", pieces, headers) as answer:
            return msgspec.json.decode(answer.read(), type=ObjectView)

    def delete(self, key: str) -> None:
        self._ask("DELETE", f"/v1/objects/{quote(key)}")

    def key_of(self, text: str) -> str:
        """Resolve a key: `NAME@NODE`, or the name of one known object; other names are taken as of this node."""
        if "@" in text:
            return text
        keys = [each.key for each in self.objects() if each.name == text]
        if len(keys) == 1:
            return keys[0]
        if keys:
            raise InputError(f"several objects are called {text}: {', '.join(keys)}; give one of these keys")
        return f"{text}@{self.status().node}"

    def retrieve(self, key: str, progress: Progress | None = None) -> http.client.HTTPResponse:
        """The content of an object, to be read; it is brought to this device first."""
        state = self._ask("POST", "/v1/retrievals", {"key": key})
        while state["state"] == "running":
            if progress is not None:
                progress(state["have_bytes"], state["size_bytes"])
            time.sleep(POLL_S)
            state = self._ask("GET", f"/v1/retrievals/{quote(key)}")
        if state["state"] != "done":
            raise CrowdFailed(state["error"] or f"the retrieval of {key} is {state['state']}")
        if progress is not None:
            progress(state["size_bytes"], state["size_bytes"])
        return ask(self.path, "GET", f"/v1/contents/{quote(key)}")

    def retrieve_to(self, key: str, path: str | os.PathLike[str], progress: Progress | None = None) -> int:
        """The same to a file, whole or not at all; its size."""
        with self.retrieve(key, progress) as answer, drafted(Path(path)) as draft, draft.open("wb") as file:
            size_bytes = 0
            while piece := answer.read(PIECE_BYTES):
                size_bytes += file.write(piece)
            return size_bytes

    def _ask(self, method: str, target: str, given: Any = None) -> Any:
        return ask_json(self.path, method, target, given)


def _runs(process: int) -> bool:
    import psutil

    try:
        return bool(psutil.Process(process).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def _pieces(data: BinaryIO, size_bytes: int, progress: Progress | None) -> Iterator[bytes]:
    sent = 0
    while piece := data.read(PIECE_BYTES):
        sent += len(piece)
        yield piece
        if progress is not None:
            progress(sent, size_bytes)


def _events(answer: http.client.HTTPResponse) -> Iterator[tuple[str, Any]]:
    """Server-sent events, as far as this interface sends them."""
    kind, data = "", b""
    while line := answer.readline():
        name, _, value = line.rstrip(b"\r\n").partition(b": ")
        if not line.strip() and kind:
            yield kind, msgspec.json.decode(data)
            kind, data = "", b""
        elif name == b"event":
            kind = value.decode()
        elif name == b"data":
            data = value


class NoDaemon(InputError):
    """No daemon answers."""


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
        connection.close()
        raise NoDaemon(f"no node runs here ({path}); start one with: thyme node start --background") from error
    except (OSError, http.client.HTTPException) as error:
        connection.close()
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
        return error_of(msgspec.json.decode(read, type=Refusal).error)
    except msgspec.MsgspecError:
        return error_of(Problem("request", f"the node answered {answer.status} {answer.reason}"))


def start_in_background(arguments: Sequence[str], control: Path, log: Path) -> StatusView:
    """Run `thyme` with these arguments in a process of its own, which writes to a log file and outlives the terminal;
    returns the status of its node once it answers."""
    with suppress(NoDaemon):
        running = Client(control).status()
        raise InputError(f"node {running.node} is already running ({control}); stop it with: thyme node stop")
    log.parent.mkdir(parents=True, exist_ok=True)
    before = log.stat().st_size if log.exists() else 0
    with log.open("ab") as file:
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            start_new_session=True,
        )
    give_up_s = time.monotonic() + START_S
    while time.monotonic() < give_up_s and process.poll() is None:
        try:
            return Client(control).status()
        except NoDaemon:
            time.sleep(LOOK_S)
    if process.poll() is None:
        process.terminate()
    with log.open("rb") as file:
        file.seek(max(before, log.stat().st_size - SHOWN_BYTES))
        said = file.read().decode("utf-8", "replace").strip()
    last = said.splitlines()[-1].removeprefix("thyme: ") if said else "it said nothing"
    raise InputError(f"the node did not start: {last} (its full output: {log})")
