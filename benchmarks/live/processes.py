"""Processes that a benchmark runs beside its own, each with a pipe to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

END_S = 10.0


@contextmanager
def in_process(target: Callable[..., None], *given: Any) -> Iterator[Connection]:
    """Another process, and a pipe to it. It is waited for at the end, and ended if it does not end."""
    context = get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=target, args=(there, *given), daemon=True)
    process.start()
    there.close()  # so that a reader sees the end of a process that has died
    try:
        yield here
        process.join(END_S)
    finally:
        if process.is_alive():
            process.terminate()
