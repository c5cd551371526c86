"""Collecting garbage less often while a simulation runs.

A run makes millions of objects that live long, such as tables and timers, and few that hang together in rings. To look
through all of them for rings as often as Python does by itself costs a tenth of a run of a hundred nodes, and more of
larger ones; what it finds is as well found later.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

YOUNG = 100_000
"""New objects, less those gone again, after which Python looks for rings among them; it would at 700."""


@contextmanager
def seldom_collecting() -> Iterator[None]:
    """What exists at the beginning is not looked at; afterwards all is as before."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(YOUNG, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
