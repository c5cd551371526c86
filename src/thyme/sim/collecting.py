"""Collecting garbage less often while a simulation runs.

A run makes millions of objects that live long, such as tables and timers, and few that hang together in rings. To look
through all of them for rings as often as Python does by itself costs a tenth of a run of a hundred nodes, and more of
larger ones; what it finds is as well found later. But a run that is over is itself such a ring, and a process that
plays thousands would keep them all: so before a run begins, everything is looked through if memory has grown by a
quarter, as Python's own rule has it for objects.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

YOUNG = 100_000
"""New objects, less those gone again, after which Python looks for rings among them; it would at 700."""
GROWTH = 1.25
"""So many times as much memory in use as after the last look, and everything is looked through again."""


class _Kept:
    """How many pieces of memory were in use when everything was last looked through."""

    blocks = 0


@contextmanager
def seldom_collecting() -> Iterator[None]:
    """What exists at the beginning is not looked at; afterwards all is as before."""
    before = gc.get_threshold()
    _forget_earlier_runs()
    gc.freeze()
    gc.set_threshold(YOUNG, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def _forget_earlier_runs() -> None:
    if _Kept.blocks and sys.getallocatedblocks() <= GROWTH * _Kept.blocks:
        return
    if _Kept.blocks:
        gc.collect()
    _Kept.blocks = sys.getallocatedblocks()
