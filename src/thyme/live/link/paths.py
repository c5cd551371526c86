"""Paths: how large a datagram may be on its way to an address.

Within one machine a datagram is as large as it may be. Anywhere else it stays below what a radio or a cable carries in
one frame, because a datagram that the network cuts into fragments is lost with any of them.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import Annotated

import msgspec

from thyme.live.link.addresses import Address
from thyme.live.link.frames import MAX_DATAGRAM_BYTES
from thyme.model.bounded import Bounded

LEAST_BYTES = 508
"""Datagram size that every path on the internet carries."""
DatagramBytes = Annotated[int, msgspec.Meta(ge=LEAST_BYTES, le=MAX_DATAGRAM_BYTES)]
MAX_KNOWN = 1_000
LOOPBACK_PART_BYTES = 43_691
"""Parts of large contents within one machine: a third of a chunk. Several of them fit the socket's buffer."""


class PathOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    datagram_bytes: DatagramBytes = 1_400
    """On radios and cables: a part of a content (1,200 bytes) with all that surrounds it, within a frame of 1,500."""
    loopback_bytes: DatagramBytes = MAX_DATAGRAM_BYTES


class Paths:
    def __init__(self, options: PathOptions) -> None:
        self._options = options
        self._known: Bounded[Address, int] = Bounded(MAX_KNOWN)
        self._latest: tuple[tuple[Address, ...], int] | None = None
        """The addresses of the last call, and its result."""

    def datagram_bytes(self, address: Address | None) -> int:
        if address is None:
            return self._options.datagram_bytes
        known = self._known.get(address)
        if known is None:
            known = self._options.loopback_bytes if is_loopback(address) else self._options.datagram_bytes
            self._known[address] = known
        return known

    def part_bytes(self, addresses: tuple[Address, ...]) -> int:
        """How much of a content a message to any of these addresses may carry; 0 leaves it to the approach."""
        if self._latest is None or self._latest[0] is not addresses:
            wide = all(self.datagram_bytes(address) > LOOPBACK_PART_BYTES for address in addresses)
            self._latest = addresses, LOOPBACK_PART_BYTES if wide else 0
        return self._latest[1]


def is_loopback(address: Address) -> bool:
    return ip_address(address[0].partition("%")[0]).is_loopback
