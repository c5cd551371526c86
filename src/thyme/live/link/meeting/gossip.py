"""Gossip: peers tell each other at which addresses others are, so that one known address is enough.

Who is met is told of others, and now and then one peer is. What is told is greeted, and believed for nothing else. An
address that means something on the teller's machine or link only stays there.
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import ip_address

from thyme.live.link.addresses import Address, address_text, parse_address
from thyme.live.link.sealing import FrameError
from thyme.model.errors import InputError

MAX_TOLD = 16
"""Addresses in one frame."""
MAX_BYTES = 1_000


def told(peers: Iterable[Address], to: Address) -> bytes:
    """What a peer at `to` is told; nothing if there is nobody else."""
    others = [address for address in peers if address != to and _travels(address, to)]
    return "\n".join(address_text(address) for address in others[:MAX_TOLD]).encode()


def read(body: bytes) -> list[Address]:
    if len(body) > MAX_BYTES:
        raise FrameError("no addresses")
    try:
        lines = body.decode("ascii").split("\n")
        addresses = [parse_address(line, "a peer") for line in lines[:MAX_TOLD]]
        for host, _ in addresses:
            ip_address(host)
    except (InputError, ValueError) as error:
        raise FrameError("no addresses") from error
    return addresses


def _travels(address: Address, to: Address) -> bool:
    """Whether an address means the same at `to`."""
    mine, theirs = (ip_address(host.partition("%")[0]) for host, _ in (address, to))
    return mine.version == theirs.version and mine.is_loopback == theirs.is_loopback and not mine.is_link_local
