"""The objects that a node keeps as its own: its user's, and those it retrieved (Thyme FGCS §6.2.2, §6.6.3).

They go with the node from cell to cell. What it keeps on behalf of a cell is a matter of `holdings`.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from thyme.host import Host
from thyme.model.ids import ObjectKey
from thyme.model.objects import Metadata

OWN = "own object"
REPLICA = "replica"
_metadata = msgspec.msgpack.Decoder(Metadata)


class Copies:
    """The metadata of one node's own copies, in its store."""

    def __init__(self, host: Host) -> None:
        self._node = host.node
        self._store = host.store
        self.changes = 0
        """How often a copy was put here or removed."""

    def __iter__(self) -> Iterator[Metadata]:
        for kind in (OWN, REPLICA):
            for _, value in self._store.items(kind):
                yield _metadata.decode(value)

    def owned(self) -> Iterator[Metadata]:
        """Those of this node's user."""
        return (_metadata.decode(value) for _, value in self._store.items(OWN))

    def __contains__(self, key: ObjectKey) -> bool:
        own = key.owner == self._node and self._store.get(OWN, key.oid) is not None
        return own or self._store.get(REPLICA, str(key)) is not None

    def own(self, oid: str) -> Metadata | None:
        """An object that this node inserted and has not deleted."""
        value = self._store.get(OWN, oid)
        return _metadata.decode(value) if value is not None else None

    def put_own(self, metadata: Metadata) -> None:
        self.changes += 1
        self._store.put(OWN, metadata.key.oid, msgspec.msgpack.encode(metadata))

    def remove_own(self, oid: str) -> None:
        self.changes += 1
        self._store.remove(OWN, oid)

    def retrieved(self) -> Iterator[Metadata]:
        return (_metadata.decode(value) for _, value in self._store.items(REPLICA))

    def remove_retrieved(self, key: ObjectKey) -> None:
        self.changes += 1
        self._store.remove(REPLICA, str(key))

    def put_retrieved(self, metadata: Metadata) -> None:
        self.changes += 1
        self._store.put(REPLICA, str(metadata.key), msgspec.msgpack.encode(metadata))
