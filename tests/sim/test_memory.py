"""A run collects garbage seldom and asks for large pages, and nothing else changes."""

from __future__ import annotations

import gc
import sys
import weakref

import pytest

from thyme.sim import process_memory
from thyme.sim.process_memory import LARGE_BYTES, ask_for_large_pages, large_pages, private_memory, seldom_collecting

MAPS = """\
55d0c0000000-55d0c0400000 rw-p 00000000 00:00 0                          [heap]
7f0000100000-7f0000500000 rw-p 00000000 00:00 0
7f0001000000-7f0001100000 rw-p 00000000 00:00 0
7f0002000000-7f0003000000 r--p 00000000 00:00 0
7f0004000000-7f0005000000 rw-s 00000000 00:05 77                         /dev/shm/other
7f0006000000-7f0007000000 rw-p 00001000 08:01 1234                       /usr/lib/libpython.so
7ffc00000000-7ffc01000000 rw-p 00000000 00:00 0                          [stack]
"""


def test_only_whole_large_pages_of_private_memory_count() -> None:
    assert list(private_memory(MAPS.splitlines())) == [
        (0x55D0C0000000, 0x55D0C0400000),
        (0x7F0000200000, 0x7F0000400000),
    ]


@pytest.mark.skipif(sys.platform != "linux", reason="Linux only")
def test_what_memory_holds_stays_as_it_is() -> None:
    held = [bytes([i % 251]) * 4096 for i in range(2048)]
    asked = ask_for_large_pages()
    assert asked % LARGE_BYTES == 0
    assert all(piece == bytes([i % 251]) * 4096 for i, piece in enumerate(held))


def test_a_process_that_grows_asks_again_and_stops_asking_in_the_end(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    asked = []
    monkeypatch.setattr(process_memory, "ask_for_large_pages", lambda: asked.append(sys.getallocatedblocks()))
    monkeypatch.setattr(process_memory, "LEAST_BLOCKS", sys.getallocatedblocks() + 50_000)
    monkeypatch.setattr(sys, "platform", "linux")
    callbacks = list(gc.callbacks)
    request.addfinalizer(gc.enable)
    gc.disable()  # but for when it is asked to look
    with large_pages():
        gc.collect()
        assert asked == [], "a small process is left alone"
        held = [[i] for i in range(200_000)]
        gc.collect()
        assert len(asked) == 1
        gc.collect()
        assert len(asked) == 1, "it has not grown"
        held += [[i] for i in range(400_000)]
        gc.collect()
        assert len(asked) == 2
    assert gc.callbacks == callbacks
    del held


def test_a_run_goes_on_where_the_system_refuses_to_list_its_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = []

    def refuse() -> int:
        refused.append(True)
        raise PermissionError("no maps here")

    monkeypatch.setattr(process_memory, "ask_for_large_pages", refuse)
    monkeypatch.setattr(process_memory, "LEAST_BLOCKS", 0)
    monkeypatch.setattr(sys, "platform", "linux")
    callbacks = list(gc.callbacks)
    with large_pages():
        assert refused
    assert gc.callbacks == callbacks


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
