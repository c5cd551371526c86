"""Digests of contents: the same however the bytes came, and checkable chunk by chunk."""

from __future__ import annotations

from hashlib import sha256

from hypothesis import given
from hypothesis import strategies as st

from thyme.model.chunks import (
    CHUNK_BYTES,
    ChunkDigests,
    chunk_count,
    chunk_range,
    content_digest,
    list_bytes,
    root_of,
)

sizes = st.sampled_from([0, 1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 3 * CHUNK_BYTES, 3 * CHUNK_BYTES + 17])


def content(size_bytes: int) -> bytes:
    return (bytes(range(251)) * (size_bytes // 251 + 1))[:size_bytes]


@given(sizes, st.integers(5_000, 2 * CHUNK_BYTES))
def test_a_content_that_comes_in_pieces_has_the_digest_of_the_whole(size_bytes: int, step: int) -> None:
    data, digests = content(size_bytes), ChunkDigests()
    for at in range(0, size_bytes, step):
        digests.add(data[at : at + step])
    assert digests.root() == content_digest(data)
    assert len(digests.listed()) == list_bytes(size_bytes)


@given(sizes)
def test_the_list_tells_each_chunk_from_others_and_the_digest_tells_the_list(size_bytes: int) -> None:
    data, digests = content(size_bytes), ChunkDigests()
    digests.add(data)
    ranges = [chunk_range(number, size_bytes) for number in range(chunk_count(size_bytes))]
    assert b"".join(data[at : at + length] for at, length in ranges) == data
    chunks = [sha256(data[at : at + length]).digest() for at, length in ranges]
    if len(chunks) > 1:
        assert digests.listed() == b"".join(chunks)
        assert root_of(digests.listed()) == content_digest(data)
    else:
        assert chunks == [content_digest(data)]


def test_a_list_of_chunks_is_told_from_its_content_by_the_size_alone() -> None:
    data, digests = content(2 * CHUNK_BYTES), ChunkDigests()
    digests.add(data)
    assert chunk_count(len(digests.listed())) == 1
    assert content_digest(data) == content_digest(digests.listed())  # so the size has to be compared as well
    assert len(digests.listed()) != len(data)
