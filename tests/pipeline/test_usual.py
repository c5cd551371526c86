"""Statuses read many at a time give what they give one by one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as some
from post_samples import status
from test_quick import CHANGES

from thyme.pipeline.posts.formats.identity import is_worldwide
from thyme.pipeline.posts.formats.opening import Source
from thyme.pipeline.posts.formats.posts import ParsedPost
from thyme.pipeline.posts.formats.quick import decode_status, post_of
from thyme.pipeline.posts.formats.reading import LineCount, Rejected, read_source, read_together
from thyme.pipeline.posts.formats.usual import BATCH_LINES, UsualPosts, usual_posts
from thyme.pipeline.posts.parsing import post_row

MORE = some.fixed_dictionaries(
    {},
    optional={
        "text": some.sampled_from(["plain", "with #Tag", "＃wide", "é", "x" * 100_001, "\ud800"]),
        "user": some.sampled_from([{"screen_name": one} for one in ("ana", " ana ", "añа", "", "a b", "\ud800")]),
        "id_str": some.sampled_from(["1", "0" * 12, "741344187491811328", "9" * 19, "9" * 18, "7.4E+17", "x"]),
        "entities": some.sampled_from(
            [{"hashtags": [{"text": tag} for tag in tags]} for tags in (["B", "a", "b"], [""], ["c…"], ["d_e"], ["É"])]
        ),
        "timestamp_ms": some.sampled_from(["1465585202000", "0", 0, "never", "99999999999999999999"]),
        "created_at": some.sampled_from(["", "Fri Jun 10 19:00:02 +0000 2016", 1465585202.0, -1.0, 1e300]),
    },
)


@given(some.lists(some.tuples(CHANGES, MORE), min_size=1, max_size=8))
def test_both_ways_agree_on_whatever_statuses_hold(changes: list[tuple[dict[str, Any], dict[str, Any]]]) -> None:
    lines = [json.dumps(status() | one | two).encode() for one, two in changes]
    statuses = [found for line in lines if (found := decode_status(line)) is not None]
    if not statuses:
        return
    usual, others = usual_posts(statuses)
    expected = [post_of(one) for place, one in enumerate(statuses) if place not in others]
    assert all(post is not None and is_worldwide(post) for post in expected)
    assert [tuple(row.values()) for row in usual.rows.to_pylist()] == [post_row(post) for post in expected if post]


def test_a_file_of_usual_and_other_lines_loses_none_and_keeps_their_numbers(tmp_path: Path) -> None:
    lines = [json.dumps(status() | {"id_str": str(741344187491811328 + n)}) for n in range(BATCH_LINES + 50)]
    lines[3] = '{"broken":'
    lines[40] = json.dumps(status() | {"text": "a #Tag that is not listed", "entities": {}})
    lines[BATCH_LINES + 5] = lines[7] + lines[8]
    path = tmp_path / "posts.jsonl"
    path.write_text("\n".join(lines))
    source, counted, counted_once = Source(str(path), "lines", "Twitter v1.1"), LineCount(), LineCount()
    together = list(read_together(source, counted))
    single = list(read_source(source, counted_once))
    batches = [one for one in together if isinstance(one, UsualPosts)]
    rows = [tuple(row.values()) for one in batches for row in one.rows.to_pylist()]
    rows += [post_row(one) for one in together if isinstance(one, ParsedPost)]
    assert sum(one.rows.num_rows for one in batches) > BATCH_LINES
    assert sorted(rows) == sorted(post_row(one) for one in single if isinstance(one, ParsedPost))
    assert [one for one in together if isinstance(one, Rejected)] == [
        one for one in single if isinstance(one, Rejected)
    ]
    assert counted.number == counted_once.number == len(lines)
