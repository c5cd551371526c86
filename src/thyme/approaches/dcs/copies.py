"""The objects that a node keeps as its own: its user's, and those it retrieved (Thyme FGCS §6.2.2, §6.6.3).

They go with the node from cell to cell. What it keeps on behalf of a cell is a matter of `holdings`. Their metadata,
with the owner's signature where there are any, can be given to a cell that lost it, and so can the deletions of own
objects: else somebody's copy could bring one back.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from thyme.approaches.partial_contents import key_of_draft
from thyme.host import Host
from thyme.model.bounded import Bounded
from thyme.model.ids import ObjectKey
from thyme.model.objects import Metadata, Replica

OWN = "own object"
REPLICA = "replica"
DELETED = "deleted own object"
HELD = "held object"
MAX_DELETED = 1_000
"""Deleted own objects of which cells can be reminded; the oldest are forgotten."""
_metadata = msgspec.msgpack.Decoder(Metadata)
_replicas = msgspec.msgpack.Decoder(tuple[Replica, ...])


class Copies:
    """The metadata of one node's own copies, in its store."""

    def __init__(self, host: Host) -> None:
        self._node = host.node
        self._store = host.store
        self._deleted: Bounded[str, None] = Bounded(MAX_DELETED, parting=self._forget_deleted)
        for oid, _ in self._store.items(DELETED):
            self._deleted[oid] = None
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

    def deleted(self) -> Iterator[Metadata]:
        """Those that this node's user deleted."""
        return (_metadata.decode(value) for _, value in self._store.items(DELETED))

    def get(self, key: ObjectKey) -> Metadata | None:
        value = self._store.get(REPLICA, str(key))
        own = self.own(key.oid) if key.owner == self._node else None
        return own if value is None else _metadata.decode(value)

    def hold(self, key: ObjectKey, asked: tuple[Replica, ...] = ()) -> None:
        """This node has a copy as one of the object's holders, and asked others to be one."""
        if asked or not self.is_held(key):
            self._store.put(HELD, str(key), msgspec.msgpack.encode(asked))

    def asked(self, key: ObjectKey) -> tuple[Replica, ...]:
        """Those that this node asked to hold an object."""
        value = self._store.get(HELD, str(key))
        return _replicas.decode(value) if value else ()

    def is_held(self, key: ObjectKey) -> bool:
        return self._store.get(HELD, str(key)) is not None

    def held(self) -> Iterator[Metadata]:
        """Those of which this node is a holder."""
        for name, _ in self._store.items(HELD):
            metadata = self.get(key_of_draft(name))
            if metadata is not None:
                yield metadata

    def renew(self, metadata: Metadata) -> None:
        """There is a newer replication list of a copy."""
        if metadata.key.owner == self._node:
            self._store.put(OWN, metadata.key.oid, msgspec.msgpack.encode(metadata))
        else:
            self._store.put(REPLICA, str(metadata.key), msgspec.msgpack.encode(metadata))

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
        self._store.remove(HELD, str(ObjectKey(oid, self._node)))

    def delete_own(self, metadata: Metadata) -> None:
        oid = metadata.key.oid
        self.remove_own(oid)
        self._deleted[oid] = None
        self._store.put(DELETED, oid, msgspec.msgpack.encode(metadata))

    def _forget_deleted(self, oid: str, _: None) -> None:
        self._store.remove(DELETED, oid)

    def retrieved(self) -> Iterator[Metadata]:
        return (_metadata.decode(value) for _, value in self._store.items(REPLICA))

    def remove_retrieved(self, key: ObjectKey) -> None:
        self.changes += 1
        self._store.remove(REPLICA, str(key))
        self._store.remove(HELD, str(key))

    def put_retrieved(self, metadata: Metadata) -> None:
        self.changes += 1
        self._store.put(REPLICA, str(metadata.key), msgspec.msgpack.encode(metadata))
