"""The items of a member's state: each has a number, counts in the digests, can be given to others and is saved.

An item is one entry of what a member holds: metadata for a home, a share of a subscription, a deletion, and so on. Its
number is a hash of what it is (`digests`). A copy of each is in the host's store, so that a member that was off for a
while still knows what its cell knew, even if it was the only one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from contextlib import suppress

import msgspec

from thyme.approaches.digests import Digests
from thyme.approaches.past import Missing
from thyme.host import Store
from thyme.model.ids import CellId, ObjectKey, SubscriptionKey
from thyme.wire.cells import CellState

STATE_BYTES = 1_200
"""State is handed over in messages of about this size, which fit one frame …"""
PAGE_MESSAGES = 4
"""… and so many at a time: the next ones leave when these have arrived."""
SAVED = "cell item"
SAVED_CELL = "cell of items"
_state = msgspec.msgpack.Decoder(CellState)
_encode = msgspec.msgpack.Encoder().encode


class Items:
    """What is held, item by item."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._made: dict[str, Callable[..., CellState]] = {}
        self._noted: dict[int, tuple[Hashable, ...]] = {}
        """The kind of each item, and what it is about. There are many of them, and names and numbers are not looked
        through for garbage."""
        self.digests = Digests()
        self.changes = 0
        """How often something was noted or forgotten."""

    def describe(self, kind: str, made: Callable[..., CellState]) -> None:
        """What an item of a kind is, whenever somebody asks: `made` is given what it is about."""
        self._made[kind] = made

    def note(self, number: int, kind: str, *what: Hashable, saved: CellState | None = None) -> None:
        """An item is held from now on; `saved` is what of it is in the host's store, if not all of it."""
        self.changes += 1
        self.digests.add(number)
        self._noted[number] = (kind, *what)
        self._store.put(SAVED, _name(number, what), _encode(self._made[kind](*what) if saved is None else saved))

    def forget(self, number: int) -> None:
        self.changes += 1
        self.digests.remove(number)
        noted = self._noted.pop(number, None)
        if noted is not None:
            self._store.remove(SAVED, _name(number, noted[1:]))

    def get(self, number: int) -> CellState | None:
        """One item by its number, for a member that misses it."""
        noted = self._noted.get(number)
        if noted is None:
            return None
        kind, *what = noted
        return self._made[str(kind)](*what)

    def take_saved(self, cell: CellId) -> tuple[list[CellState], list[CellState]]:
        """What was saved for `cell` before a restart, to be noted again, and what was saved for another cell."""
        saved = list(self._store.items(SAVED))
        same = self._store.get(SAVED_CELL, "") == msgspec.msgpack.encode(cell)
        self.clear_saved()
        self.belong_to(cell)
        states = list[CellState]()
        for _, value in saved:
            with suppress(msgspec.ValidationError):  # written by an older version; the cell gives it again
                states.append(_state.decode(value))
        return (states, []) if same else ([], states)

    def belong_to(self, cell: CellId) -> None:
        """Whatever is saved is taken up again by a restart in this cell."""
        self._store.put(SAVED_CELL, "", msgspec.msgpack.encode(cell))

    def clear_saved(self) -> None:
        """Forget on disk what is no longer wanted in memory either."""
        for name, _ in self._store.items(SAVED):
            self._store.remove(SAVED, name)


def _name(number: int, what: tuple[Hashable, ...]) -> str:
    """Of an item's record; it ends with who made the object or subscription that it is about."""
    match what:
        case (ObjectKey() as key, *_):
            return f"{number:x}@{key.owner}"
        case (SubscriptionKey() as key, *_):
            return f"{number:x}@{key.subscriber}"
    return f"{number:x}"


def told_bytes(item: CellState, missing_bytes: Missing) -> int:
    """What an item takes in a message to others."""
    objects = [held.metadata for held in item.held] + [thing.metadata for thing in item.objects]
    return len(_encode(item)) + sum([missing_bytes(metadata) for metadata in objects])


def merged(pieces: Iterable[CellState], missing_bytes: Missing, size_bytes: int = STATE_BYTES) -> list[CellState]:
    """Items put together into states of about `size_bytes` each."""
    batches: list[CellState] = []
    batch = CellState()
    room = size_bytes
    for piece in pieces:
        size = told_bytes(piece, missing_bytes)
        if size > room and batch != CellState():
            batches.append(batch)
            batch, room = CellState(), size_bytes
        batch = CellState(
            batch.held + piece.held,
            batch.parts + piece.parts,
            batch.deleted + piece.deleted,
            batch.revoked + piece.revoked,
            batch.objects + piece.objects,
        )
        room -= size
    if batch != CellState():
        batches.append(batch)
    return batches
