"""Chunks: how the content of an object is verified, as a whole and in parts.

A content is divided into chunks of one size, the last one shorter. The digest of a content of one chunk is its SHA-256;
that of a larger one is the SHA-256 of its list, the SHA-256 of each chunk in turn. With the digest and the size, a node
can verify the list, and with the list each chunk, from any source. The number of chunks follows from the size, so a
list cannot pass for a content.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from hashlib import sha256

CHUNK_BYTES = 128 * 1024
"""Held in memory until it is checked; the list of 1 GB takes 256 kB."""
DIGEST_BYTES = 32
LATEST = 16
"""Contents of one chunk whose digests are cached: 2 MB at most."""


def content_digest(data: bytes) -> bytes:
    """The digest of a content that is in memory."""
    if len(data) <= CHUNK_BYTES:
        return _chunk_digest(data)
    digests = ChunkDigests()
    digests.add(data)
    return digests.root()


@lru_cache(maxsize=LATEST)
def _chunk_digest(data: bytes) -> bytes:
    """Cached: inserting, storing, replicating and handing over a content each ask for its digest."""
    return sha256(data).digest()


def chunk_count(size_bytes: int) -> int:
    """An empty content is one empty chunk."""
    return max(1, -(-size_bytes // CHUNK_BYTES))


def chunk_range(number: int, size_bytes: int) -> tuple[int, int]:
    """Where a chunk begins and how long it is, in a content of this size."""
    begins = number * CHUNK_BYTES
    return begins, min(CHUNK_BYTES, size_bytes - begins)


def part_offsets(size_bytes: int, part_bytes: int) -> Iterator[tuple[int, int]]:
    """Offset and size of each part of a content. No part spans two chunks."""
    for number in range(chunk_count(size_bytes)):
        begins, length = chunk_range(number, size_bytes)
        for offset in range(begins, begins + length, part_bytes):
            yield offset, min(part_bytes, begins + length - offset)


def list_bytes(size_bytes: int) -> int:
    """The length of the list of a content of this size; one chunk needs no list."""
    count = chunk_count(size_bytes)
    return count * DIGEST_BYTES if count > 1 else 0


def root_of(listed: bytes) -> bytes:
    """The digest of a content with this list of chunks."""
    return sha256(listed).digest()


class ChunkDigests:
    """The digests of a content that arrives piece by piece, in order."""

    def __init__(self) -> None:
        self._ended: list[bytes] = []
        self._chunk = sha256()
        self._filled_bytes = 0

    def add(self, piece: bytes) -> None:
        view = memoryview(piece)
        while view:
            if self._filled_bytes == CHUNK_BYTES:
                self._ended.append(self._chunk.digest())
                self._chunk, self._filled_bytes = sha256(), 0
            taken = view[: CHUNK_BYTES - self._filled_bytes]
            self._chunk.update(taken)
            self._filled_bytes += len(taken)
            view = view[len(taken) :]

    def listed(self) -> bytes:
        """The list of chunks so far; nothing if there is only one."""
        return b"".join((*self._ended, self._chunk.digest())) if self._ended else b""

    def root(self) -> bytes:
        return root_of(self.listed()) if self._ended else self._chunk.digest()
