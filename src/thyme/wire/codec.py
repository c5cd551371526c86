"""The bytes of a message: one version byte, then the record as a MessagePack array that starts with its tag.

Undecodable input always raises `DecodeError`, and nothing else. The list of modules below is the only list of messages:
a new message module is added here.
"""

from __future__ import annotations

import operator
from functools import reduce
from types import ModuleType
from typing import Annotated, Any

import msgspec

from thyme.wire import (
    cells,
    drip,
    geographic,
    local,
    routing,
    server,
    socialcast,
    storage,
    walks,
)
from thyme.wire.message import Message

VERSION = 1
MAX_FRAME_BYTES = 60_000
"""Below the largest UDP datagram, with room for headers; larger contents are sent in parts."""
HEADER_BYTES = 10_000
"""Left in a frame for what surrounds a part of it: names, tags, a summary, the envelopes of routing."""
MAX_PART_BYTES = MAX_FRAME_BYTES - HEADER_BYTES
FrameBytes = Annotated[int, msgspec.Meta(ge=1, le=MAX_PART_BYTES)]
"""How much of something goes into one frame."""

MODULES: tuple[ModuleType, ...] = (
    routing,
    storage,
    server,
    local,
    geographic,
    cells,
    socialcast,
    drip,
    walks,
)


class DecodeError(ValueError):
    """The bytes are not a message of this version of Thyme."""


class FrameTooLarge(ValueError):
    """One of our own messages exceeds the largest frame; contents must be sent in parts."""


def _message_classes() -> list[type[Message]]:
    classes: list[type[Message]] = []
    for module in MODULES:
        found = [c for c in vars(module).values() if isinstance(c, type) and issubclass(c, Message)]
        classes += [c for c in found if c.__module__ == module.__name__]
    return classes


MESSAGES: tuple[type[Message], ...] = tuple(_message_classes())
_encoder = msgspec.msgpack.Encoder()
_decoder: msgspec.msgpack.Decoder[Any] = msgspec.msgpack.Decoder(reduce(operator.or_, MESSAGES))
_prefix = bytes([VERSION])
BULK_BYTES = 512
"""Smaller parts of contents are sent as other messages are: they take no longer."""
_BULK_TAGS = frozenset(kind.__struct_config__.tag for kind in MESSAGES if kind.bulk)
_TAG_AT = 2
"""In a message: after the version and the length of the array."""


def encode(message: Message) -> bytes:
    frame = _prefix + _encoder.encode(message)
    if len(frame) > MAX_FRAME_BYTES:
        raise FrameTooLarge(f"{type(message).__name__} takes {len(frame)} bytes; at most {MAX_FRAME_BYTES} fit a frame")
    return frame


def is_bulk(message: Message, size_bytes: int) -> bool:
    """Whether a message of this encoded size is sent after those that are not: a part of a content, also one that a
    packet carries."""
    if size_bytes < BULK_BYTES:
        return False
    payload: bytes | None = getattr(message, "payload", None)
    return message.bulk if payload is None else payload[_TAG_AT] in _BULK_TAGS and payload[0] == VERSION


def decode(frame: bytes) -> Message:
    if not frame:
        raise DecodeError("empty frame")
    if len(frame) > MAX_FRAME_BYTES:
        raise DecodeError(f"frame of {len(frame)} bytes; at most {MAX_FRAME_BYTES} are read")
    if frame[0] != VERSION:
        raise DecodeError(f"wire version {frame[0]}; this is version {VERSION}")
    try:
        message: Message = _decoder.decode(memoryview(frame)[1:])
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise DecodeError(str(error)) from error
    return message
