"""Frames that several steps of one job read: kept while the job runs, and let go when it has written its result.

A frame is lazy, so whoever builds on it twice would compute it twice. A function keeps such a frame with `keep`; the
job around it says with `job` until when. Outside a job, kept frames last as long as the session.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from pyspark import StorageLevel
from pyspark.sql import DataFrame

_kept: ContextVar[list[DataFrame] | None] = ContextVar("kept", default=None)


def keep(frame: DataFrame, level: StorageLevel = StorageLevel.MEMORY_AND_DISK_DESER) -> DataFrame:
    """The frame, computed once at most for all who read it."""
    frames = _kept.get()
    if frames is not None:
        frames.append(frame)
    return frame.persist(level)


@contextmanager
def job() -> Iterator[None]:
    """What is kept in here is let go at the end, whether the job succeeds or not."""
    frames: list[DataFrame] = []
    token = _kept.set(frames)
    try:
        yield
    finally:
        _kept.reset(token)
        for frame in reversed(frames):
            frame.unpersist()
