"""Partial contents (drafts): large contents that are still being fetched, or written by the application.

The bytes are stored at their final place, and a record marks them as a draft. The record does not list the chunks that
are present: after a restart each chunk is compared with its digest, so a torn or lost write only means that this chunk
is fetched again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from hashlib import sha256

import msgspec

from thyme.approaches.eviction import Evictable, Rank
from thyme.host import Store
from thyme.model.chunks import DIGEST_BYTES, chunk_count, chunk_range, list_bytes, root_of
from thyme.model.ids import NodeId, ObjectKey
from thyme.model.objects import Metadata

KIND = "draft"
MAX_DRAFTS = 16
"""In one store; beyond that, the one that was begun first makes room."""


def list_key(key: ObjectKey) -> str:
    """Where the list of chunks lies; no key of an object ends like this."""
    return f"{key}#chunks"


def drop_draft(store: Store, key: ObjectKey) -> None:
    """Forget a content that nobody keeps; one that is kept stays."""
    if store.get(KIND, str(key)) is not None:
        store.discard(str(key))
        store.discard(list_key(key))
        store.remove(KIND, str(key))


class _Begun(msgspec.Struct, frozen=True, array_like=True):
    """What the record of a draft says. The first two are those of `InStore`."""

    size_bytes: int
    digest: bytes
    begun_s: float = 0.0


_begun = msgspec.msgpack.Decoder(_Begun)


def evictable_drafts(store: Store, busy: Callable[[ObjectKey], bool]) -> Iterator[Evictable]:
    """The drafts that nobody is busy with."""
    for name, value in store.items(KIND):
        key = key_of_draft(name)
        if not busy(key):
            size_bytes = store.size(name) + store.size(list_key(key))
            yield Evictable(key, Rank.DRAFT, size_bytes, _begun.decode(value).begun_s, partial(drop_draft, store, key))


def key_of_draft(name: str) -> ObjectKey:
    oid, _, owner = name.rpartition("@")
    return ObjectKey(oid, NodeId(int(owner)))


class PartialContent:
    """The draft of one content of several chunks."""

    def __init__(self, store: Store, metadata: Metadata) -> None:
        self._store = store
        self._key = metadata.key
        self._digest = metadata.digest
        self.size_bytes = metadata.size_bytes
        self.listed = b""
        """The list of chunks, when it is known."""

    def begin(self, now_s: float) -> None:
        """Open an existing partial content, or make room for a new one."""
        store, key = self._store, str(self._key)
        value = store.get(KIND, key)
        before = None if value is None else _begun.decode(value)
        if before is None or (before.size_bytes, before.digest) != (self.size_bytes, self._digest):
            store.discard(key)
            store.discard(list_key(self._key))
            store.put(KIND, key, msgspec.msgpack.encode(_Begun(self.size_bytes, self._digest, now_s)))
            return
        listed = store.read(list_key(self._key), 0, list_bytes(self.size_bytes))
        if root_of(listed) == self._digest:
            self.listed = listed

    @property
    def begun(self) -> bool:
        """Whether some of it may be there."""
        return self._store.size(str(self._key)) > 0

    @property
    def chunks(self) -> int:
        return chunk_count(self.size_bytes)

    def take_list(self, listed: bytes) -> None:
        self.listed = listed
        self._store.write(list_key(self._key), 0, listed, lambda: None)

    def digest_of(self, number: int) -> bytes:
        return self.listed[number * DIGEST_BYTES : (number + 1) * DIGEST_BYTES]

    def has(self, number: int) -> bool:
        """Whether this chunk is complete and has the right digest."""
        begins, length = chunk_range(number, self.size_bytes)
        return sha256(self._store.read(str(self._key), begins, length)).digest() == self.digest_of(number)
