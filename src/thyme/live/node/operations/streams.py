"""Streams that an application inserts: whatever they are, `read` gives their bytes.

Files and what looks like one are read in a thread; streams of asyncio and asynchronous iterators are awaited.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable
from inspect import isawaitable, iscoroutinefunction
from typing import Any, BinaryIO

from thyme.model.errors import InputError


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
