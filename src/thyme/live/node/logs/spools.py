"""Spools of live nodes that tell what happens (`telling`): what each says becomes a growing log in a folder.

One thread per node reads its connection; a spool is two files by turns, so that it never holds more than twice
`spool_bytes` of a node. A node that leaves is not called again: it would tell its past once more.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Self

import msgspec

from thyme.live.link.addresses import Address, address_text, parse_address
from thyme.live.node.logs.log_server import VERSION, Greeting
from thyme.model.errors import InputError

MAX_FOLLOWED = 64
READ_BYTES = 65_536
MAX_LINE_BYTES = 1_000_000


class FollowingOptions(msgspec.Struct, frozen=True):
    patience_s: float = 5.0
    """Timeout for a node to answer and identify itself."""
    past_patience_s: float = 30.0
    """For it to tell its past."""
    spool_bytes: int = 32_000_000
    """One file of a spool; the watch has read it long before the next one is full."""


class FollowedNode:
    """One connection and its spool. `caught_up` is set when the past is in the spool, or the node has left."""

    def __init__(self, address: Address, spool: Path, options: FollowingOptions) -> None:
        self.name = address_text(address)
        self.caught_up = threading.Event()
        self.left = False
        self.failure = ""
        self._options = options
        self._spool = spool
        self._connection = _connect(address, self.name, options)
        try:
            self.greeting, self._rest = self._greet()
        except BaseException:
            self._connection.close()
            raise
        self._thread = threading.Thread(target=self._follow, name=f"follow {self.name}", daemon=True)
        self._thread.start()

    def close(self) -> None:
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._connection.close()

    def _greet(self) -> tuple[Greeting, bytes]:
        """The first line, and what came after it."""
        heard = b""
        expected = f"{self.name} serves no events; start the node with `thyme node start … --tell {self.name}`"
        try:
            while b"\n" not in heard:
                piece = self._connection.recv(READ_BYTES)
                if not piece or len(heard) > READ_BYTES:
                    raise InputError(f"{expected} (or it has too many watchers)" if not heard else expected)
                heard += piece
            line, _, rest = heard.partition(b"\n")
            greeting = msgspec.json.decode(line, type=Greeting)
        except (OSError, msgspec.MsgspecError) as error:
            raise InputError(expected) from error
        if greeting.version != VERSION:
            raise InputError(
                f"{self.name} sends its events in version {greeting.version}; this program reads {VERSION}"
            )
        return greeting, rest

    def _follow(self) -> None:
        spool = _Spool(self._spool, self._options.spool_bytes)
        told, kept = 0, b""
        try:
            for piece in self._pieces():
                lines, newline, kept = (kept + piece).rpartition(b"\n")
                spool.write(lines + newline)
                told += (lines + newline).count(b"\n")
                if told >= self.greeting.past:
                    self.caught_up.set()
                if len(kept) > MAX_LINE_BYTES:
                    kept = b""  # no event is so long; the rest counts as malformed
        except OSError as error:
            self.failure = error.strerror or str(error)
        finally:
            spool.close()
            self.left = True
            self.caught_up.set()

    def _pieces(self) -> Iterator[bytes]:
        yield self._rest
        self._connection.settimeout(None)
        while piece := self._connection.recv(READ_BYTES):
            yield piece


class _Spool:
    """Two files in rotation: when one is full, the older one is overwritten."""

    def __init__(self, folder: Path, most_bytes: int) -> None:
        self._folder = folder
        self._most_bytes = most_bytes
        self._turn = 0
        self._file = self._begin()

    def write(self, lines: bytes) -> None:
        if self._file.tell() + len(lines) > self._most_bytes and self._file.tell():
            self._file.close()
            self._turn += 1
            self._file = self._begin()
        self._file.write(lines)

    def close(self) -> None:
        self._file.close()

    def _begin(self) -> BinaryIO:
        return (self._folder / f"{self._turn % 2}.jsonl").open("wb", buffering=0)


class FollowedNodes:
    """Several nodes followed into a folder, for as long as the context lasts."""

    def __init__(self, addresses: Sequence[str], folder: Path, options: FollowingOptions | None = None) -> None:
        if not 0 < len(addresses) <= MAX_FOLLOWED:
            raise InputError(f"{len(addresses)} nodes to watch; expected from 1 to {MAX_FOLLOWED}")
        self._options = options or FollowingOptions()
        self.nodes: list[FollowedNode] = []
        wanted = [parse_address(address, "node") for address in addresses]
        try:
            for number, address in enumerate(wanted):
                spool = folder / f"{number:02d}"
                spool.mkdir()
                self.nodes.append(FollowedNode(address, spool, self._options))
        except BaseException:
            self.close()
            raise

    @property
    def over(self) -> bool:
        """Whether all nodes have left."""
        return all(node.left for node in self.nodes)

    def catch_up(self) -> None:
        """Wait until the past of all nodes is in the folder, or patience ends."""
        for node in self.nodes:
            node.caught_up.wait(self._options.past_patience_s)

    def close(self) -> None:
        for node in self.nodes:
            node.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _connect(address: Address, name: str, options: FollowingOptions) -> socket.socket:
    try:
        connection = socket.create_connection(address, options.patience_s)
    except OSError as error:
        raise InputError(
            f"{name}: no node sends its events there ({error.strerror or error}); "
            f"start it with `thyme node start … --tell {name}`"
        ) from error
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    return connection
