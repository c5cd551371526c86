"""Link frames: what one UDP datagram holds.

A header of fixed size (magic, link version, kind, sender, addressee, number), then, for data, one encoded message.
The number names a frame among its sender's; an acknowledgement repeats the number of the frame it is for.
"""

from __future__ import annotations

import struct
from enum import IntEnum

import msgspec

from thyme.model.ids import NodeId
from thyme.wire.codec import MAX_FRAME_BYTES

MAGIC = b"TL"
LINK_VERSION = 1
EVERYBODY = NodeId(-1)
MAX_NODE = 2**63 - 1
_HEADER = struct.Struct("!2sBBqqQ")
HEADER_BYTES = _HEADER.size
MAX_DATAGRAM_BYTES = HEADER_BYTES + MAX_FRAME_BYTES


class Kind(IntEnum):
    HELLO = 1
    """Here I am; who are you?"""
    WELCOME = 2
    """The answer to a hello."""
    BROADCAST = 3
    UNICAST = 4
    ACK = 5


class FrameError(ValueError):
    """The datagram is not a frame of this link."""


class Frame(msgspec.Struct, frozen=True):
    kind: Kind
    sender: NodeId
    to: NodeId
    number: int
    body: bytes = b""


def pack(frame: Frame) -> bytes:
    return _HEADER.pack(MAGIC, LINK_VERSION, frame.kind, frame.sender, frame.to, frame.number) + frame.body


def unpack(datagram: bytes) -> Frame:
    """Read a datagram from outside; FrameError says in a few fixed words what is wrong with it."""
    if len(datagram) < HEADER_BYTES:
        raise FrameError("too short")
    if len(datagram) > MAX_DATAGRAM_BYTES:
        raise FrameError("too long")
    magic, version, kind, sender, to, number = _HEADER.unpack_from(datagram)
    if magic != MAGIC:
        raise FrameError("not a frame")
    if version != LINK_VERSION:
        raise FrameError("another link version")
    if kind not in Kind.__members__.values():
        raise FrameError("unknown kind")
    if sender < 0 or to < EVERYBODY:
        raise FrameError("impossible node id")
    carries = kind in (Kind.BROADCAST, Kind.UNICAST)
    body = datagram[HEADER_BYTES:]
    if carries != bool(body):
        raise FrameError("wrong length")
    return Frame(Kind(kind), NodeId(sender), NodeId(to), number, body)
