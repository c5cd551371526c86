"""A contender: one publish/subscribe system to measure.

Every contender is measured by the same code (`measuring`) between two processes: one publishes payloads, the other
receives them. `abilities` lists what a contender can do; `missing` names what is not installed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from enum import Flag, auto
from pathlib import Path

import msgspec

OnPayload = Callable[[bytes], None]
"""Called with each payload, in whatever thread."""
Publish = Callable[[Sequence[bytes]], Awaitable[None]]
"""Returns when all of them are on their way; on a disk, when they are there and acknowledged."""
OnConnected = Callable[[], None]
"""Called when all is connected, and what was published is asked for."""
PAYLOAD_BYTES = 100


class Ability(Flag):
    TELL = auto()
    """Notifies connected subscribers."""
    PAST = auto()
    """Delivers earlier publications to a late subscriber."""
    DISK = auto()
    """What is acknowledged is on the disk, and does not wait for the system to bring it there."""


class Server(msgspec.Struct, frozen=True):
    """What runs besides the two ends: where, and the process whose CPU time counts as well."""

    address: str = ""
    pid: int = 0


class Publisher(msgspec.Struct, frozen=True):
    publish: Publish
    address: str
    """Where the other end finds what is published."""


class Contender:
    """One of them. It keeps nothing between its methods, which run in different processes."""

    name = ""
    abilities = Ability.TELL
    batch = 100
    """How many payloads are published at once where as many as possible are."""
    dies = False
    """Whether the publisher is killed before anybody looks for what it published."""

    def missing(self) -> str:
        """What is not installed; nothing if all is."""
        return ""

    @contextmanager
    def serve(self, folder: Path) -> Iterator[Server]:
        """Run what has to run besides the two ends."""
        yield Server()

    def publishing(self, server: Server, folder: Path | None) -> AbstractAsyncContextManager[Publisher]:
        """The end that publishes; with a folder, onto a disk."""
        raise NotImplementedError

    def listening(self, address: str, told: OnPayload) -> AbstractAsyncContextManager[None]:
        """The subscriber. Once this is entered, it misses no publication."""
        raise NotImplementedError

    def searching(self, address: str, told: OnPayload, begins: OnConnected) -> AbstractAsyncContextManager[None]:
        """The late subscriber, which receives earlier publications."""
        raise NotImplementedError
