"""What a node knows of objects: each once, in the order in which they became known, and never too many."""

from __future__ import annotations

from thyme.host import MemoryStore
from thyme.live.node.known import MAX_KNOWN_OBJECTS, KnownObjects
from thyme.model.ids import NodeId, ObjectKey
from thyme.model.objects import Metadata


def objects(first: int, count: int) -> list[Metadata]:
    return [Metadata(ObjectKey(f"o{i}", NodeId(1)), ("goal",), b"", float(i), 1) for i in range(first, first + count)]


def test_those_known_together_are_those_known_one_by_one() -> None:
    for store in (None, MemoryStore()):
        together, singly = KnownObjects(), KnownObjects()
        if store is not None:
            together.keep_in(store)
        for some in (objects(0, 3), objects(2, 3), objects(0, 1)):
            together.note_all(some)
            for metadata in some:
                singly.note(metadata)
        assert together.list() == singly.list() == objects(0, 5)


def test_those_known_longest_make_room_also_for_many_at_once() -> None:
    for store in (None, MemoryStore()):
        known = KnownObjects()
        if store is not None:
            known.keep_in(store)
        known.note_all(objects(0, MAX_KNOWN_OBJECTS - 10))
        known.note_all(objects(MAX_KNOWN_OBJECTS, 500))
        assert len(known.list()) <= MAX_KNOWN_OBJECTS
        assert known.list()[-500:] == objects(MAX_KNOWN_OBJECTS, 500)
        if store is not None:
            assert len(list(store.items("known object"))) == len(known.list())
