"""The objects that a node inserted or was notified of: they can be listed, and retrieved by key
alone, also after a restart."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

import msgspec

from thyme.host import Store, StoreFull
from thyme.model.ids import ObjectKey
from thyme.model.objects import Metadata

KIND = "known object"
_encode = msgspec.msgpack.Encoder().encode
MAX_KNOWN_OBJECTS = 10_000
"""Beyond that, those known longest are forgotten, …"""
SHARE = 100
"""… this part of them together: to look for the oldest each time would take as long as to be notified."""


class KnownObjects:
    """In the order in which they became known, each also a record in the node's store while there is one."""

    def __init__(self) -> None:
        self._known: dict[ObjectKey, Metadata] = {}
        self._store: Store | None = None

    def keep_in(self, store: Store) -> None:
        """The node has this store from now on; what it knows from before is known again."""
        self._store = None
        for _, value in store.items(KIND):
            metadata = msgspec.msgpack.decode(value, type=Metadata)
            self._known[metadata.key] = metadata
        self._store = store
        self._make_room()

    def list(self) -> list[Metadata]:
        return list(self._known.values())

    def get(self, key: ObjectKey) -> Metadata | None:
        return self._known.get(key)

    def note_all(self, objects: Iterable[Metadata]) -> None:
        """As `note`, of objects that became known together."""
        if self._store is not None:
            for metadata in objects:
                self.note(metadata)
            return
        known = self._known
        for metadata in objects:
            known[metadata.key] = metadata
        if len(known) > MAX_KNOWN_OBJECTS:
            self._make_room()

    def note(self, metadata: Metadata) -> None:
        known = self._known.get(metadata.key)
        if known is not None and known == metadata:
            return
        self._known[metadata.key] = metadata
        if len(self._known) > MAX_KNOWN_OBJECTS:
            self._make_room()
        if self._store is not None:
            try:
                self._store.put(KIND, str(metadata.key), _encode(metadata))
            except StoreFull:
                return  # the disk is full: it is known until the next restart

    def forget(self, key: ObjectKey) -> None:
        if self._known.pop(key, None) is not None and self._store is not None:
            self._store.remove(KIND, str(key))

    def _make_room(self) -> None:
        excess = len(self._known) - MAX_KNOWN_OBJECTS
        if excess > 0:
            for key in [*islice(self._known, excess + MAX_KNOWN_OBJECTS // SHARE)]:
                if self._store is None:
                    del self._known[key]
                else:
                    self.forget(key)
