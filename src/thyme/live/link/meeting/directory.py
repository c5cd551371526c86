"""The directory: which open namespaces there are around, as their members say.

Announcements are sealed by their namespace, so nobody else can read them. So that an open one can be found by who does
not know its name, its members say that, the approach and the area by a seal that everybody can break. Nothing is said
of closed ones. What is heard is bounded, believed for nothing but a list to choose from, and forgotten when it is not
said any more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from thyme.live.link.sealing import FrameError, Seal
from thyme.live.trust.namespaces import MAX_NAME_CHARS, Namespace
from thyme.model.bounded import Bounded

MAX_AROUND = 100
MAX_ENTRY_BYTES = 400
KEPT_S = 10.0
"""Three announcements may be lost."""


class Entry(msgspec.Struct, frozen=True, array_like=True):
    """An open namespace that somebody near shares in."""

    name: str
    approach: str
    settings: dict[str, Any] = {}


_decoder = msgspec.msgpack.Decoder(Entry)


class Directory:
    def __init__(self, now: Callable[[], float]) -> None:
        everybody = Namespace.open("thyme directory")
        self._seal = Seal(everybody.number, everybody.frame_key)
        self._now = now
        self._around: Bounded[str, tuple[Entry, float]] = Bounded(MAX_AROUND, renewing=True)
        self.own: Entry | None = None

    def announcement(self) -> bytes:
        """What a member of an open namespace says; nothing if this node is not one."""
        if self.own is None:
            return b""
        entry = msgspec.msgpack.encode(self.own)
        if len(entry) > MAX_ENTRY_BYTES:  # who joins is told the settings otherwise
            entry = msgspec.msgpack.encode(Entry(self.own.name, self.own.approach))
        return self._seal.close(entry)

    def hear(self, datagram: bytes) -> bool:
        """Whether it was an entry."""
        try:
            entry = _decoder.decode(self._seal.open(datagram))
        except (FrameError, msgspec.MsgspecError):
            return False
        if 0 < len(entry.name) <= MAX_NAME_CHARS and entry.name.isprintable():
            self._around[entry.name] = (entry, self._now())
        return True

    def around(self) -> list[Entry]:
        oldest_s = self._now() - KEPT_S
        return [entry for entry, at_s in self._around.values() if at_s >= oldest_s]
