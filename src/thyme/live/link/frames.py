"""Link frames: the contents of a UDP datagram under its seal (`sealing`).

A header of fixed size (kind, sender, addressee, number), a body, and a mark. The body is encoded messages or a piece of
one (`parcels`), acknowledged numbers, or an introduction (`greetings`). The number identifies a frame among its
sender's. Body and mark of a frame to one peer are encrypted by their session (`sessions`), and the mark proves who sent
it; other frames have none.
"""

from __future__ import annotations

import struct
from enum import IntEnum

import msgspec

from thyme.live.link.sealing import SEAL_BYTES, FrameError
from thyme.model.ids import NodeId
from thyme.wire.codec import MAX_FRAME_BYTES

EVERYBODY = NodeId(-1)
MAX_NODE = 2**63 - 1
_HEADER = struct.Struct("!BqqQ")
MARK_BYTES = 16
NO_MARK = bytes(MARK_BYTES)
_LEAST_BYTES = _HEADER.size + MARK_BYTES
HEADER_BYTES = SEAL_BYTES + _LEAST_BYTES
"""All that surrounds a body."""
MAX_INTRODUCTION_BYTES = 300
MAX_DATAGRAM_BYTES = HEADER_BYTES + MAX_FRAME_BYTES + 3
"""The largest message in a parcel of its own."""


class Kind(IntEnum):
    HELLO = 1
    """Who are you?"""
    WELCOME = 2
    """The answer to a hello, or to a welcome that asks back."""
    BROADCAST = 3
    PARCEL = 4
    """Messages to one peer, acknowledged together."""
    ACK = 5
    """The numbers of parcels and pieces that arrived."""
    GOODBYE = 6
    """I leave."""
    FULL = 7
    """The answer to a hello when there is no place for another peer."""
    TWIN = 8
    """Another node has your id."""
    WIPED = 9
    """You were here before, with another store."""
    PIECE = 10
    """A piece of a message to one peer that no datagram on this path would hold, acknowledged."""
    BROADCAST_PIECE = 11
    """A piece of a broadcast."""
    WHO_HEARS = 12
    """Who hears this by multicast?"""
    HEARD = 13
    """The answer, by unicast: I do."""
    HERE = 14
    """An announcement by multicast: I am at this port (`discovery`)."""
    PEERS = 15
    """To a peer: addresses of others (`discovery`)."""
    RENEWAL = 16
    """To a peer: the namespace's next key (`trust.renewals`)."""


GREETINGS = (Kind.HELLO, Kind.WELCOME)
GREETING_STATE = (*GREETINGS, Kind.FULL, Kind.TWIN)
"""Accepted from nodes that have not greeted."""
DATA = (Kind.BROADCAST, Kind.BROADCAST_PIECE, Kind.PARCEL, Kind.PIECE)
TO_ALL = (Kind.BROADCAST, Kind.BROADCAST_PIECE, Kind.WHO_HEARS)
"""Accepted by multicast with the mark of a session alone."""
_KINDS = {int(kind): kind for kind in Kind}
_WITH_BODY = frozenset((*GREETINGS, *DATA, Kind.ACK, Kind.HERE, Kind.PEERS, Kind.RENEWAL))


class Frame(msgspec.Struct):
    kind: Kind
    sender: NodeId
    to: NodeId
    number: int
    body: bytes = b""
    mark: bytes = NO_MARK

    def content(self) -> bytes:
        """All but the mark."""
        return pack_header(self.kind, self.sender, self.to, self.number) + self.body


pack_header = _HEADER.pack
"""(kind, sender, to, number)"""
FRAME_HEADER_BYTES = _HEADER.size
KIND_AND_NUMBER = (slice(0, 1), slice(_HEADER.size - 8, _HEADER.size))
"""Their offsets in a header."""


def pack(frame: Frame) -> bytes:
    return frame.content() + frame.mark


def unpack(opened: bytes) -> Frame:
    """FrameError says in a few fixed words what is wrong."""
    if len(opened) < _LEAST_BYTES:
        raise FrameError("too short")
    kind, sender, to, number = _HEADER.unpack_from(opened)
    known = _KINDS.get(kind)
    if known is None:
        raise FrameError("unknown kind")
    if sender < 0 or to < EVERYBODY:
        raise FrameError("impossible node id")
    body = opened[_HEADER.size : -MARK_BYTES]
    if (known in _WITH_BODY) != bool(body) or (known in GREETINGS and len(body) > MAX_INTRODUCTION_BYTES):
        raise FrameError("wrong length")
    return Frame(known, NodeId(sender), NodeId(to), number, body, opened[-MARK_BYTES:])
