"""Posts that do not fit their trace are questioned, with what to do."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa

from thyme.model.ids import NodeId
from thyme.model.operations import Operation
from thyme.model.records import OperationKind
from thyme.pipeline.schemas import timestamps
from thyme.pipeline.spark import dataset
from thyme.pipeline.traces.behaviour import Compression
from thyme.pipeline.traces.outline import TraceOutline, outline_of
from thyme.pipeline.traces.trace import TraceOptions
from thyme.sim.traces import table_from_operations
from thyme.study.posts_fit import PostsSpan, doubts, span_of, use_words

USUAL = TraceOptions(users=10)


def posted(number: int, lasts_s: float) -> TraceOutline:
    operations = [
        Operation(i, 60.0 + i * lasts_s / number, NodeId(i % 10), OperationKind.INSERT, oid=str(i), tags=("a",))
        for i in range(number)
    ]
    return outline_of(table_from_operations(operations).to_batches())


def test_a_trace_that_uses_the_posts_is_told_and_not_questioned() -> None:
    span = PostsSpan(1_000, 0.0, 10_800.0)
    assert doubts(span, posted(200, 600.0), USUAL) == []
    assert use_words(span, posted(200, 600.0)) == (
        "200 of 1,000 posts, written in 3 h 0 min, are posted within 9 min 57 s, 2.0 per person and minute"
    )


def test_few_of_many_posts_are_questioned_unless_they_are_dealt_out() -> None:
    span = PostsSpan(41_657, 0.0, 10_800.0)
    (doubt,) = doubts(span, posted(50, 600.0), USUAL)
    assert doubt.startswith("Only 50 of 41,657 posts are used")
    assert "--authors deal" in doubt
    dealt = msgspec.structs.replace(USUAL, authors="deal")
    assert "--authors" not in doubts(span, posted(50, 600.0), dealt)[0]


def test_ten_minutes_squeezed_into_half_a_minute_are_questioned() -> None:
    (doubt,) = doubts(PostsSpan(400, 0.0, 600.0), posted(400, 33.3), USUAL)
    assert "within 33.2 s of 10 min 0 s" in doubt
    assert "Set `compression.window_s` to 598 (--hours 0.17)" in doubt
    fitting = msgspec.structs.replace(USUAL, compression=Compression(window_s=600.0, duration_s=600.0))
    assert doubts(PostsSpan(400, 0.0, 600.0), posted(400, 598.0), fitting) == []


def test_the_span_of_posts_is_read_from_the_ends_of_their_dataset(tmp_path: Path) -> None:
    posts = pa.table({"at": timestamps(np.array([5.0, 90.0, 200_000.5]))})
    with dataset.drafting(tmp_path / "posts") as draft:
        for number, day in enumerate(("1970-01-01", "1970-01-02", "1970-01-03")):
            draft.add(posts.slice(number, 1), part=f"day={day}")
        draft.add(posts.slice(0, 0), part="_rejected")
    assert span_of(tmp_path / "posts") == PostsSpan(3, 5.0, 200_000.5)
