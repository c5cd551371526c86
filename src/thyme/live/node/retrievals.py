"""The retrievals of an application: the callers that wait for each object and its progress, and contents written to
files, piece by piece, of any size.

A content is checked against its digests while it is received, and written to a temporary file first, so that the target
is the whole content or none.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from hashlib import sha256
from pathlib import Path

from thyme.approaches.partial_contents import list_key
from thyme.approaches.user import Fetched
from thyme.drafts import drafted
from thyme.host import Store
from thyme.live.failures import OperationError
from thyme.live.node.device import Device
from thyme.live.node.insertions import PIECE_BYTES
from thyme.live.store.disk import DiskStore
from thyme.model.chunks import CHUNK_BYTES, DIGEST_BYTES, list_bytes
from thyme.model.errors import InputError
from thyme.model.ids import ObjectKey
from thyme.model.objects import Content, InStore
from thyme.model.records import OperationKind

Progress = Callable[[int, int], None]
"""(bytes that are here, bytes in all)"""


class DamagedContent(Exception):
    """The stored content differs from what was written."""


class Retrievals:
    """By object; several may want the same one."""

    def __init__(self) -> None:
        self._waiting: dict[ObjectKey, list[Progress | None]] = {}

    @asynccontextmanager
    async def retrieved(
        self, device: Device, key: ObjectKey, fetch: Callable[[Fetched], Awaitable[None]], progress: Progress | None
    ) -> AsyncIterator[tuple[ObjectKey, Content]]:
        """A content that `fetch` retrieves, while this is entered; the last reader lets the store drop it."""
        content: list[Content] = []
        with self._entered(key, progress) as last:
            try:
                await fetch(content.append)
            except asyncio.CancelledError:
                if last():
                    device.approach.pause(key)
                raise
            try:
                yield key, content[0]
            except DamagedContent as error:
                raise OperationError(OperationKind.RETRIEVE, str(error)) from error
            finally:
                if last() and device.host.on:
                    device.approach.release(key)

    def __contains__(self, key: object) -> bool:
        """Whether a caller waits for it, or reads it."""
        return key in self._waiting

    def tell(self, key: ObjectKey, have_bytes: int, size_bytes: int) -> None:
        for progress in self._waiting.get(key, ()):
            if progress is not None:
                progress(have_bytes, size_bytes)

    @contextmanager
    def _entered(self, key: ObjectKey, progress: Progress | None) -> Iterator[Callable[[], bool]]:
        """Report progress while this context is entered. Yields a function: is this the object's only retrieval?"""
        waiting = self._waiting.setdefault(key, [])
        waiting.append(progress)
        try:
            yield lambda: len(waiting) == 1
        finally:
            waiting.remove(progress)
            if not waiting:
                self._waiting.pop(key, None)


async def copied(store: Store, key: ObjectKey, content: InStore, put: Callable[[bytes], object]) -> None:
    """Pass on a stored content, chunk by chunk; DamagedContent if it does not match its digests."""
    listed = store.read(list_key(key), 0, list_bytes(content.size_bytes))
    if sha256(listed).digest() != content.digest:
        raise DamagedContent(f"the list of chunks of {key} is damaged")

    def check(first: int, piece: bytes) -> None:
        for number, at in enumerate(range(0, len(piece), CHUNK_BYTES), first):
            digest = listed[number * DIGEST_BYTES : (number + 1) * DIGEST_BYTES]
            if sha256(piece[at : at + CHUNK_BYTES]).digest() != digest:
                raise DamagedContent(f"chunk {number} of {key} is damaged")
        put(piece)

    path = store.file_of(str(key)) if isinstance(store, DiskStore) else None
    if path is not None:
        await asyncio.to_thread(_copy_file, path, content.size_bytes, check)
        return
    for begins in range(0, content.size_bytes, PIECE_BYTES):
        piece = store.read(str(key), begins, PIECE_BYTES)
        if not piece:
            raise DamagedContent(f"the content of {key} is not there any more")
        await asyncio.to_thread(check, begins // CHUNK_BYTES, piece)


def _copy_file(path: Path, size_bytes: int, check: Callable[[int, bytes], None]) -> None:
    """Pass on a file, all of it in one thread."""
    with path.open("rb", buffering=0) as file:
        for begins in range(0, size_bytes, PIECE_BYTES):
            check(begins // CHUNK_BYTES, file.read(min(PIECE_BYTES, size_bytes - begins)))


async def written_to(path: Path, store: Store, key: ObjectKey, content: Content) -> None:
    """Write a content to a file, whole or not at all."""
    try:
        with drafted(path) as draft:
            if isinstance(content, bytes):
                await asyncio.to_thread(draft.write_bytes, content)
                return
            with draft.open("wb") as file:
                await copied(store, key, content, file.write)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror or error}") from error
