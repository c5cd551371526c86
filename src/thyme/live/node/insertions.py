"""Insertions of an application: bytes, texts, files and streams, of any size.

What does not fit into one chunk is first written into the node's store as a draft, piece by piece, and its digests are
computed on the way. Objects whose insertions begin together are signed together: each says first what it will insert.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterable, AsyncIterator
from contextlib import asynccontextmanager, suppress
from inspect import isawaitable, iscoroutinefunction
from pathlib import Path
from typing import Any, BinaryIO, cast

import msgspec

from thyme.approaches.operation_records import Ended
from thyme.approaches.partial_contents import KIND, drop_draft, list_key
from thyme.approaches.user import User
from thyme.host import Store
from thyme.live.node.arguments import Given, bytes_of
from thyme.live.node.device import Device
from thyme.live.node.known import KnownObjects
from thyme.live.node.operations import PendingOperation
from thyme.model.bounded import Bounded
from thyme.model.chunks import CHUNK_BYTES, ChunkDigests
from thyme.model.errors import InputError
from thyme.model.ids import NodeId, ObjectKey
from thyme.model.objects import Content, InStore, Metadata
from thyme.model.records import OperationKind
from thyme.model.tags import normalise_tags


class _Iterated:
    """The pieces of an asynchronous iterator, as a stream."""

    def __init__(self, pieces: AsyncIterable[bytes]) -> None:
        self._pieces = aiter(pieces)

    async def read(self, _: int) -> bytes:
        """The next piece that is not empty, however large; nothing at the end."""
        while not (piece := await anext(self._pieces, None)) and piece is not None:
            continue
        return b"" if piece is None else piece


def as_stream(given: BinaryIO | AsyncIterable[bytes]) -> Any:
    return given if hasattr(given, "read") else _Iterated(given)


async def read(stream: Any, most_bytes: int) -> bytes:
    """As much as there is, unless the stream gives larger pieces; it may give less than it is asked for."""
    pieces: list[bytes] = []
    while most_bytes > 0:
        piece = await _piece(stream, most_bytes)
        if not piece:
            break
        pieces.append(piece)
        most_bytes -= len(piece)
    return b"".join(pieces)


async def _piece(stream: Any, most_bytes: int) -> bytes:
    try:
        if iscoroutinefunction(stream.read):
            piece = await stream.read(most_bytes)
        else:
            piece = await asyncio.to_thread(stream.read, most_bytes)
            if isawaitable(piece):
                piece = await piece
    except Exception as error:
        raise InputError(f"the stream cannot be read: {error}") from error
    if not isinstance(piece, bytes):
        raise InputError(f"the stream gave {type(piece).__name__}; open it for reading bytes, as with mode 'rb'")
    return piece


SAME_SPAN_S = 1.0
"""The clock is read for the publication and for the end; spans that differ by less are the same."""
MAX_REMEMBERED = 10_000
"""Insertions whose ends are remembered, so that they can be repeated."""
PIECE_BYTES = 8 * CHUNK_BYTES
"""Bytes read from a file and written to the store at a time, which bounds memory."""
Outside = os.PathLike[str] | BinaryIO | AsyncIterable[bytes]
"""Where a content comes from that need not fit in memory."""


def given_bytes(given: object) -> int:
    """Size in bytes; 0 if it is unknown before reading."""
    if isinstance(given, bytes):
        return len(given)
    if isinstance(given, os.PathLike):
        try:
            return Path(given).stat().st_size
        except OSError:  # opening it reports the error
            return 0
    return 0


async def laid(store: Store, key: ObjectKey, given: Outside) -> Content:
    """The content of a file or a stream: in memory if it is one chunk, in the store if it is larger."""
    if isinstance(given, os.PathLike):
        with _opened(Path(given)) as file:
            return await _laid_stream(store, key, file)
    return await _laid_stream(store, key, as_stream(given))


def _opened(path: Path) -> BinaryIO:
    """Not in a thread: after a cancellation, the file would stay open."""
    try:
        return path.open("rb")
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error


async def _laid_stream(store: Store, key: ObjectKey, stream: Any) -> Content:
    piece = await read(stream, CHUNK_BYTES + 1)
    if len(piece) <= CHUNK_BYTES:
        return piece
    digests, size_bytes = ChunkDigests(), 0
    store.put(KIND, str(key), msgspec.msgpack.encode(InStore(0, b"")))
    try:
        while piece:
            await asyncio.to_thread(digests.add, piece)
            await _written(store, str(key), size_bytes, piece)
            size_bytes += len(piece)
            piece = await read(stream, PIECE_BYTES)
        await _written(store, list_key(key), 0, digests.listed())
    except BaseException:
        drop_draft(store, key)
        raise
    return InStore(size_bytes, digests.root())


async def _written(store: Store, key: str, offset: int, piece: bytes) -> None:
    done = asyncio.get_running_loop().create_future()
    store.write(key, offset, piece, lambda: None if done.done() else done.set_result(None))
    await done


def forget_unfinished(store: Store, node: NodeId) -> None:
    """Of objects whose insertion was not completed before the last end."""
    for name, _ in store.items(KIND):
        oid, _, owner = name.rpartition("@")
        if int(owner) == node:
            drop_draft(store, ObjectKey(oid, node))


class Insertion(PendingOperation[Metadata]):
    """One insertion. It continues when the application stops waiting: repeating it joins it, or finds it done."""

    def __init__(
        self,
        user: User,
        insertions: Insertions,
        draft: InsertArguments,
        replicate: bool | None,
        before: Metadata | None = None,
    ) -> None:
        """`before` is the object as it was inserted when this was tried last."""
        super().__init__(OperationKind.INSERT)
        self._user = user
        self._insertions = insertions
        self.draft = draft
        self._replicate = replicate
        self._metadata, self._again = before, before is not None
        self._joined: list[asyncio.Future[None]] = []

    def drafted(self) -> Metadata | None:
        if not self._again:
            with suppress(InputError):  # it will be refused when it begins, with the reason
                self._metadata = self._user.draft(*self.draft.arguments(), self.draft.lasts_s)
        return self._metadata

    def issue(self, number: int, ended: Ended) -> Metadata:
        metadata = self._user.insert(
            number,
            *self.draft.arguments(),
            ended,
            self._replicate,
            self._metadata,
            again=self._again,
            lasts_s=self.draft.lasts_s,
        )
        self._insertions.known.note(metadata)
        self._metadata, self._again = metadata, True
        return metadata

    def abandon(self, user: User) -> None:
        if self._left is None:  # it has not begun, and never will
            self.give_up(user)

    async def join(self) -> None:
        """Wait for its end, as another task does already."""
        if not self.over:
            ended = asyncio.get_running_loop().create_future()
            self._joined.append(ended)
            await ended

    def _end(self, error: BaseException | None = None) -> None:
        if not self.over:
            super()._end(error)
            self._insertions.ended(self, self._metadata if self._again else None, failed=error is not None)
            for each in self._joined:
                if not each.done():
                    each.set_result(None)


class InsertArguments(msgspec.Struct, frozen=True):
    """What an application asked to insert."""

    oid: str
    content: Content
    tags: list[str]
    summary: bytes
    lasts_s: float | None = None
    """It expires so long after its insertion."""

    def arguments(self) -> tuple[str, Content, list[str], bytes]:
        return self.oid, self.content, self.tags, self.summary

    def describes(self, metadata: Metadata) -> bool:
        """Whether inserting this would give the same object."""
        if (self.lasts_s is None) != (metadata.expires_s is None):
            return False
        if self.lasts_s is not None and metadata.expires_s is not None:
            lasts_s = metadata.expires_s - metadata.published_s
            if abs(lasts_s - self.lasts_s) > SAME_SPAN_S:
                return False
        same = metadata.describes(self.content) and metadata.summary == self.summary
        return same and metadata.tags == normalise_tags(self.tags)


class Insertions:
    """The insertions of one node that are under way, and how the last ones ended."""

    def __init__(self, node: NodeId, known: KnownObjects) -> None:
        self._node = node
        self.known = known
        self.under_way: dict[str, Insertion] = {}
        self._succeeded: Bounded[str, None] = Bounded(MAX_REMEMBERED)
        self._unsure: Bounded[str, Metadata] = Bounded(MAX_REMEMBERED)
        """Objects whose insertions failed, which others may have all the same."""
        self._laying: set[ObjectKey] = set()

    def before(self, oid: str) -> Metadata | None:
        """The object of this name that this node inserted, or tried to."""
        return self.known.get(ObjectKey(oid, self._node)) or self._unsure.get(oid)

    def succeeded(self, oid: str) -> bool:
        return oid in self._succeeded

    def ended(self, insertion: Insertion, metadata: Metadata | None, *, failed: bool) -> None:
        """`metadata` is the object, if the insertion has begun."""
        oid = insertion.draft.oid
        if self.under_way.get(oid) is insertion:
            del self.under_way[oid]
        if metadata is None:
            return
        if failed:
            self.known.forget(metadata.key)
            self._unsure[oid] = metadata
        else:
            self._succeeded[oid] = None

    def forget(self, oid: str) -> None:
        """The object was deleted."""
        self.known.forget(ObjectKey(oid, self._node))
        self._succeeded.pop(oid, None)
        self._unsure.pop(oid, None)

    @asynccontextmanager
    async def laid(self, device: Device, oid: str, data: Given) -> AsyncIterator[Content]:
        """The contents to insert, while this is entered; if the insertion fails, its draft is removed."""
        if not _is_stream(data):
            yield bytes_of("content", data)
            return
        key, store = device.approach.new_key(oid), device.host.store
        if key in self._laying:
            raise InputError(f"object {oid!r} is still being inserted")
        self._laying.add(key)
        try:
            content = await laid(store, key, cast(Outside, data))
        finally:
            self._laying.discard(key)
        try:
            yield content
        except BaseException:
            if isinstance(content, InStore):
                drop_draft(store, key)
            raise


def _is_stream(data: Given) -> bool:
    return isinstance(data, os.PathLike | AsyncIterable) or hasattr(data, "read")


async def digested(given: Given) -> Content:
    """The given contents, to be compared with a stored content: a large one is only read."""
    if not _is_stream(given):
        return bytes_of("content", given)
    if isinstance(given, os.PathLike):
        with _opened(Path(given)) as file:
            return await _digested_stream(file)
    return await _digested_stream(as_stream(cast(BinaryIO, given)))


async def _digested_stream(stream: Any) -> Content:
    piece = await read(stream, CHUNK_BYTES + 1)
    if len(piece) <= CHUNK_BYTES:
        return piece
    digests, size_bytes = ChunkDigests(), 0
    while piece:
        await asyncio.to_thread(digests.add, piece)
        size_bytes += len(piece)
        piece = await read(stream, PIECE_BYTES)
    return InStore(size_bytes, digests.root())
