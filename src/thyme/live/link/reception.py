"""Reception: what the data frames of peers hold, handed up once each.

Parcels and pieces are acknowledged whenever they come, since an acknowledgement may have been lost, and handed up the
first time. A broadcast is neither acknowledged nor repeated.
"""

from __future__ import annotations

from collections.abc import Callable

from thyme.live.link.acknowledgements import Acknowledgements
from thyme.live.link.addresses import Address
from thyme.live.link.frames import Frame, Kind
from thyme.live.link.parcels import read_piece, unpack_messages
from thyme.live.link.pieces import Pieces
from thyme.model.bounded import Bounded
from thyme.model.ids import NodeId
from thyme.model.records import TrafficKind
from thyme.wire.codec import DecodeError
from thyme.wire.message import Message
from thyme.wire.signing import PLAIN, Codec, Forged

Hear = Callable[[NodeId, Message, int], None]
Count = Callable[[TrafficKind, str, int, str], None]
"""(kind of traffic, name, bytes, reason): one more of these happened"""


class Reception:
    def __init__(
        self,
        node: NodeId,
        memory: int,
        acknowledgements: Acknowledgements,
        hear: Hear,
        count: Count,
        codec: Codec = PLAIN,
    ) -> None:
        self._node = node
        self._codec = codec
        self._acknowledgements = acknowledgements
        self._hear = hear
        self._count = count
        self._heard: Bounded[tuple[NodeId, int], None] = Bounded(memory)
        self._pieces, self._broadcast_pieces = Pieces(), Pieces()

    def take(self, frame: Frame, address: Address) -> str:
        """A frame with data from a peer; why it was dropped, or nothing."""
        if frame.kind is Kind.BROADCAST:
            self._read(frame.sender, frame.body)
        elif frame.kind is Kind.BROADCAST_PIECE:
            self._put_together(frame, self._broadcast_pieces)
        elif frame.to != self._node:
            return "for another node"
        else:
            return self._take_unicast(frame, address)
        return ""

    def forget(self, node: NodeId) -> None:
        """It has gone: nothing of what it began will be completed."""
        self._pieces.forget(node)
        self._broadcast_pieces.forget(node)

    def _take_unicast(self, frame: Frame, address: Address) -> str:
        self._acknowledgements.owe(frame.sender, address, frame.number)
        if (frame.sender, frame.number) in self._heard:
            return "repeated"
        self._heard[(frame.sender, frame.number)] = None
        if frame.kind is Kind.PIECE:
            self._put_together(frame, self._pieces)
        else:
            for body in unpack_messages(frame.body):
                self._read(frame.sender, body)
        return ""

    def _put_together(self, frame: Frame, pieces: Pieces) -> None:
        body = pieces.add(frame.sender, read_piece(frame.body))
        if body is not None:
            self._read(frame.sender, body)

    def _read(self, sender: NodeId, body: bytes) -> None:
        try:
            message = self._codec.decode(body)
        except Forged:
            self._count(TrafficKind.DROPPED, "message", len(body), "forged message")
            return
        except DecodeError:
            self._count(TrafficKind.DROPPED, "message", len(body), "unreadable message")
            return
        self._hear(sender, message, len(body))
