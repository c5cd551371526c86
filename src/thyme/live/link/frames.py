"""Link frames: what one UDP datagram holds.

A header of fixed size (magic, link version, kind, sender, addressee, number), then a body: encoded messages or a piece
of one (`parcels`), numbers of frames that arrived, or, in a greeting, who greets: the life of its store, what time it
goes by (`crowd_time`), and its approach. The number names a frame among its sender's.
"""

from __future__ import annotations

import struct
from enum import IntEnum
from math import isfinite

import msgspec

from thyme.live.link.crowd_time import Reading
from thyme.model.ids import NodeId
from thyme.wire.codec import MAX_FRAME_BYTES

MAGIC = b"TL"
LINK_VERSION = 4
EVERYBODY = NodeId(-1)
MAX_NODE = 2**63 - 1
_HEADER = struct.Struct("!2sBBqqQ")
HEADER_BYTES = _HEADER.size
_GREETER = struct.Struct("!QddQddd")
LIFE_BITS = 64
MAX_INTRODUCTION_BYTES = _GREETER.size + 32
MAX_DATAGRAM_BYTES = HEADER_BYTES + MAX_FRAME_BYTES + 3
"""The largest message in a parcel of its own."""


class Kind(IntEnum):
    HELLO = 1
    """Here I am; who are you?"""
    WELCOME = 2
    """The answer to a hello."""
    BROADCAST = 3
    PARCEL = 4
    """Messages to one peer, acknowledged together."""
    ACK = 5
    """The numbers of parcels and pieces that arrived."""
    GOODBYE = 6
    """I leave."""
    FULL = 7
    """The answer to a hello for which there is no place."""
    TWIN = 8
    """Somebody else goes by your id."""
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


KIND_AT = 3
"""Where a datagram says of which kind it is."""
ACK_BYTE = bytes([Kind.ACK])
MULTICAST = (Kind.WHO_HEARS, Kind.HEARD)
_GREETINGS = (Kind.HELLO, Kind.WELCOME)
DATA = (Kind.BROADCAST, Kind.BROADCAST_PIECE, Kind.PARCEL, Kind.PIECE)
_WITH_BODY = (*_GREETINGS, *DATA, Kind.ACK)


class FrameError(ValueError):
    """The datagram is not a frame of this link."""


class Frame(msgspec.Struct, frozen=True):
    kind: Kind
    sender: NodeId
    to: NodeId
    number: int
    body: bytes = b""


class Introduction(msgspec.Struct, frozen=True):
    """Who greets."""

    life: int
    """Drawn once for a store: a device that lost its store, or another one with the same id, has another."""
    approach: str
    time: Reading = Reading(0.0, 0.0, 0)

    def pack(self) -> bytes:
        time = self.time
        numbers = (self.life, time.now_s, time.age_s, time.lineage, time.correction_s, time.asked_s, time.echo_s)
        return _GREETER.pack(*numbers) + self.approach.encode()


def read_introduction(body: bytes) -> Introduction:
    try:
        life, *time = _GREETER.unpack_from(body)
        reading = Reading(*time)
        if not all(map(isfinite, time)):
            raise FrameError("no introduction")
        return Introduction(life, body[_GREETER.size :].decode(), reading)
    except (struct.error, UnicodeDecodeError) as error:
        raise FrameError("no introduction") from error


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
    body = datagram[HEADER_BYTES:]
    if (kind in _WITH_BODY) != bool(body) or (kind in _GREETINGS and len(body) > MAX_INTRODUCTION_BYTES):
        raise FrameError("wrong length")
    return Frame(Kind(kind), NodeId(sender), NodeId(to), number, body)
