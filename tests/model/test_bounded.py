from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thyme.model.bounded import Bounded

KEYS = st.lists(st.integers(0, 9), max_size=60)


def test_the_entry_that_came_first_makes_room() -> None:
    memory: Bounded[str, int] = Bounded(2)
    memory["a"] = 1
    memory["b"] = 2
    memory["a"] = 3
    memory["c"] = 4
    assert memory == {"b": 2, "c": 4}


@pytest.mark.parametrize("renewing", [False, True])
def test_a_memory_that_made_room_many_times_is_still_in_order(renewing: bool) -> None:
    parted: list[int] = []
    memory: Bounded[int, int] = Bounded(100, renewing=renewing, parting=lambda key, _: parted.append(key))
    for key in range(1_000):
        memory[key] = -key
    assert list(memory.items()) == [(key, -key) for key in range(900, 1_000)]
    assert parted == list(range(900))


def test_a_renewing_memory_gives_up_what_was_set_longest_ago() -> None:
    memory: Bounded[str, int] = Bounded(2, renewing=True)
    memory["a"] = 1
    memory["b"] = 2
    memory["a"] = 3
    memory["c"] = 4
    assert list(memory.items()) == [("a", 3), ("c", 4)]


@given(KEYS, st.integers(0, 5), st.booleans())
def test_a_memory_holds_the_newest_distinct_keys_and_never_more(keys: list[int], maximum: int, renewing: bool) -> None:
    memory: Bounded[int, None] = Bounded(maximum, renewing=renewing)
    expected: list[int] = []
    for key in keys:
        memory[key] = None
        if renewing and key in expected:
            expected.remove(key)
        if key not in expected:
            expected.append(key)
        expected = expected[max(0, len(expected) - maximum) :]
        assert list(memory) == expected


def test_a_default_is_bounded_too_and_leaves_what_is_there() -> None:
    memory: Bounded[str, int] = Bounded(1)
    assert memory.setdefault("a", 1) == 1
    assert memory.setdefault("a", 2) == 1
    assert memory.setdefault("b", 3) == 3
    assert memory == {"b": 3}


def test_many_entries_at_once_are_refused() -> None:
    memory: Bounded[str, int] = Bounded(1)
    with pytest.raises(TypeError):
        memory.update(a=1, b=2)
    with pytest.raises(TypeError):
        memory |= {"a": 1, "b": 2}  # type: ignore[misc]
    assert memory == {}


def test_what_is_added_is_new_once_and_makes_room_like_what_is_set() -> None:
    parted: list[int] = []
    memory: Bounded[int, str] = Bounded(2, parting=lambda key, _: parted.append(key))
    assert [memory.add(key, f"{key}") for key in (1, 2, 1, 3, 2, 1)] == [True, True, False, True, False, True]
    assert memory == {3: "3", 1: "1"}
    assert parted == [1, 2]
    assert not memory.add(3, "another")
    assert memory[3] == "3"
