"""Parcels: how messages are packed into the bodies of frames.

A parcel holds several messages, each after its length. Their number comes first, so that a receiver knows what a parcel
costs before decoding it. A piece names the message that it belongs to, its place and how many pieces there are. Pieces
are put together within bounds per sender: a sender with too many incomplete messages loses the oldest. An
acknowledgement is a list of numbers.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import msgspec

from thyme.live.link.sealing import FrameError
from thyme.model.bounded import Bounded
from thyme.model.ids import NodeId
from thyme.wire.codec import MAX_FRAME_BYTES

MAX_MESSAGES = 64
"""In one parcel: it is handled in one turn of the event loop."""
MAX_PIECES = 256
"""Of one message: the longest one over the smallest datagrams."""
MAX_ACKNOWLEDGED = 64
"""Numbers in one acknowledgement; with its header it fits any path."""
LENGTH_BYTES = 2
_length = struct.Struct("!H")
_FIRST = 1 + LENGTH_BYTES
"""Where the first message of a parcel begins."""
_piece = struct.Struct("!QHH")
PIECE_HEADER_BYTES = _piece.size
NUMBER_BYTES = 8
MAX_INCOMPLETE = 32
"""Messages of one sender that are not complete: 2 MB at most. A window holds fewer."""
MAX_SENDERS = 1_000


class MessagePart(msgspec.Struct, frozen=True):
    message: int
    """A number that the sender gave to the message."""
    place: int
    pieces: int
    data: bytes


def pack_messages(messages: Sequence[bytes]) -> bytes:
    parts = [bytes([len(messages)])]
    for message in messages:
        parts += (_length.pack(len(message)), message)
    return b"".join(parts)


def pack_message(message: bytes) -> bytes:
    """A parcel of one."""
    return b"\1" + _length.pack(len(message)) + message


def message_count(body: bytes) -> int:
    """How many messages a parcel says it has."""
    return body[0]


def unpack_messages(body: bytes) -> list[bytes]:
    if body[0] == 1 and len(body) > _FIRST and _length.unpack_from(body, 1)[0] == len(body) - _FIRST:
        return [body[_FIRST:]]  # as most have
    messages, at = [], 1
    for _ in range(body[0]):
        length = int.from_bytes(body[at : at + LENGTH_BYTES], "big")
        at += LENGTH_BYTES + length
        messages.append(body[at - length : at])
    if at != len(body) or not 0 < len(messages) <= MAX_MESSAGES or not all(messages):
        raise FrameError("not a parcel")
    return messages


def split(number: int, message: bytes, room_bytes: int) -> list[bytes]:
    """The bodies of the pieces of a message, each at most `room_bytes` long."""
    step = room_bytes - PIECE_HEADER_BYTES
    starts = range(0, len(message), step)
    return [_piece.pack(number, i, len(starts)) + message[at : at + step] for i, at in enumerate(starts)]


def unpack_piece(body: bytes) -> MessagePart:
    try:
        message, place, pieces = _piece.unpack_from(body)
    except struct.error as error:
        raise FrameError("not a piece") from error
    data = body[PIECE_HEADER_BYTES:]
    if not data or not place < pieces <= MAX_PIECES or len(data) > MAX_FRAME_BYTES:
        raise FrameError("not a piece")
    return MessagePart(message, place, pieces, data)


def pack_numbers(numbers: Sequence[int]) -> bytes:
    return struct.pack(f"!{len(numbers)}Q", *numbers)


def unpack_numbers(body: bytes) -> tuple[int, ...]:
    count, rest = divmod(len(body), NUMBER_BYTES)
    if rest or not 0 < count <= MAX_ACKNOWLEDGED:
        raise FrameError("not an acknowledgement")
    return struct.unpack(f"!{count}Q", body)


class _Incomplete(msgspec.Struct):
    pieces: int
    held_bytes: int
    found: dict[int, bytes]


class Pieces:
    def __init__(self) -> None:
        self._senders: Bounded[NodeId, Bounded[int, _Incomplete]] = Bounded(MAX_SENDERS)

    def add(self, sender: NodeId, piece: MessagePart) -> bytes | None:
        """The whole message, if this was the last piece of it that lacked."""
        messages = self._senders.get(sender)
        if messages is None:
            messages = self._senders[sender] = Bounded(MAX_INCOMPLETE)
        message = messages.get(piece.message)
        if message is None:
            message = messages[piece.message] = _Incomplete(piece.pieces, 0, {})
        if piece.place not in message.found:
            message.held_bytes += len(piece.data)
            message.found[piece.place] = piece.data
        if message.pieces != piece.pieces or message.held_bytes > MAX_FRAME_BYTES:
            del messages[piece.message]
            return None
        if len(message.found) < message.pieces:
            return None
        del messages[piece.message]
        return b"".join(message.found[place] for place in range(message.pieces))

    def forget(self, sender: NodeId) -> None:
        self._senders.pop(sender, None)
