"""The buffer of a carrier, and the memory of the last λ messages received (SocialCast §II, §III).

A publisher puts γ numbered copies of a message into its buffer, and each of them travels on its own, so a buffer
holds copies: of one message, several at its publisher and usually one at any other carrier. A full buffer lets go
of the copy that it has held longest. Copies survive a restart in the host's store, those on offer to another carrier
included; what has expired meanwhile does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from thyme.host import Host
from thyme.model.bounded import Bounded
from thyme.model.objects import Metadata
from thyme.wire.socialcast import Data, identifier

KIND = "socialcast copy"


class BufferedMessage:
    """A message in the buffer, with the hops that each of its copies has made."""

    __slots__ = ("content", "copies", "expires_s", "id", "metadata")

    def __init__(self, id_: int, metadata: Metadata, content: bytes, expires_s: float | None) -> None:
        self.id = id_
        self.metadata = metadata
        self.content = content
        self.expires_s = expires_s
        self.copies: dict[int, int] = {}

    def data(self, hops: int, copies: tuple[int, ...] = ()) -> Data:
        return Data(self.metadata, self.content, hops, copies, self.expires_s)


class StoredCopy(msgspec.Struct, frozen=True, array_like=True):
    """A copy as the host's store keeps it."""

    metadata: Metadata
    content: bytes
    expires_s: float | None
    hops: int


_decoder = msgspec.msgpack.Decoder(StoredCopy)


class Buffer:
    """Copies that this node carries, at most `maximum`."""

    def __init__(self, host: Host, maximum: int) -> None:
        self._host = host
        self._maximum = maximum
        self._held: dict[int, BufferedMessage] = {}
        self._order: dict[tuple[int, int], None] = {}
        self.pushed_out = 0
        for name, value in host.store.items(KIND):
            stored = _decoder.decode(value)
            if stored.expires_s is not None and stored.expires_s <= host.now():
                host.store.remove(KIND, name)
                continue
            data = Data(stored.metadata, stored.content, stored.hops, (int(name.partition("/")[2]),), stored.expires_s)
            self.add(data, data.copies, data.hops)

    def __len__(self) -> int:
        return len(self._order)

    def __iter__(self) -> Iterator[BufferedMessage]:
        return iter(list(self._held.values()))

    @property
    def size_bytes(self) -> int:
        return sum(len(held.copies) * len(held.content) for held in self._held.values())

    def get(self, id_: int) -> BufferedMessage | None:
        return self._held.get(id_)

    def add(self, data: Data, copies: Iterable[int], hops: int) -> None:
        """Carry these copies from now on; one that is here already stays as it is."""
        id_ = identifier(data.metadata.key)
        held = self._held.get(id_)
        if held is None:
            held = self._held[id_] = BufferedMessage(id_, data.metadata, data.content, data.expires_s)
        for copy in copies:
            if copy in held.copies:
                continue
            held.copies[copy] = hops
            self._order[(id_, copy)] = None
            self._put(held, copy)
        while len(self._order) > self._maximum:
            self.pushed_out += 1
            self.remove(*next(iter(self._order)))

    def remove(self, id_: int, copy: int) -> None:
        if self.lend(id_, copy):
            self.let_go(id_, copy)

    def lend(self, id_: int, copy: int) -> bool:
        """Take a copy out, to be added again or dropped; a restart in between puts it back. False if it is not
        stored."""
        held = self._held.get(id_)
        if held is None or held.copies.pop(copy, None) is None:
            return False
        del self._order[(id_, copy)]
        if not held.copies:
            del self._held[id_]
        return True

    def let_go(self, id_: int, copy: int) -> None:
        """A copy that was lent is not coming back."""
        self._host.store.remove(KIND, f"{id_}/{copy}")

    def _put(self, held: BufferedMessage, copy: int) -> None:
        stored = StoredCopy(held.metadata, held.content, held.expires_s, held.copies[copy])
        self._host.store.put(KIND, f"{held.id}/{copy}", msgspec.msgpack.encode(stored))

    def expire(self, now_s: float) -> None:
        """Let go of messages whose publisher's time limit has passed."""
        for held in list(self._held.values()):
            if held.expires_s is not None and held.expires_s <= now_s:
                for copy in list(held.copies):
                    self.remove(held.id, copy)


class RecentMessages:
    """The last λ messages that this node received or published, oldest first."""

    def __init__(self, maximum: int) -> None:
        self._ids: Bounded[int, None] = Bounded(maximum, renewing=True)
        self._told: tuple[int, ...] | None = ()

    def add(self, id_: int) -> None:
        self._ids[id_] = None
        self._told = None

    def told(self) -> tuple[int, ...]:
        """For the control message; the same tuple as long as nothing changes."""
        if self._told is None:
            self._told = tuple(self._ids)
        return self._told
