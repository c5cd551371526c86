"""Sessions: what two nodes that have greeted each other share until one of them closes its link.

Their keys give them a secret (X25519), and that with the numbers of both sessions a key, by which each marks what it
sends to the other. So whoever knows the namespace's key still cannot speak for another member, and what was recorded
in another session is worth nothing. Within one, a window of numbers tells what is new from what is repeated.
"""

from __future__ import annotations

from hashlib import blake2b, sha256
from hmac import compare_digest

from thyme.live.link.frames import MARK_BYTES
from thyme.live.trust.identity import Identity

KEY_BYTES = 32
REPEATED = "repeated"
TOO_OLD = "too old"
LONG_BYTES = 2_048
"""A longer frame is hashed before it is marked, which processors do twice as fast as to mark it."""


def session_key(identity: Identity, session: int, public: bytes, other: int) -> bytes | None:
    """The key that a node shares with the holder of a public key; None if that is no key."""
    secret = identity.shared_with(public)
    if secret is None:
        return None
    both = sorted(((identity.public, session), (public, other)))
    text = b"".join(key + number.to_bytes(8, "big") for key, number in both)
    return blake2b(text, digest_size=KEY_BYTES, key=secret, person=b"thyme session").digest()


def mark_of(content: bytes, key: bytes) -> bytes:
    """Of a frame without its mark: keyed BLAKE2b."""
    if len(content) > LONG_BYTES:
        return blake2b(sha256(content).digest(), digest_size=MARK_BYTES, key=key, person=b"thyme long").digest()
    return blake2b(content, digest_size=MARK_BYTES, key=key).digest()


def is_marked(opened: bytes, key: bytes) -> bool:
    """Whether a frame, as it was under its seal, ends with the right mark."""
    return compare_digest(mark_of(opened[:-MARK_BYTES], key), opened[-MARK_BYTES:])


class Window:
    """Which of a sender's latest numbers have come: a bit for each."""

    def __init__(self, size: int) -> None:
        self._size = max(8, size - size % 8)
        self._seen = bytearray(self._size // 8)
        self._highest = -1

    def judge(self, number: int) -> str:
        """Nothing if the number is new, or why it is not."""
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
        """Bytes at a time: a peer that jumps far ahead, again and again, must not cost more than one that does not."""
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
