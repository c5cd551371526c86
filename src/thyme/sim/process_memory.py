"""Memory of the process while a run goes on: garbage is collected less often, and Linux is asked for large pages.

A run makes millions of long-lived objects, such as tables and timers, and few reference cycles. Python's default
collection costs a tenth of a run of a hundred nodes, and more of larger ones. A finished run is itself a cycle, and a
process that plays thousands would keep them all, so everything is collected before a run if memory has grown by a
quarter.

The nodes of a run are visited in any order, and the data of one lies all over some hundred megabytes. The processor
caches the addresses of a few thousand pages: a few megabytes with pages of 4 kB, everything with pages of 2 MB. Python
does not ask for large pages, so a run asks whenever memory has grown. Where the system has none, nothing changes.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

YOUNG_OBJECTS = 100_000
"""New objects, less those freed, that trigger a collection; Python's own threshold is 700."""
COLLECT_GROWTH = 1.25
"""Growth of the memory in use after which everything is collected before a run."""
LARGE_BYTES = 2 << 20
"""A large page of most machines."""
LEAST_BLOCKS = 1_000_000
"""Allocated blocks, of some 80 bytes each, from which on large pages matter."""
PAGES_GROWTH = 1.1
"""Growth of the memory in use after which large pages are asked for again."""
_ADVISE_LARGE, _COLLAPSE = 14, 25
_MAPS = Path("/proc/self/maps")


class _Collected:
    """Blocks that were allocated after the last full collection."""

    blocks = 0


@contextmanager
def seldom_collecting() -> Iterator[None]:
    """Leave existing objects out of collections, and collect seldom; afterwards all is as before."""
    before = gc.get_threshold()
    _collect_earlier_runs()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def _collect_earlier_runs() -> None:
    blocks = sys.getallocatedblocks()
    if _Collected.blocks and blocks <= COLLECT_GROWTH * _Collected.blocks:
        _Collected.blocks = min(blocks, _Collected.blocks)
        return
    if _Collected.blocks:
        gc.collect()
    _Collected.blocks = sys.getallocatedblocks()


@contextmanager
def large_pages() -> Iterator[None]:
    """Request large pages if this process is large, and again when it has grown."""
    if sys.platform != "linux":
        yield
        return
    ask = _AskWhenGrown()
    ask("stop", {})
    gc.callbacks.append(ask)
    try:
        yield
    finally:
        gc.callbacks.remove(ask)


class _AskWhenGrown:
    """Checks after every garbage collection whether memory has grown."""

    def __init__(self) -> None:
        self._next_blocks = LEAST_BLOCKS

    def __call__(self, phase: str, info: dict[str, Any]) -> None:
        if phase != "stop" or sys.getallocatedblocks() < self._next_blocks:
            return
        self._next_blocks = int(PAGES_GROWTH * sys.getallocatedblocks())
        with suppress(OSError):
            ask_for_large_pages()


def ask_for_large_pages() -> int:
    """For all private memory; the number of bytes for which the system agreed."""
    advise = ctypes.CDLL(None).madvise
    advise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    agreed = 0
    for begin, end in private_memory(_MAPS.read_text().splitlines()):
        if advise(begin, end - begin, _ADVISE_LARGE) == 0:
            advise(begin, end - begin, _COLLAPSE)  # at once; where the system cannot, it does so later
            agreed += end - begin
    return agreed


def private_memory(maps: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Begin and end of the private writable memory in the system's list, in whole large pages."""
    for line in maps:
        addresses, rights, _, _, file, *name = line.split()
        if rights != "rw-p" or file != "0" or name not in ([], ["[heap]"]):
            continue
        begin, end = (int(address, 16) for address in addresses.split("-"))
        first, last = -(-begin // LARGE_BYTES) * LARGE_BYTES, end // LARGE_BYTES * LARGE_BYTES
        if first < last:
            yield first, last
