"""DSDV (tags 60–69): table updates, and the packets that travel over the routes.

An update's entries are packed, twelve bytes each: destination, hops and sequence number, four bytes each in
network order. That is ns-3's layout, so an update of n entries costs 12 n bytes plus the five or six that
every message pays for its version, tag and length.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from thyme.model.ids import NodeId
from thyme.wire.message import Message

_LAYOUT = struct.Struct("!III")
ENTRY_BYTES = _LAYOUT.size


class Entry(NamedTuple):
    """Over the advertiser, `destination` is `hops` away from whoever hears this. An odd sequence number
    says that the destination is lost."""

    destination: NodeId
    hops: int
    sequence: int


class TableUpdate(Message, frozen=True, tag=60):
    """Some or all routes of the sender, which counts itself into the hops."""

    control = True
    entries: bytes


class Carried(Message, frozen=True, tag=61):
    """A packet on its way from `origin`, which numbered it, to `target`; `hops` counts the links behind it."""

    origin: NodeId
    number: int
    target: NodeId
    hops: int
    payload: bytes

    def forwarded_by(self, sender: int) -> bool:
        return self.hops > 0


def pack(entries: Iterable[Entry]) -> bytes:
    return b"".join(_LAYOUT.pack(*entry) for entry in entries)


def unpack(packed: bytes) -> Iterator[Entry]:
    """The entries; a tail that is no whole entry is the sender's mistake and ignored."""
    whole = len(packed) - len(packed) % ENTRY_BYTES
    for destination, hops, sequence in _LAYOUT.iter_unpack(memoryview(packed)[:whole]):
        yield Entry(NodeId(destination), hops, sequence)
