"""Holdings: what a member keeps on behalf of its cell (Thyme FGCS §6.1–6.4).

Metadata and shares of subscriptions are kept under their home: the cell that a tag or a conjunction key hashes to. That
is the member's own cell, or an empty cell for which its cell is the proxy (§6.6.2). All homes share one matching index,
since an object and a subscription that meet here match whatever their homes are. Objects are what the cell replicates
actively for its owners. All of it is also in the host's store, so that a member that was off for a while still knows
what its cell knew, even if it was the only one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import msgspec

from thyme.approaches.contents import Contents
from thyme.approaches.dcs.digests import Digests, item_number
from thyme.host import Store
from thyme.model.ids import CellId, ObjectKey, SubscriptionKey
from thyme.model.matching import MatchingIndex
from thyme.model.objects import DataObject, Metadata, Replica
from thyme.model.queries import Conjunction
from thyme.model.subscriptions import Subscription
from thyme.wire.cells import WHOLE_CELL, CellState, Held, Part

SAVED = "cell item"
SAVED_CELL = "cell of items"
_state = msgspec.msgpack.Decoder(CellState)


class Holdings:
    """A member's copy of its cell's state."""

    def __init__(
        self,
        store: Store,
        contents: Contents,
        part_bytes: int,
        replication_list: int,
        revoked: int,
        *,
        all_keep_objects: bool,
    ) -> None:
        """`all_keep_objects`: whether every member keeps the cell's objects, or only those chosen for each."""
        self._store = store
        self._all_keep_objects = all_keep_objects
        self.index = MatchingIndex()
        self.digests = Digests()
        self._contents = contents
        self._part_bytes = part_bytes
        self._replication_list = replication_list
        self._max_revoked = revoked
        self._homes: dict[ObjectKey, dict[CellId, None]] = {}
        self._parts: dict[SubscriptionKey, dict[CellId, Part]] = {}
        self._revoked: dict[SubscriptionKey, None] = {}
        self._objects: dict[ObjectKey, Metadata] = {}
        self.spread: dict[str, int] = {}
        """Hot tags of this cell, and over how many cells each is spread."""
        self._items: dict[int, Callable[[], CellState]] = {}

    def restore(self, cell: CellId) -> None:
        """Take up what was held for `cell` before a restart; what was held for another cell is dropped."""
        saved = list(self._store.items(SAVED))
        same = self._store.get(SAVED_CELL, "") == msgspec.msgpack.encode(cell)
        for name, value in saved:
            self._store.remove(SAVED, name)
            if same:
                self._restore_item(_state.decode(value))
        self._store.put(SAVED_CELL, "", msgspec.msgpack.encode(cell))

    def clear_saved(self) -> None:
        """Forget on disk what is no longer wanted in memory either."""
        for name, _ in self._store.items(SAVED):
            self._store.remove(SAVED, name)

    def put(self, held: Held) -> tuple[bool, list[Subscription]]:
        """Keep metadata for a home; whether that is news, and the subscriptions that it matches for the first time."""
        key = held.metadata.key
        if self.index.deleted(key):
            return False, []
        homes = self._homes.setdefault(key, {})
        if held.home in homes:
            self._merge_replicas(held.metadata)
            return False, []
        matching = self.index.insert(held.metadata)
        homes[held.home] = None
        self._note(item_number("held", key, held.home), lambda: CellState(held=(self._held(key, held.home),)))
        return True, matching

    def put_part(self, part: Part) -> bool:
        """Keep a share of a subscription, or its subscriber's newer place; whether that is news."""
        key = part.subscription.key
        if key in self._revoked:
            return False
        parts = self._parts.setdefault(key, {})
        known = parts.get(part.home)
        if known is not None and (known.told_s >= part.told_s or known.cell == part.cell):
            return False
        if known is not None:
            self._forget(_part_number(known))
        parts[part.home] = part
        self._note(_part_number(part), lambda: CellState(parts=(self._parts[key][part.home],)))
        if known is None:
            self._index_subscription(key)
        return True

    def put_object(self, metadata: Metadata, data: bytes) -> None:
        """Keep an object's bytes for its owner's cell."""
        key = metadata.key
        if self.index.deleted(key) or key in self._objects:
            return
        self._contents.keep(key, data)
        self._objects[key] = metadata
        number = item_number("object", key)
        self._note(number, lambda: CellState(objects=(self._object(key),)))
        if not self._all_keep_objects:
            self.digests.remove(number)

    def delete(self, key: ObjectKey) -> bool:
        """Forget an object's metadata for good; False if it was deleted before."""
        if self.index.deleted(key):
            return False
        for home in self._homes.pop(key, {}):
            self._forget(item_number("held", key, home))
        self.index.delete(key)
        self._note(item_number("deleted", key), lambda: CellState(deleted=(key,)))
        self.drop_object(key)
        return True

    def spread_tag(self, tag: str, cells: int) -> bool:
        """A tag of this cell is hot; False if that was known."""
        if tag in self.spread:
            return False
        self.spread[tag] = cells
        self._note(item_number("spread", tag), lambda: CellState(spread=((tag, self.spread[tag]),)))
        return True

    def drop_object(self, key: ObjectKey) -> None:
        if self._objects.pop(key, None) is not None:
            self._contents.drop(key)
            self._forget(item_number("object", key))

    def revoke(self, key: SubscriptionKey) -> bool:
        """Forget a subscription for good; False if it was revoked before."""
        if key in self._revoked:
            return False
        for part in self._parts.pop(key, {}).values():
            self._forget(_part_number(part))
        self.index.unsubscribe(key)
        self._revoked[key] = None
        self._note(item_number("revoked", key), lambda: CellState(revoked=(key,)))
        if len(self._revoked) > self._max_revoked:
            oldest = next(iter(self._revoked))
            del self._revoked[oldest]
            self._forget(item_number("revoked", oldest))
        return True

    def move_subscriber(self, key: SubscriptionKey, cell: CellId, told_s: float) -> bool:
        """The subscriber is in another cell now; False if it has no subscription here or this is old news."""
        moved = False
        for part in list(self._parts.get(key, {}).values()):
            moved |= self.put_part(msgspec.structs.replace(part, cell=cell, told_s=told_s))
        return moved

    def add_replica(self, key: ObjectKey, replica: Replica) -> bool:
        metadata = self.index.get(key)
        if metadata is None:
            return False
        self.index.replace(msgspec.structs.replace(metadata, replicas=self._with(metadata.replicas, replica)))
        return True

    def parts_about(self, tag: str, home: CellId) -> list[Part]:
        """The shares kept for a home that a tag's objects could match."""
        parts = [kept[home] for kept in self._parts.values() if home in kept]
        return [part for part in parts if any(tag in c.positive for c in part.subscription.conjunctions)]

    def part(self, key: SubscriptionKey, home: CellId) -> Part | None:
        return self._parts.get(key, {}).get(home)

    def place_of(self, key: SubscriptionKey) -> CellId | None:
        """Where the subscriber was last said to be."""
        parts = self._parts.get(key)
        return max(parts.values(), key=lambda part: part.told_s).cell if parts else None

    def has_object(self, key: ObjectKey) -> bool:
        return key in self._objects

    def objects(self) -> Iterator[Metadata]:
        return iter(self._objects.values())

    def homes(self) -> list[CellId]:
        """All homes for which something is kept here, in the order of their numbers."""
        homes = {home for kept in self._homes.values() for home in kept}
        homes.update(home for parts in self._parts.values() for home in parts)
        return sorted(homes)

    def common_state(self) -> Iterator[CellState]:
        """What every member of the cell is to hold."""
        for piece in self.state():
            if self._all_keep_objects or not piece.objects:
                yield piece

    def state(self, homes: Iterable[CellId] | None = None) -> Iterator[CellState]:
        """Everything, item by item; or only what is kept for some homes (objects stay where their owners are)."""
        wanted = None if homes is None else set(homes)
        for tag, cells in list(self.spread.items()):
            if wanted is None:
                yield CellState(spread=((tag, cells),))
        for key in list(self.index.tombstones()):
            yield CellState(deleted=(key,))
        for revoked in list(self._revoked):
            yield CellState(revoked=(revoked,))
        for subscription, parts in list(self._parts.items()):
            for home in list(parts):
                if wanted is None or home in wanted:
                    yield CellState(parts=(self._parts[subscription][home],))
        for key, kept in list(self._homes.items()):
            for home in list(kept):
                if wanted is None or home in wanted:
                    yield CellState(held=(self._held(key, home),))
        if wanted is None:
            for key in list(self._objects):
                yield CellState(objects=(self._object(key),))

    def item(self, number: int) -> CellState | None:
        """One item by its number, for a member that misses it."""
        make = self._items.get(number)
        return make() if make else None

    def release(self, homes: Iterable[CellId]) -> None:
        """Forget what is kept for some homes: another cell keeps it now."""
        gone = set(homes)
        for key, kept in list(self._homes.items()):
            for home in [home for home in kept if home in gone]:
                del kept[home]
                self._forget(item_number("held", key, home))
            if not kept:
                del self._homes[key]
                self.index.withdraw(key)
        for subscription, parts in list(self._parts.items()):
            lost = [home for home in parts if home in gone]
            for home in lost:
                self._forget(_part_number(parts.pop(home)))
            if not parts:
                del self._parts[subscription]
                self.index.unsubscribe(subscription)
            elif lost:
                self._index_subscription(subscription)

    def sizes(self) -> Iterator[tuple[str, int, int]]:
        metadata = [len(msgspec.msgpack.encode(m)) for m in self.index.objects()]
        yield "metadata", len(metadata), sum(metadata)
        subscriptions = [len(msgspec.msgpack.encode(s)) for s in self.index.subscriptions()]
        yield "subscriptions", len(subscriptions), sum(subscriptions)
        objects = [m.size_bytes for m in self._objects.values()]
        yield "objects", len(objects), sum(objects)

    def _held(self, key: ObjectKey, home: CellId) -> Held:
        metadata = self.index.get(key)
        assert metadata is not None, "an item that is noted is held"
        return Held(home, metadata)

    def _object(self, key: ObjectKey) -> DataObject:
        metadata = self._objects[key]
        small = metadata.size_bytes <= self._part_bytes
        return DataObject(metadata, self._contents.read(key) if small else b"")

    def _index_subscription(self, key: SubscriptionKey) -> None:
        """Let all shares of a subscription that are kept here stand as one."""
        parts = self._parts[key]
        conjunctions: dict[Conjunction, None] = {}
        for home in sorted(parts):
            conjunctions.update(dict.fromkeys(parts[home].subscription.conjunctions))
        frame = next(iter(parts.values())).subscription.frame
        self.index.unsubscribe(key)
        self.index.add_subscription(Subscription(key, tuple(conjunctions), frame))

    def _merge_replicas(self, newer: Metadata) -> None:
        known = self.index.get(newer.key)
        if known is None:
            return
        replicas = known.replicas
        for replica in newer.replicas:
            if replica not in replicas:
                replicas = self._with(replicas, replica)
        if replicas != known.replicas:
            self.index.replace(msgspec.structs.replace(known, replicas=replicas))

    def _with(self, replicas: tuple[Replica, ...], replica: Replica) -> tuple[Replica, ...]:
        """The most recent entries, and the active replica's first (§6.2.3)."""
        active = [entry for entry in replicas if entry.node == WHOLE_CELL]
        if replica.node == WHOLE_CELL:
            active = [replica]
        passive = [entry for entry in replicas if entry.node not in (WHOLE_CELL, replica.node)]
        if replica.node != WHOLE_CELL:
            passive.append(replica)
        room = self._replication_list - len(active)
        return tuple(active + (passive[-room:] if room > 0 else []))

    def _restore_item(self, state: CellState) -> None:
        for tag, cells in state.spread:
            self.spread_tag(tag, cells)
        for held in state.held:
            self.put(held)
        for part in state.parts:
            self.put_part(part)
        for key in state.deleted:
            self.delete(key)
        for revoked in state.revoked:
            self.revoke(revoked)
        for thing in state.objects:
            key = thing.metadata.key
            if self._contents.has(key):
                self.put_object(thing.metadata, self._contents.read(key))

    def _note(self, number: int, make: Callable[[], CellState]) -> None:
        self.digests.add(number)
        self._items[number] = make
        saved = make()
        if saved.objects:
            saved = CellState(objects=(DataObject(saved.objects[0].metadata, b""),))
        self._store.put(SAVED, f"{number:x}", msgspec.msgpack.encode(saved))

    def _forget(self, number: int) -> None:
        self.digests.remove(number)
        if self._items.pop(number, None) is not None:
            self._store.remove(SAVED, f"{number:x}")


def _part_number(part: Part) -> int:
    return item_number("part", part.subscription.key, part.home, part.cell, part.told_s)


def joined(pieces: Iterable[CellState], size_bytes: int) -> list[CellState]:
    """Items put together into states of about `size_bytes` each."""
    batches: list[CellState] = []
    batch = CellState()
    room = size_bytes
    for piece in pieces:
        size = len(msgspec.msgpack.encode(piece))
        if size > room and batch != CellState():
            batches.append(batch)
            batch, room = CellState(), size_bytes
        batch = CellState(
            batch.held + piece.held,
            batch.parts + piece.parts,
            batch.deleted + piece.deleted,
            batch.revoked + piece.revoked,
            batch.objects + piece.objects,
            spread=batch.spread + piece.spread,
        )
        room -= size
    if batch != CellState():
        batches.append(batch)
    return batches
