"""Holdings: what a member keeps on behalf of its cell (Thyme FGCS §6.1–6.4).

Metadata and shares of subscriptions (`parts`) are kept under their home: the cell that a tag or a conjunction key
hashes to. That is the member's own cell, or an empty cell for which its cell is the proxy (§6.6.2). All homes share one
matching index, since an object and a subscription that meet here match whatever their homes are. Objects are what the
cell replicates actively for its owners; their home is the cell in which they were inserted. What was deleted has homes
too: whoever stands in for a cell gives all of it back when the cell fills. All of it is also in the host's store
(`items`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from thyme.approaches.contents import Contents
from thyme.approaches.dcs.items import Items, told_bytes
from thyme.approaches.dcs.keys import merged, with_replica
from thyme.approaches.dcs.options import CellStorageOptions
from thyme.approaches.dcs.parts import Parts
from thyme.approaches.digests import BUCKETS, Digests, item_number
from thyme.approaches.expiries import Watch, expires_never
from thyme.approaches.marks import Marks
from thyme.host import Host
from thyme.model.bounded import Bounded
from thyme.model.ids import CellId, ObjectKey
from thyme.model.matching import MatchingIndex, MatchingLimits
from thyme.model.objects import Content, DataObject, Metadata, Replica
from thyme.model.subscriptions import Subscription
from thyme.wire.cells import WHOLE_CELL, CellState, Deleted, Held

LET_GO = "object let go of"


class Holdings:
    """A member's copy of its cell's state."""

    def __init__(
        self, host: Host, contents: Contents, options: CellStorageOptions, watch: Watch = expires_never
    ) -> None:
        self._watch = watch
        self._contents = contents
        self._let_go = Marks(host, LET_GO, options.limits.deletions)
        """Objects that count as held though their bytes had to make room."""
        self._options = options
        self._items = Items(host.store)
        self._missing_bytes = host.codec.missing_bytes
        self._items.describe("held", lambda key, home: CellState(held=(self._held(key, home),)))
        self._items.describe("object", self.object_state)
        self._items.describe("deleted", lambda key, home: CellState(deleted=(Deleted(home, key),)))
        self.index = MatchingIndex(MatchingLimits(tombstones=options.limits.deletions))
        self.parts = Parts(self._items, self.index, options.revoked, host.now)
        self._homes: dict[ObjectKey, dict[CellId, None]] = {}
        self._objects: dict[ObjectKey, Metadata] = {}
        self._deleted: Bounded[ObjectKey, dict[CellId, None]] = Bounded(
            self.index.limits.tombstones, parting=self._forget_deleted
        )
        """Deleted objects, with the homes that have to know."""
        self._all_homes: list[CellId] = []
        self._homes_after = 0
        """After so many changes of what is held, its homes were these."""

    @property
    def digests(self) -> Digests:
        return self._items.digests

    def restore(self, cell: CellId) -> list[Metadata]:
        """Take up what was held for `cell` before a restart. What was held for another cell is carried along where
        walkers serve, for this node may have been the only holder, and dropped otherwise. The objects among what is
        dropped, whose contents are still here, for this node may keep them for itself."""
        mine, others = self._items.take_saved(cell)
        if self._options.walkers:
            mine, others = mine + others, []
        for state in mine:
            self._restore_item(state)
        return [thing.metadata for state in others for thing in state.objects]

    def belong_to(self, cell: CellId) -> None:
        """This node works for a cell from now on: whatever it holds, some of it carried along, is for that one."""
        self._items.belong_to(cell)

    def clear_saved(self) -> None:
        """Forget on disk what is no longer wanted in memory either."""
        self._items.clear_saved()

    def put(self, held: Held) -> tuple[bool, list[Subscription]]:
        """Keep metadata for a home; whether that is news, and the subscriptions that it matches for the first time."""
        key = held.metadata.key
        if self.index.deleted(key) or not self._watch(held.metadata):
            return False, []
        homes = self._homes.get(key)
        if homes is not None and held.home in homes:
            self._merge_replicas(held.metadata)
            return False, []
        matching = self.index.insert(held.metadata)
        saved = None
        if homes is None:  # nothing is known of it but this
            homes, saved = self._homes.setdefault(key, {}), CellState(held=(held,))
        homes[held.home] = None
        self._items.note(item_number("held", key, held.home), "held", key, held.home, saved=saved)
        return True, matching

    def put_object(self, metadata: Metadata, data: Content) -> None:
        """Keep an object's bytes for its owner's cell."""
        if self._is_new(metadata) and self._contents.keep(metadata, data):
            self._note_object(metadata)

    def put_own(self, metadata: Metadata) -> None:
        """As `put_object`, where this node has just kept the bytes for its user."""
        if self._is_new(metadata):
            self._note_object(metadata)

    def _is_new(self, metadata: Metadata) -> bool:
        key = metadata.key
        return key not in self._objects and not self.index.deleted(key) and self._watch(metadata)

    def _note_object(self, metadata: Metadata) -> None:
        key = metadata.key
        self._objects[key] = metadata
        number, saved = item_number("object", key), CellState(objects=(DataObject(metadata, b""),))
        self._items.note(number, "object", key, saved=saved)

    def delete(self, deleted: Deleted) -> bool:
        """Forget an object for good; False if its home knew."""
        key, home = deleted.key, deleted.home
        homes = self._deleted.get(key)
        if homes is None:
            homes = self._deleted[key] = {}
        if home in homes:
            return False
        self.expire(key)
        self.index.delete(key)
        homes[home] = None
        self._items.note(item_number("deleted", key, home), "deleted", key, home)
        return True

    def expire(self, key: ObjectKey) -> None:
        """Keep nothing of an object any more, for any home."""
        for home in self._homes.pop(key, {}):
            self._items.forget(item_number("held", key, home))
        self.index.withdraw(key)
        self.drop_object(key)

    def deletion(self, key: ObjectKey) -> Deleted | None:
        """That an object was deleted, for one of the homes that know; None if none does."""
        home = next(iter(self._deleted.get(key, ())), None)
        return None if home is None else Deleted(home, key)

    def drop_object(self, key: ObjectKey) -> None:
        if self._objects.pop(key, None) is not None:
            self._contents.drop(key)
            self._items.forget(item_number("object", key))

    def add_replica(self, key: ObjectKey, replica: Replica) -> bool:
        """A further copy of an object; False if its metadata is not here."""
        metadata = self.index.get(key)
        if metadata is None:
            return False
        replicas = with_replica(metadata.replicas, replica, self._options.replication_list)
        self.index.replace(msgspec.structs.replace(metadata, replicas=replicas))
        return True

    def object_state(self, key: ObjectKey) -> CellState:
        """An object that is kept here, with its data if it is small."""
        return CellState(objects=(self._object(key),))

    def let_go(self, key: ObjectKey) -> None:
        """Make room: drop an object's bytes, and count it as held, so that members do not give it back. Who asks for it
        is sent on to them."""
        self._let_go.add(str(key))
        self._contents.drop(key)

    def lacks(self, key: ObjectKey) -> bool:
        """Whether the bytes of an object that counts as held had to make room."""
        return key in self._objects and not self._contents.has(key)

    def has_object(self, key: ObjectKey) -> bool:
        return key in self._objects

    def objects(self) -> Iterator[Metadata]:
        return iter(self._objects.values())

    def object(self, key: ObjectKey) -> Metadata | None:
        return self._objects.get(key)

    def homes(self) -> list[CellId]:
        """All homes for which something is kept here, in the order of their numbers."""
        if self._homes_after != self._items.changes:
            self._homes_after, self._all_homes = self._items.changes, self._find_homes()
        return list(self._all_homes)

    def _find_homes(self) -> list[CellId]:
        homes = {home for kept in self._homes.values() for home in kept} | self.parts.homes()
        homes.update(home for kept in self._deleted.values() for home in kept)
        homes.update(home for metadata in self._objects.values() if (home := home_of(metadata)) is not None)
        return sorted(homes)

    def holds(self, key: ObjectKey, home: CellId) -> bool:
        """Whether an object's metadata is kept for a home."""
        return home in self._homes.get(key, {})

    def keeps_for(self, home: CellId) -> bool:
        """Whether metadata or a share of a subscription is kept for a home."""
        return any(home in kept for kept in self._homes.values()) or self.parts.keeps_for(home)

    def state(self, homes: Iterable[CellId] | None = None) -> Iterator[CellState]:
        """Everything, item by item; or only what is kept for some homes."""
        wanted = None if homes is None else set(homes)
        for key, gone in list(self._deleted.items()):
            for home in list(gone):
                if wanted is None or home in wanted:
                    yield CellState(deleted=(Deleted(home, key),))
        yield from self.parts.revocations(wanted)
        yield from self.parts.state(wanted)
        for key, kept in list(self._homes.items()):
            for home in list(kept):
                if wanted is None or home in wanted:
                    yield CellState(held=(self._held(key, home),))
        for key, metadata in list(self._objects.items()):
            if (wanted is None or home_of(metadata) in wanted) and self._contents.has(key):
                yield self.object_state(key)

    def page(self, after: int, theirs: bytes, size_bytes: int) -> tuple[list[CellState], int, bool]:
        """What every member is to hold, in the order of the items' numbers: items after a number, of about `size_bytes`
        together; the number of the last one, and whether there are more. Nothing of those buckets in which another's
        digests, if given, are the same as here."""
        digests = self._items.digests
        buckets = digests.differing(theirs) if theirs else range(BUCKETS)
        items: list[CellState] = []
        last, room = after, size_bytes
        for number in sorted(number for number in digests.items(buckets) if number > after):
            item = self._items.get(number)
            assert item is not None, "a number that counts in the digests is of an item"
            room -= told_bytes(item, self._missing_bytes)
            if items and room < 0:
                return items, last, True
            items.append(item)
            last = number
        return items, last, False

    def summary(self, home: CellId) -> bytes:
        """What is kept for a home, in the few bytes of a digest."""
        kept = Digests()
        for number in self._numbers(home):
            kept.add(number)
        return kept.beacon()

    def item(self, number: int) -> CellState | None:
        """One item by its number, for a member that misses it."""
        return self._items.get(number)

    def release(self, homes: Iterable[CellId]) -> list[Metadata]:
        """Forget what is kept for some homes: another cell keeps it now. The objects among it, whose contents are still
        here, for this node may keep them for itself."""
        gone = set(homes)
        for key, kept in list(self._homes.items()):
            for home in [home for home in kept if home in gone]:
                del kept[home]
                self._items.forget(item_number("held", key, home))
            if not kept:
                del self._homes[key]
                self.index.withdraw(key)
        self.parts.release(gone)
        for key, known in self._deleted.items():
            for home in [home for home in known if home in gone]:
                del known[home]
                self._items.forget(item_number("deleted", key, home))
        released = [metadata for metadata in self._objects.values() if home_of(metadata) in gone]
        for metadata in released:
            del self._objects[metadata.key]
            self._items.forget(item_number("object", metadata.key))
        return released

    def sizes(self, copies: Iterable[Metadata] = ()) -> Iterator[tuple[str, int, int]]:
        """What is held and how much, with the copies of which this node is a holder."""
        metadata = [len(msgspec.msgpack.encode(m)) for m in self.index.objects()]
        yield "metadata", len(metadata), sum(metadata)
        subscriptions = [len(msgspec.msgpack.encode(s)) for s in self.index.subscriptions()]
        yield "subscriptions", len(subscriptions), sum(subscriptions)
        objects = [m.size_bytes for m in {**self._objects, **{copy.key: copy for copy in copies}}.values()]
        yield "objects", len(objects), sum(objects)

    def _numbers(self, home: CellId) -> Iterator[int]:
        yield from self.parts.numbers(home)
        for key, gone in self._deleted.items():
            if home in gone:
                yield item_number("deleted", key, home)
        for key, kept in self._homes.items():
            if home in kept:
                yield item_number("held", key, home)
        for key, metadata in self._objects.items():
            if home_of(metadata) == home:
                yield item_number("object", key)

    def _forget_deleted(self, key: ObjectKey, homes: dict[CellId, None]) -> None:
        for home in homes:
            self._items.forget(item_number("deleted", key, home))

    def _held(self, key: ObjectKey, home: CellId) -> Held:
        metadata = self.index.get(key)
        assert metadata is not None, "an item that is noted is held"
        return Held(home, metadata)

    def _object(self, key: ObjectKey) -> DataObject:
        metadata = self._objects[key]
        small = metadata.size_bytes <= self._options.contents.part_bytes
        return DataObject(metadata, self._contents.read_small(metadata) if small else b"")

    def _merge_replicas(self, newer: Metadata) -> None:
        known = self.index.get(newer.key)
        if known is None:
            return
        replicas = merged(known.replicas, newer.replicas, self._options.replication_list)
        if replicas != known.replicas:
            self.index.replace(msgspec.structs.replace(known, replicas=replicas))

    def _restore_item(self, state: CellState) -> None:
        for held in state.held:
            self.put(held)
        for part in state.parts:
            self.parts.put(part)
        for deleted in state.deleted:
            self.delete(deleted)
        for revoked in state.revoked:
            self.parts.revoke(revoked)
        for thing in state.objects:
            key = thing.metadata.key
            if (self._contents.has(key) or str(key) in self._let_go) and self._is_new(thing.metadata):
                self._note_object(thing.metadata)


def homes_in(state: CellState) -> set[CellId]:
    """The cells that a state is for."""
    homes = {item.home for items in (state.held, state.parts, state.deleted, state.revoked) for item in items}
    return homes | {home for thing in state.objects if (home := home_of(thing.metadata)) is not None}


def home_of(metadata: Metadata) -> CellId | None:
    """The cell that keeps an object's active replica; None if only single nodes keep it."""
    return next((replica.cell for replica in metadata.replicas if replica.node == WHOLE_CELL), None)
