"""Seals: every datagram names its namespace and is encrypted with the namespace's key (XChaCha20-Poly1305).

A datagram is a magic word, the link's version, the namespace's number, a random nonce and the sealed rest. Nobody
outside a closed namespace can read, make or alter it; it shows only its size and its time. Everybody knows the key of
an open namespace: there the seal detects accidents, and sessions and signatures protect what members say.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from os import urandom

from thyme.live.trust.sodium import RANDOM_NONCE_BYTES, TAG_BYTES, seal, unseal

MAGIC = b"TL"
LINK_VERSION = 9
VERSION_AT = len(MAGIC)
"""Where a datagram says its version."""
_OUTSIDE = struct.Struct("!2sBQ")
_SEALED_FROM = _OUTSIDE.size + RANDOM_NONCE_BYTES
SEAL_BYTES = _SEALED_FROM + TAG_BYTES


class FrameError(ValueError):
    """The datagram is not a frame of this link."""


class Seal:
    """Of one namespace."""

    def __init__(self, namespace: int, key: bytes, entropy: Callable[[int], bytes] = urandom) -> None:
        """`entropy` draws nonces."""
        self._entropy = entropy
        self._outside = _OUTSIDE.pack(MAGIC, LINK_VERSION, namespace)
        self._key = key

    def close(self, frame: bytes) -> bytes:
        outside, nonce = self._outside, self._entropy(RANDOM_NONCE_BYTES)
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
    if not datagram.startswith(MAGIC):
        return "not a frame"
    return "another link version" if datagram[VERSION_AT] != expected[VERSION_AT] else "another namespace"
