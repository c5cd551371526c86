"""How a process with live nodes runs: its event loop, uvloop where it is installed, and what its log looks like."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import Coroutine
from importlib.util import find_spec
from typing import Any, TypeVar

import msgspec

ResultT = TypeVar("ResultT")
YOUNG = 10_000
"""Things made before some of them are looked at as garbage: those of a hundred operations, not of a few."""


def run(main: Coroutine[Any, Any, ResultT]) -> ResultT:
    """Run a program to its end, on uvloop where it is installed (`pip install 'thyme-crowd[fast]'`). What was imported
    by then stays, so the garbage collector does not look at it again."""
    gc.freeze()
    gc.set_threshold(YOUNG, *gc.get_threshold()[1:])
    if find_spec("uvloop") is None:
        return asyncio.run(main)
    import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(main)


class _JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = {
            "at_s": record.created,
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return msgspec.json.encode(line).decode()


def log_as_json() -> None:
    """Write the log as JSON lines to standard error, from messages of level INFO on."""
    handler = logging.StreamHandler()
    handler.setFormatter(_JsonLines())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
