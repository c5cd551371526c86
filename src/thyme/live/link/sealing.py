"""Seals: every datagram names its namespace and is closed by the namespace's key (ChaCha20-Poly1305).

A datagram is a magic word, the link's version, the namespace's number, a nonce drawn for it, and the sealed rest. In a
closed namespace nobody else can read, make or alter it, and it shows nothing but its size and its time. The key of an
open namespace is known to everybody: there the seal notices accidents, and what members say is guarded by marks
(`sessions`) and signatures.
"""

from __future__ import annotations

import struct
from os import urandom

from thyme.live.trust.sodium import NONCE_BYTES, TAG_BYTES, seal, unseal

MAGIC = b"TL"
LINK_VERSION = 7
_OUTSIDE = struct.Struct("!2sBQ")
_SEALED_FROM = _OUTSIDE.size + NONCE_BYTES
SEAL_BYTES = _SEALED_FROM + TAG_BYTES
MAX_SEALED_BYTES = 65_507
"""What a UDP datagram holds."""


class FrameError(ValueError):
    """The datagram is not a frame of this link."""


class Seal:
    """Of one namespace."""

    def __init__(self, namespace: int, key: bytes) -> None:
        self._outside = _OUTSIDE.pack(MAGIC, LINK_VERSION, namespace)
        self._key = key

    def close(self, frame: bytes) -> bytes:
        outside, nonce = self._outside, urandom(NONCE_BYTES)
        return outside + nonce + seal(frame, outside, nonce, self._key)

    def open(self, datagram: bytes) -> bytes:
        """FrameError says in a few fixed words why it cannot be read."""
        if not datagram.startswith(self._outside):
            raise FrameError(_why(datagram, self._outside))
        if len(datagram) < SEAL_BYTES:
            raise FrameError("too short")
        nonce, sealed = datagram[_OUTSIDE.size : _SEALED_FROM], datagram[_SEALED_FROM:]
        frame = unseal(sealed, self._outside, nonce, self._key)
        if frame is None:
            raise FrameError("a broken seal")
        return frame


def _why(datagram: bytes, expected: bytes) -> str:
    if len(datagram) < SEAL_BYTES:
        return "too short"
    if datagram[:2] != expected[:2]:
        return "not a frame"
    return "another link version" if datagram[2] != expected[2] else "another namespace"
