"""Reception: what the data frames of peers hold, handed up once each.

Parcels and pieces are acknowledged whenever they come, since an acknowledgement may have been lost, and handed up the
first time. A broadcast is not acknowledged. What is older than a sender's window of numbers is dropped: somebody plays
it again. Frames without a mark, which came by multicast, have a window of their own, so that none of them moves that of
the others.
"""

from __future__ import annotations

from collections.abc import Callable

from thyme.live.link.acknowledgements import Acknowledgements
from thyme.live.link.addresses import Address
from thyme.live.link.frames import Frame, Kind
from thyme.live.link.parcels import read_piece, unpack_messages
from thyme.live.link.pieces import Pieces
from thyme.live.link.sessions import TOO_OLD, Window
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
        self._memory = memory
        self._windows: dict[tuple[NodeId, bool], Window] = {}
        self._pieces, self._broadcast_pieces = Pieces(), Pieces()

    def take(self, frame: Frame, address: Address, *, marked: bool = True) -> str:
        """A frame with data from a peer; why it was dropped, or nothing."""
        to_all = frame.kind in (Kind.BROADCAST, Kind.BROADCAST_PIECE)
        if not to_all and frame.to != self._node:
            return "for another node"
        old = self._window(frame.sender, marked).judge(frame.number)
        if not to_all and old != TOO_OLD:
            self._acknowledgements.owe(frame.sender, address, frame.number)
        if not old:
            self._hand_up(frame)
        return old

    def forget(self, node: NodeId) -> None:
        """It has gone: nothing of what it began will be completed."""
        for marked in (True, False):
            self._windows.pop((node, marked), None)
        self._pieces.forget(node)
        self._broadcast_pieces.forget(node)

    def _window(self, sender: NodeId, marked: bool) -> Window:
        window = self._windows.get((sender, marked))
        if window is None:
            window = self._windows[(sender, marked)] = Window(self._memory)
        return window

    def _hand_up(self, frame: Frame) -> None:
        match frame.kind:
            case Kind.BROADCAST:
                self._read(frame.sender, frame.body)
            case Kind.BROADCAST_PIECE:
                self._put_together(frame, self._broadcast_pieces)
            case Kind.PIECE:
                self._put_together(frame, self._pieces)
            case _:
                for body in unpack_messages(frame.body):
                    self._read(frame.sender, body)

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
