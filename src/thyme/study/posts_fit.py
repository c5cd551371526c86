"""Whether posts fit the trace that is made of them: how much is used, in plain words, and what to do if it is little.

A trace takes the posts with tags of the most active users in a window of the event, and plays the window faster. Of
posts that were gathered otherwise that may leave a handful, or squeeze all of them into a moment.
"""

from __future__ import annotations

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from thyme.pipeline.manifest import data_files, read_manifest
from thyme.pipeline.traces.outline import TraceOutline
from thyme.pipeline.traces.trace import TraceOptions
from thyme.places import Place, arrow_path, for_arrow
from thyme.study.wording import counted, duration

FEW = 0.02
"""A trace that uses less than this share of the posts is questioned."""
BRIEF = 0.1
"""So are posts that take less than this share of the time in which they are to be played."""
MANY_PER_MINUTE = 30.0
"""And more posts than this, of one person in a minute."""
MIN_EVENT_S = 60.0
"""Shorter than this no event is proposed to be."""
MIN_QUESTIONED = 20
"""Fewer posts than this are too few for a workload."""


class PostsSpan(msgspec.Struct, frozen=True):
    """How many posts there are, and from when to when."""

    posts: int
    first_s: float
    last_s: float

    @property
    def lasts_s(self) -> float:
        return self.last_s - self.first_s


def span_of(path: Place) -> PostsSpan:
    """Of a dataset of posts, whose files are in order of time; those that were rejected are no part of it."""
    listed = read_manifest(path)
    files = [name for name in data_files(path) if listed.files[name].rows]
    if not files:
        return PostsSpan(0, 0.0, 0.0)
    first, last = (_times_in(path / name) for name in (files[0], files[-1]))
    return PostsSpan(listed.rows, pc.min(first).as_py().timestamp(), pc.max(last).as_py().timestamp())


def _times_in(file: Place) -> pa.ChunkedArray:
    with pq.ParquetFile(arrow_path(file), **for_arrow(file)) as opened:
        return opened.read(columns=["at"])["at"]


def use_words(span: PostsSpan, trace: TraceOutline) -> str:
    """What a trace makes of the posts, in one sentence."""
    used = trace.inserts
    if not used:
        return f"none of {counted(span.posts, 'post')} is used"
    played_s = max(trace.inserting.lasts_s, 1.0)
    rate = used / len(trace.publishers) / (played_s / 60.0)
    return (
        f"{used:,} of {span.posts:,} posts, written in {duration(span.lasts_s)}, are posted within "
        f"{duration(played_s)}, {rate:.1f} per person and minute"
    )


def doubts(span: PostsSpan, trace: TraceOutline, options: TraceOptions) -> list[str]:
    """What is odd about it, with what to do; empty if nothing is."""
    used = trace.inserts
    if span.posts < MIN_QUESTIONED or not used:
        return []
    found = []
    if used < FEW * span.posts:
        dealing = (
            "" if options.authors == "deal" else 'or `authors = "deal"` (--authors deal), which distributes all posts'
        )
        found.append(
            f"Only {used:,} of {span.posts:,} posts are used: those with tags, in "
            f"{duration(options.compression.window_s)}"
            + (f", of the {options.users} most active users. Take more users, {dealing}." if dealing else ".")
        )
    how = options.compression
    played_s = trace.inserting.lasts_s
    if played_s < BRIEF * how.duration_s:
        real_s = max(MIN_EVENT_S, played_s * how.window_s / how.duration_s)
        found.append(
            f"All of them are posted within {duration(played_s)} of {duration(how.duration_s)}: they were written in "
            f"{duration(real_s)}, and the trace makes {duration(how.duration_s)} of {duration(how.window_s)}. Set "
            f"`compression.window_s` to {real_s:.0f} (--hours {real_s / 3600.0:.2g})."
        )
    rate = used / len(trace.publishers) / max(played_s / 60.0, 1.0 / 60.0)
    if rate > MANY_PER_MINUTE and not found:
        found.append(
            f"A person posts {rate:.0f} times a minute: take more users, or spread the posts over more time "
            "(`compression.duration_s`, --minutes)."
        )
    return found
