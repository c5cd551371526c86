"""Sessions: the keys that two nodes share from their greeting until one of them closes its link.

Each node draws a key pair (X25519) when its link opens, and its signed greeting names it. The session's keys, one for
each direction, derive from the secrets of these keys and of the nodes' own, and from the numbers of both sessions. They
encrypt and authenticate frames to a peer (ChaCha20-Poly1305, the frame's kind and number as nonce). So a member of the
namespace can neither read nor forge what two others send each other, frames recorded in another session are not
accepted, and an attacker who learns a device's key later cannot decrypt recorded frames. Within a session, a window of
frame numbers tells new ones from repeated ones.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b

from nacl import bindings

from thyme.live.link.frames import FRAME_HEADER_BYTES, KIND_AND_NUMBER, MARK_BYTES
from thyme.live.trust.identity import Identity
from thyme.live.trust.sodium import KEY_BYTES, seal, unseal

SESSION_BYTES = 8
REPEATED = "repeated"
TOO_OLD = "too old"
_KIND, _NUMBER = KIND_AND_NUMBER


class OwnSession:
    """What a node draws when its link opens."""

    def __init__(self, identity: Identity, entropy: Callable[[int], bytes]) -> None:
        self._identity = identity
        self.number = int.from_bytes(entropy(SESSION_BYTES), "big")
        self._secret = entropy(KEY_BYTES)
        self.ephemeral = bytes(bindings.crypto_scalarmult_base(self._secret))

    def with_peer(self, public: bytes, number: int, ephemeral: bytes) -> Session | None:
        """The session with the holder of a public key; None if that or the other key is none."""
        lasting = self._identity.shared_with(public)
        try:
            passing = bytes(bindings.crypto_scalarmult(self._secret, ephemeral))
        except (RuntimeError, ValueError, TypeError):  # a point of no use
            return None
        if lasting is None:
            return None
        mine, theirs = (self._identity.public, self.number, self.ephemeral), (public, number, ephemeral)
        text = b"".join(key + one.to_bytes(SESSION_BYTES, "big") + other for key, one, other in sorted((mine, theirs)))
        keys = blake2b(text, digest_size=2 * KEY_BYTES, key=passing + lasting, person=b"thyme session").digest()
        first, second = keys[:KEY_BYTES], keys[KEY_BYTES:]
        return Session(first, second) if mine < theirs else Session(second, first)


class Session:
    """Encrypts what is sent to one peer, and decrypts what it sends."""

    def __init__(self, sending: bytes, receiving: bytes) -> None:
        self._sending, self._receiving = sending, receiving

    def close(self, header: bytes, body: bytes) -> bytes:
        """A frame. A kind and a number are used for one body only."""
        return header + seal(body, header, _nonce(header), self._sending)

    def open(self, frame: bytes) -> bytes | None:
        """The body of a frame; None if the peer did not send it."""
        header = frame[:FRAME_HEADER_BYTES]
        return unseal(frame[FRAME_HEADER_BYTES:], header, _nonce(header), self._receiving)


def _nonce(header: bytes) -> bytes:
    return header[_KIND] + b"\0\0\0" + header[_NUMBER]


def session_mark(session: int) -> bytes:
    """The mark of a frame to the multicast group, which no key is for: frames of a sender's earlier sessions are not
    accepted."""
    return session.to_bytes(SESSION_BYTES, "big").ljust(MARK_BYTES, b"\0")


class Window:
    """The replay window of one sender: a bit for each of its latest numbers."""

    def __init__(self, size: int) -> None:
        self._size = max(8, size - size % 8)
        self._seen = bytearray(self._size // 8)
        self._highest = -1

    def check(self, number: int) -> str:
        """Nothing if the number is new, or why the frame is dropped."""
        ahead = number - self._highest
        place, bit = (number % self._size) >> 3, 1 << (number & 7)
        if ahead == 1:  # as most are
            self._highest = number
        elif ahead > 0:
            self._move(number, ahead)
        elif -ahead >= self._size:
            return TOO_OLD
        elif self._seen[place] & bit:
            return REPEATED
        self._seen[place] |= bit
        return ""

    def _move(self, number: int, ahead: int) -> None:
        if ahead >= self._size:
            self._seen = bytearray(self._size // 8)
        else:
            self._clear(self._highest + 1, number)
        self._highest = number

    def _clear(self, first: int, last: int) -> None:
        """Byte by byte: a peer whose numbers jump far ahead must not cost more than others."""
        while first <= last and first & 7:
            self._seen[(first % self._size) >> 3] &= ~(1 << (first & 7))
            first += 1
        while first <= last and last & 7 != 7:
            self._seen[(last % self._size) >> 3] &= ~(1 << (last & 7))
            last -= 1
        if first > last:
            return
        begins, ends = (first % self._size) >> 3, ((last % self._size) >> 3) + 1
        if begins < ends:
            self._seen[begins:ends] = bytes(ends - begins)
        else:
            self._seen[begins:] = bytes(len(self._seen) - begins)
            self._seen[:ends] = bytes(ends)
