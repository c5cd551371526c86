"""The event loop that live nodes run on: uvloop where it is installed, else the one of the standard library."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Coroutine
from importlib.util import find_spec
from typing import Any, TypeVar

Result = TypeVar("Result")
YOUNG = 10_000
"""Things made before some of them are looked at as garbage: those of a hundred operations, not of a few."""


def run(main: Coroutine[Any, Any, Result]) -> Result:
    """Run a program to its end; `pip install thyme[fast]` brings uvloop. What was imported by then stays, so it is not
    looked through for garbage again and again."""
    gc.freeze()
    gc.set_threshold(YOUNG, *gc.get_threshold()[1:])
    if find_spec("uvloop") is None:
        return asyncio.run(main)
    import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(main)
