"""Large pages of memory for runs that take much of it (Linux).

The nodes of a run are looked at in any order, and what belongs to one lies all over some hundred megabytes. The
processor remembers where a few thousand pages are; with pages of 4 kB that is a few megabytes, and beyond them
every look costs a second one, where the page is. With pages of 2 MB all of them are remembered. Python does not ask
for such pages, so they are asked for here, whenever memory has grown. Where the system has none, or does not give
any, all is as it was.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

LARGE_BYTES = 2 << 20
"""A large page of most machines; what is smaller than one is left as it is."""
LEAST_BLOCKS = 1_000_000
"""So many pieces of memory in use, of some 80 bytes each, and pages matter."""
GROWTH = 1.1
"""So many times as many as when pages were last asked for, and they are asked for again."""
_ADVISE_LARGE, _COLLAPSE = 14, 25
_MAPS = Path("/proc/self/maps")


def private_memory(maps: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Where writable memory of this process alone begins and ends, by the system's list of it, as far as whole large
    pages fit."""
    for line in maps:
        addresses, rights, _, _, file, *name = line.split()
        if rights != "rw-p" or file != "0" or name not in ([], ["[heap]"]):
            continue
        begin, end = (int(address, 16) for address in addresses.split("-"))
        first, last = -(-begin // LARGE_BYTES) * LARGE_BYTES, end // LARGE_BYTES * LARGE_BYTES
        if first < last:
            yield first, last


@contextmanager
def large_pages() -> Iterator[None]:
    """Ask for large pages now, if this process is large, and again whenever it has grown."""
    if sys.platform != "linux":
        yield
        return
    asking = _Asking()
    asking("stop", {})
    gc.callbacks.append(asking)
    try:
        yield
    finally:
        gc.callbacks.remove(asking)


class _Asking:
    """Looks whether memory has grown whenever Python has looked for garbage, which it does when there is more of it."""

    def __init__(self) -> None:
        self._next_blocks = LEAST_BLOCKS

    def __call__(self, phase: str, info: dict[str, Any]) -> None:
        if phase != "stop" or sys.getallocatedblocks() < self._next_blocks:
            return
        self._next_blocks = int(GROWTH * sys.getallocatedblocks())
        with suppress(OSError):
            ask_for_large_pages()


def ask_for_large_pages() -> int:
    """For all private memory; how many bytes it was asked for."""
    advise = ctypes.CDLL(None).madvise
    advise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    asked = 0
    for begin, end in private_memory(_MAPS.read_text().splitlines()):
        if advise(begin, end - begin, _ADVISE_LARGE) == 0:
            advise(begin, end - begin, _COLLAPSE)  # at once; where the system cannot, it does so by and by
            asked += end - begin
    return asked
