"""The contract between a protocol and the machine it runs on.

A protocol is a plain class that is given a `Host` and is told what happens by method calls (`ReactiveStore`). It
never sleeps, reads a clock, opens a file or keeps a global: time, randomness, position, radio and disk come
through its host. The simulator and the live runtime each implement `Host`; the same protocol class runs on both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Protocol as Interface

from thyme.model.errors import InputError
from thyme.model.geometry import Point
from thyme.model.ids import NodeId
from thyme.model.records import LogRecord
from thyme.wire.message import Message
from thyme.wire.signing import Codec


class StoreFull(InputError):
    """The store has no room for what is new."""


class Timer(Interface):
    """An action that will happen unless it is cancelled. Cancelling twice, or too late, does nothing."""

    def cancel(self) -> None: ...


class Store(Interface):
    """What survives a restart of the device: small records by kind and key, and contents in parts.

    In memory, kept while a simulated node is off; on the disk of a live device. Keys iterate in the order in which they
    were first put. A content may be large, so it is written and read in parts. What was changed is seen at once, and
    lasts when it was committed: a machine commits before anything that depends on a change leaves it, be it a frame or
    an answer to the application, so no protocol has to ask for it. A key that ends in `@NODE` is of something that this
    node made, and a store may limit how much it keeps of one node. `put` and `write` raise `StoreFull` when there is no
    room.
    """

    def put(self, kind: str, key: str, value: bytes) -> None: ...
    def get(self, kind: str, key: str) -> bytes | None: ...
    def remove(self, kind: str, key: str) -> None: ...
    def items(self, kind: str) -> Iterator[tuple[str, bytes]]: ...
    def write(
        self,
        key: str,
        offset: int,
        part: bytes,
        written: Callable[[], None] | None = None,
        *,
        since_s: float | None = None,
    ) -> None:
        """With `written`, which is called when the part is on the disk, `commit` does not wait for it: a part that can
        be had again need not delay what leaves the machine. It lasts when something is written after it without.
        `since_s` is when the object was published: what its owner published later makes no room for it."""

    def read(self, key: str, offset: int, size: int) -> bytes: ...
    def size(self, key: str) -> int: ...
    def discard(self, key: str) -> None: ...
    def commit(self, done: Callable[[], None]) -> None:
        """Call `done` when all changes made before now will survive a crash; in the order of these calls."""


class Host(Interface):
    """What a protocol may ask of its machine."""

    @property
    def node(self) -> NodeId: ...
    @property
    def random(self) -> Random: ...
    @property
    def store(self) -> Store: ...
    @property
    def codec(self) -> Codec:
        """How messages become bytes, signed or not; for those that travel within others."""

    def now(self) -> float:
        """Seconds, on a clock that all nodes share up to a negligible skew (FGCS §4.2)."""

    def position(self) -> Point: ...
    def moving(self) -> bool: ...
    def broadcast(self, message: Message) -> None:
        """To all nodes in range, unacknowledged."""

    def unicast(
        self,
        to: NodeId,
        message: Message,
        failed: Callable[[], None] | None = None,
        unsent: Callable[[], None] | None = None,
    ) -> None:
        """To one neighbour, acknowledged by the link; `failed` is called when the link gives up. If the frame never
        left this node's own queue, which was full or too slow, `unsent` is called instead, if given."""

    def part_bytes(self) -> int:
        """How much of a large content a message to a neighbour may carry, where that is more than the settings say."""

    def alone(self) -> bool:
        """Whether it is certain that nobody is in range; a radio cannot know, a link with a list of peers can."""

    def idle(self) -> bool:
        """Whether no frame of this node waits to be sent, so that the channel has room as far as it knows."""

    def after(self, delay_s: float, action: Callable[[], None]) -> Timer: ...
    def record(self, event: LogRecord) -> None: ...


class MemoryStore:
    """A `Store` in memory: the simulator's, and the one tests use."""

    def __init__(self) -> None:
        self._records: dict[str, dict[str, bytes]] = {}
        self._contents: dict[str, bytearray] = {}

    def put(self, kind: str, key: str, value: bytes) -> None:
        records = self._records.get(kind)
        if records is None:
            records = self._records[kind] = {}
        records[key] = value

    def get(self, kind: str, key: str) -> bytes | None:
        return self._records.get(kind, {}).get(key)

    def remove(self, kind: str, key: str) -> None:
        self._records.get(kind, {}).pop(key, None)

    def items(self, kind: str) -> Iterator[tuple[str, bytes]]:
        return iter(list(self._records.get(kind, {}).items()))

    def kinds(self) -> tuple[str, ...]:
        """The kinds of records in the store."""
        return tuple(kind for kind, records in self._records.items() if records)

    def become(self, other: MemoryStore) -> None:
        """Hold what another one holds."""
        self._records = {kind: dict(records) for kind, records in other._records.items()}
        self._contents = {key: bytearray(content) for key, content in other._contents.items()}

    def write(
        self,
        key: str,
        offset: int,
        part: bytes,
        written: Callable[[], None] | None = None,
        *,
        since_s: float | None = None,
    ) -> None:
        content = self._contents.setdefault(key, bytearray())
        if len(content) < offset:
            content.extend(bytes(offset - len(content)))
        content[offset : offset + len(part)] = part
        if written is not None:
            written()

    def read(self, key: str, offset: int, size: int) -> bytes:
        return bytes(self._contents.get(key, b"")[offset : offset + size])

    def size(self, key: str) -> int:
        return len(self._contents.get(key, b""))

    def discard(self, key: str) -> None:
        self._contents.pop(key, None)

    def commit(self, done: Callable[[], None]) -> None:
        """A simulated crash takes no memory: whatever was put lasts."""
        done()
