"""The directory: open namespaces nearby, as their members announce them.

Announcements are sealed by their namespace, so nobody else can read them. Members of an open namespace therefore also
announce its name, approach and area under a key that everybody knows. Of a closed one, 16 bits of a hash of its name
are announced, so that two devices with the same name and different passphrases can say so. Entries are bounded, used
only as a list to choose from, and forgotten when they are not announced any more.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from hashlib import blake2b
from typing import Any

import msgspec

from thyme.live.link.sealing import FrameError, Seal
from thyme.live.link.timers import Timers
from thyme.live.trust.namespaces import MAX_NAME_CHARS, Namespace
from thyme.model.bounded import Bounded

logger = logging.getLogger("thyme.live")

SAME_NAME = (
    "a namespace of the same name and with another passphrase or invitation is near: compare it with the others' "
    "(thyme namespace list, thyme namespace invite NAME)"
)
HINT_BYTES = 2
"""Of the hash of a name: too few to reveal a name, enough to distinguish most names."""
NUMBER_BITS = 32
MAX_AROUND = 100
MAX_ENTRY_BYTES = 400
KEPT_S = 10.0
"""Three announcements may be lost."""


class NearbyNamespace(msgspec.Struct, frozen=True, array_like=True):
    """An open namespace with a member nearby."""

    name: str
    approach: str
    settings: dict[str, Any] = {}
    hint: bytes = b""
    """Of the name; a closed namespace has nothing else here, …"""
    number: int = 0
    """… and part of its number, which tells secrets apart."""


_decoder = msgspec.msgpack.Decoder(NearbyNamespace)


class Directory:
    def __init__(self, timers: Timers, entropy: Callable[[int], bytes]) -> None:
        everybody = Namespace.open("thyme directory")
        self._seal = Seal(everybody.number, everybody.frame_key, entropy)
        self._timers = timers
        self._around: Bounded[str, tuple[NearbyNamespace, float]] = Bounded(MAX_AROUND, renewing=True)
        self.own: NearbyNamespace | None = None
        self._expected: NearbyNamespace | None = None
        self._ours: set[int] = set()
        """Numbers of this node's namespace: of its key, and of those before that members may still use."""
        self._mistaken_s: float | None = None

    def expect(self, namespace: Namespace) -> None:
        """This node shares in this namespace."""
        hint = blake2b(namespace.name.encode(), digest_size=HINT_BYTES, person=b"thyme hint").digest()
        self._expected = NearbyNamespace("", "", {}, hint, namespace.number % 2**NUMBER_BITS)
        self._ours.add(self._expected.number)
        self._mistaken_s = None

    def forget_keys(self) -> None:
        """Others that use a key which this node used before are no members any more."""
        self._ours.clear()

    def announce(self, namespace: Namespace, approach: str, settings: dict[str, Any]) -> None:
        """Announce it, as far as it is open."""
        self.expect(namespace)
        assert self._expected is not None
        named = {} if namespace.closed else {"name": namespace.name, "approach": approach, "settings": settings}
        self.own = msgspec.structs.replace(self._expected, **named)

    def mistaken(self) -> bool:
        """Whether a namespace of the same name and with another secret is near."""
        return self._mistaken_s is not None and self._timers.now_s - self._mistaken_s <= KEPT_S

    def announcement(self) -> bytes:
        """The entry of this node's namespace; nothing if it is not announced."""
        if self.own is None:
            return b""
        entry = msgspec.msgpack.encode(self.own)
        if len(entry) > MAX_ENTRY_BYTES:  # others learn the settings otherwise
            entry = msgspec.msgpack.encode(msgspec.structs.replace(self.own, settings={}))
        return self._seal.close(entry)

    def receive(self, datagram: bytes) -> bool:
        """Whether it was an entry."""
        try:
            entry = _decoder.decode(self._seal.open(datagram))
        except (FrameError, msgspec.MsgspecError):
            return False
        if 0 < len(entry.name) <= MAX_NAME_CHARS and entry.name.isprintable():
            self._around[entry.name] = (entry, self._timers.now_s)
        mine = self._expected
        if mine is not None and entry.hint == mine.hint and entry.number not in self._ours:
            if self._mistaken_s is None:
                logger.warning("namespaces: %s", SAME_NAME)
            self._mistaken_s = self._timers.now_s
        return True

    def around(self) -> list[NearbyNamespace]:
        oldest_s = self._timers.now_s - KEPT_S
        return [entry for entry, at_s in self._around.values() if at_s >= oldest_s]
