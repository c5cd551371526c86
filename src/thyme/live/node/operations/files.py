"""Files: contents that come from files and streams and go to files, piece by piece, however large they are.

What is inserted is first laid into the node's store as a draft, and its digests are made on the way; what was retrieved
is written beside its place and compared with its digests on the way, so that at the place there is the whole content or
none.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterable, Callable
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from thyme.approaches.transfers.drafts import KIND, drop_draft, list_key
from thyme.drafts import drafted
from thyme.host import Store
from thyme.live.node.operations.streams import as_stream, read
from thyme.live.store.disk import DiskStore
from thyme.model.chunks import CHUNK_BYTES, DIGEST_BYTES, ChunkDigests, list_bytes
from thyme.model.errors import InputError
from thyme.model.ids import NodeId, ObjectKey
from thyme.model.objects import Content, InStore

PIECE_BYTES = 8 * CHUNK_BYTES
"""Read from a file and written to the store at once; so much is in memory."""
Outside = os.PathLike[str] | BinaryIO | AsyncIterable[bytes]
"""Where a content comes from that need not fit in memory."""


class DamagedContent(Exception):
    """What lies in the store is not what was put there."""


def given_bytes(given: object) -> int:
    """How much it is; 0 if only reading it tells."""
    if isinstance(given, bytes):
        return len(given)
    if isinstance(given, os.PathLike):
        try:
            return Path(given).stat().st_size
        except OSError:  # whoever opens it says what is wrong
            return 0
    return 0


async def laid(store: Store, key: ObjectKey, given: Outside) -> Content:
    """The content of a file or a stream: in memory if it is one chunk, in the store if it is larger."""
    if isinstance(given, os.PathLike):
        with await _opened(Path(given)) as file:
            return await _laid_stream(store, key, file)
    return await _laid_stream(store, key, as_stream(given))


async def _opened(path: Path) -> BinaryIO:
    try:
        return await asyncio.to_thread(path.open, "rb")
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


async def copied(store: Store, key: ObjectKey, content: InStore, put: Callable[[bytes], object]) -> None:
    """Hand a content in the store on, chunk by chunk; DamagedContent if it is not what it was."""
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
    """Hand on a file, all of it in one thread."""
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
