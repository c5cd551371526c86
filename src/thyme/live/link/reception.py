"""Reception: the messages in data frames of peers, each delivered once and acknowledged.

Parcels and pieces are acknowledged whenever they come, since an acknowledgement may have been lost, and delivered the
first time. Broadcasts are not acknowledged. Frames that came in one turn are delivered at its end. A small one is
acknowledged after that, because sending an acknowledgement takes longer than handling the message; many or large ones
are acknowledged first, so that their sender goes on meanwhile. Frames older than a sender's replay window are dropped.
Frames to the multicast group, which are not marked for one peer, have a window of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import msgspec

from thyme.host import StoreFull
from thyme.live.link.addresses import Address
from thyme.live.link.frames import Frame, Kind
from thyme.live.link.parcels import MAX_ACKNOWLEDGED, Pieces, unpack_messages, unpack_piece
from thyme.live.link.sealing import FrameError
from thyme.live.link.sessions import TOO_OLD, Window
from thyme.model.ids import NodeId
from thyme.model.records import TrafficKind
from thyme.wire.codec import DecodeError
from thyme.wire.message import Message
from thyme.wire.signing import PLAIN, Codec, Forged

Count = Callable[[TrafficKind, str, int, str], None]
"""(kind of traffic, name, bytes, reason): one more of these happened"""
Deliver = Callable[[NodeId, Message, int], None]
"""(sender, message, bytes)"""
TO_ALL = (Kind.BROADCAST, Kind.BROADCAST_PIECE)
TO_ONE = (Kind.PARCEL, Kind.PIECE)
"""Each of these is marked, so its sender is certain."""
LITTLE_BYTES = 2_048
"""A frame of up to this size is handled before it is acknowledged."""


class Receiver(msgspec.Struct, frozen=True):
    """Where the contents of frames go."""

    deliver: Deliver
    acknowledge: Callable[[NodeId, Address, list[int]], None]
    charge: Callable[[NodeId, int], None]
    """(sender, signatures): so many were verified beyond one for each message of a frame"""
    count: Count


class Reception:
    def __init__(self, node: NodeId, memory: int, receiver: Receiver, codec: Codec = PLAIN) -> None:
        self._node = node
        self._receiver = receiver
        self._codec = codec
        self._memory = memory
        self._windows: dict[tuple[NodeId, bool, bool], Window] = {}
        """By sender, for unicasts and broadcasts, which are numbered apart, and for marked and unmarked frames."""
        self._pieces, self._broadcast_pieces = Pieces(), Pieces()
        self.received: list[tuple[Frame, bool]] = []
        """Not yet delivered, in order, and whether each is marked."""
        self._unacknowledged: dict[tuple[NodeId, Address], list[int]] = {}

    def receive(self, frame: Frame, source: Address, *, marked: bool = True) -> str:
        """A data frame of a peer; why it was dropped, or nothing."""
        to_all = frame.kind in TO_ALL
        if not to_all and frame.to != self._node:
            return "for another node"
        window = self._windows.get((frame.sender, to_all, marked))
        if window is None:
            window = self._windows[(frame.sender, to_all, marked)] = Window(self._memory)
        refused = window.check(frame.number)
        if not to_all and refused != TOO_OLD:
            self._acknowledge_later(frame.sender, source, frame.number)
        if not refused:
            self.received.append((frame, marked))
        return refused

    def acknowledge_much(self) -> bool:
        """Acknowledge now if delivering what was received will take long; whether it will."""
        received = self.received
        much = len(received) > 1 or (bool(received) and len(received[0][0].body) > LITTLE_BYTES)
        if much:
            self.acknowledge()
        return much

    def acknowledge(self) -> None:
        if not self._unacknowledged:
            return
        numbers_by_sender, self._unacknowledged = self._unacknowledged, {}
        for (to, address), numbers in numbers_by_sender.items():
            self._receiver.acknowledge(to, address, numbers)

    def deliver(self) -> None:
        """All messages that were received."""
        received, self.received = self.received, []
        codec = self._codec
        for frame, marked in received:
            codec.speaker = frame.sender if marked and frame.kind in TO_ONE else None
            checked = codec.checked
            try:
                messages = self._unpack(frame)
                further = codec.checked - checked - messages
                if further > 0:
                    self._receiver.charge(frame.sender, further)
            except FrameError as error:
                self._receiver.count(TrafficKind.DROPPED, "datagram", len(frame.body), str(error))
            finally:
                codec.speaker = None

    def clear(self) -> None:
        self.received = []

    def forget(self, node: NodeId) -> None:
        """It has gone: deliver what it sent, and drop what it did not complete."""
        self.deliver()
        for to_all, marked in product((True, False), repeat=2):
            self._windows.pop((node, to_all, marked), None)
        self._pieces.forget(node)
        self._broadcast_pieces.forget(node)

    def _acknowledge_later(self, to: NodeId, address: Address, number: int) -> None:
        numbers = self._unacknowledged.setdefault((to, address), [])
        numbers.append(number)
        if len(numbers) >= MAX_ACKNOWLEDGED:
            del self._unacknowledged[(to, address)]
            self._receiver.acknowledge(to, address, numbers)

    def _unpack(self, frame: Frame) -> int:
        """Deliver the messages of a frame; their number."""
        if frame.kind is Kind.PARCEL:
            bodies = unpack_messages(frame.body)
            for body in bodies:
                self._decode(frame.sender, body)
            return len(bodies)
        if frame.kind is Kind.BROADCAST:
            self._decode(frame.sender, frame.body)
            return 1
        pieces = self._broadcast_pieces if frame.kind is Kind.BROADCAST_PIECE else self._pieces
        whole = pieces.add(frame.sender, unpack_piece(frame.body))
        if whole is not None:
            self._decode(frame.sender, whole)
        return 1

    def _decode(self, sender: NodeId, body: bytes) -> None:
        try:
            message = self._codec.decode(body)
        except Forged:
            self._receiver.count(TrafficKind.DROPPED, "message", len(body), "forged message")
        except DecodeError:
            self._receiver.count(TrafficKind.DROPPED, "message", len(body), "unreadable message")
        except StoreFull:  # it proves what cannot be kept
            self._receiver.count(TrafficKind.DROPPED, "message", len(body), "the store is full")
        else:
            self._receiver.deliver(sender, message, len(body))
