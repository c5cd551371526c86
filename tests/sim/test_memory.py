"""A run collects garbage seldom, and nothing else changes."""

from __future__ import annotations

import gc
import weakref

from thyme.sim.simulation import seldom_collecting


class Part:
    """One of many objects that know each other."""

    def __init__(self, whole: list[Part]) -> None:
        self.whole = whole


def play_a_run(parts: int) -> weakref.ref[Part]:
    """What a run leaves behind: a ring, of which somebody looks at one."""
    with seldom_collecting():
        whole: list[Part] = []
        whole.extend(Part(whole) for _ in range(parts))
        return weakref.ref(whole[0])


def test_what_runs_leave_behind_goes_before_it_is_as_much_as_all_else() -> None:
    tenth = len(gc.get_objects()) // 10
    left = [play_a_run(tenth) for _ in range(20)]
    assert sum(part() is not None for part in left) < 10


def test_thresholds_and_frozen_objects_are_as_before() -> None:
    before = gc.get_threshold(), gc.get_freeze_count()
    with seldom_collecting():
        assert gc.get_freeze_count() > 0
    assert (gc.get_threshold(), gc.get_freeze_count()) == before
