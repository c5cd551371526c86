"""Pieces of messages that no datagram on their path holds, put together again.

What is incomplete is kept within bounds per sender: who begins too many messages loses the one that was begun first.
"""

from __future__ import annotations

import msgspec

from thyme.live.link.carrying.parcels import Piece
from thyme.model.bounded import Bounded
from thyme.model.ids import NodeId
from thyme.wire.codec import MAX_FRAME_BYTES

MAX_INCOMPLETE = 32
"""Messages of one sender that are not complete: 2 MB at most. A window holds fewer."""
MAX_SENDERS = 1_000


class _Incomplete(msgspec.Struct):
    pieces: int
    held_bytes: int
    found: dict[int, bytes]


class Pieces:
    def __init__(self) -> None:
        self._senders: Bounded[NodeId, Bounded[int, _Incomplete]] = Bounded(MAX_SENDERS)

    def add(self, sender: NodeId, piece: Piece) -> bytes | None:
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
