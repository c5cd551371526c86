"""Reception: what the data frames of peers hold, handed up once each.

Parcels and pieces are acknowledged whenever they come, since an acknowledgement may have been lost, and handed up the
first time. A broadcast is not acknowledged. What came in one turn is handed up at its end: a little at once, and
acknowledged after that, as an acknowledgement takes longer than the message; much is acknowledged first, so that its
sender goes on while this node works on it. What is older than a sender's window of numbers is dropped:
somebody plays it again. Frames without a mark, which came by multicast, have a window of their own, so that none of
them moves that of the others.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

from thyme.live.link.addresses import Address
from thyme.live.link.carrying.acknowledgements import Acknowledgements
from thyme.live.link.carrying.parcels import read_piece, unpack_messages
from thyme.live.link.carrying.pieces import Pieces
from thyme.live.link.frames import Frame, Kind
from thyme.live.link.sealing import FrameError
from thyme.live.link.sessions import TOO_OLD, Window
from thyme.model.ids import NodeId
from thyme.model.records import TrafficKind
from thyme.wire.codec import DecodeError
from thyme.wire.message import Message
from thyme.wire.signing import PLAIN, Codec, Forged

Hear = Callable[[NodeId, Message, int], None]
Count = Callable[[TrafficKind, str, int, str], None]
"""(kind of traffic, name, bytes, reason): one more of these happened"""
Charge = Callable[[NodeId, int], None]
"""(sender, signatures): so many had to be verified beyond one for each message of a frame"""
TO_ALL = (Kind.BROADCAST, Kind.BROADCAST_PIECE)
TO_ONE = (Kind.PARCEL, Kind.PIECE)
"""Of these every datagram is marked, so it is sure who speaks."""
LITTLE_BYTES = 2_048
"""A frame of up to so many is worked on before it is acknowledged."""


class Reception:
    def __init__(
        self,
        node: NodeId,
        memory: int,
        acknowledgements: Acknowledgements,
        hear: Hear,
        count: Count,
        charge: Charge,
        codec: Codec = PLAIN,
    ) -> None:
        self._node = node
        self._charge = charge
        self._codec = codec
        self._acknowledgements = acknowledgements
        self._hear = hear
        self._count = count
        self._memory = memory
        self._windows: dict[tuple[NodeId, bool, bool], Window] = {}
        """By sender: unicasts and broadcasts are numbered by themselves, and what has no mark must not move what has
        one."""
        self._pieces, self._broadcast_pieces = Pieces(), Pieces()
        self._arrived: list[tuple[Frame, bool]] = []
        """In this turn, in order, and whether its sender has marked it."""

    def take(self, frame: Frame, address: Address, *, marked: bool = True) -> str:
        """A frame with data from a peer; why it was dropped, or nothing."""
        to_all = frame.kind in TO_ALL
        if not to_all and frame.to != self._node:
            return "for another node"
        window = self._windows.get((frame.sender, to_all, marked))
        if window is None:
            window = self._windows[(frame.sender, to_all, marked)] = Window(self._memory)
        old = window.judge(frame.number)
        if not to_all and old != TOO_OLD:
            self._acknowledgements.owe(frame.sender, address, frame.number)
        if not old:
            self._arrived.append((frame, marked))
        return old

    def work(self) -> None:
        """Whatever has arrived is handed up, though more may come in this turn."""
        arrived = self._arrived
        if not arrived:
            return
        if len(arrived) > 1 or len(arrived[0][0].body) > LITTLE_BYTES:
            self._acknowledgements.tell_all()
        self.hand_up()

    def end_turn(self) -> None:
        """No more is waited for in this turn: what has arrived is handed up, and all of it acknowledged."""
        if self._arrived:
            self.work()
        self._acknowledgements.tell_all()

    def hand_up(self) -> None:
        """All that has arrived."""
        arrived, self._arrived = self._arrived, []
        for frame, marked in arrived:
            self._codec.speaker = frame.sender if marked and frame.kind in TO_ONE else None
            checked = self._codec.checked
            try:
                messages = self._open(frame)
                further = self._codec.checked - checked - messages
                if further > 0:
                    self._charge(frame.sender, further)
            except FrameError as error:
                self._count(TrafficKind.DROPPED, "datagram", len(frame.body), str(error))
            finally:
                self._codec.speaker = None

    def close(self) -> None:
        self._arrived = []

    def forget(self, node: NodeId) -> None:
        """It has gone, after it said whatever has arrived: nothing of what it began will be completed."""
        self.hand_up()
        for to_all, marked in product((True, False), repeat=2):
            self._windows.pop((node, to_all, marked), None)
        self._pieces.forget(node)
        self._broadcast_pieces.forget(node)

    def _open(self, frame: Frame) -> int:
        """Hand up what it holds; how many messages that is, or was a piece of."""
        if frame.kind is Kind.PARCEL:
            bodies = unpack_messages(frame.body)
            for body in bodies:
                self._read(frame.sender, body)
            return len(bodies)
        match frame.kind:
            case Kind.BROADCAST:
                self._read(frame.sender, frame.body)
            case Kind.BROADCAST_PIECE:
                self._put_together(frame, self._broadcast_pieces)
            case _:
                self._put_together(frame, self._pieces)
        return 1

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
