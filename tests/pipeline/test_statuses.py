"""The fast reader of statuses gives what the thorough one gives, or leaves lines to it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some
from post_samples import status

from thyme.pipeline.posts.formats.objects import read_object
from thyme.pipeline.posts.formats.opening import FilePart
from thyme.pipeline.posts.formats.posts import ParsedPost
from thyme.pipeline.posts.formats.reading import read_part
from thyme.pipeline.posts.formats.results import LineCount, Rejected
from thyme.pipeline.posts.formats.statuses import BATCH_LINES, UsualPosts, decode_status, usual_posts
from thyme.pipeline.posts.source import is_worldwide, post_row

ODD = some.one_of(some.none(), some.booleans(), some.integers(), some.text(max_size=8), some.just({}), some.just([]))
CHANGES = some.dictionaries(
    some.sampled_from(
        [
            "id_str",
            "id",
            "created_at",
            "text",
            "full_text",
            "timestamp_ms",
            "entities",
            "extended_tweet",
            "retweeted_status",
            "truncated",
            "user",
            "lang",
        ]
    ),
    some.one_of(
        ODD,
        some.just({"hashtags": [{"text": "Été"}, {"text": "#b"}]}),
        some.just({"hashtags": [{"text": "a"}, 3]}),
        some.just({"hashtags": None}),
        some.just({"full_text": "all of it #whole", "entities": {}}),
        some.just({"screen_name": " ana "}),
        some.just("shortened #ta…"),
        some.just("Sun Jul 10 20:00:00 +0000 2016"),
        some.just("1468180800123"),
    ),
    max_size=4,
)
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


def rows_of(usual: UsualPosts) -> list[tuple[Any, ...]]:
    return [(post.at_s, *post_row(post)) for post in usual.posts()]


@given(some.lists(some.tuples(CHANGES, MORE), min_size=1, max_size=8))
def test_both_readers_agree_on_whatever_statuses_hold(changes: list[tuple[dict[str, Any], dict[str, Any]]]) -> None:
    records = [status() | one | two for one, two in changes]
    decoded = [(record, decode_status(json.dumps(record).encode())) for record in records]
    read = [(record, found) for record, found in decoded if found is not None]
    if not read:
        return
    usual, others = usual_posts([found for _, found in read])
    thorough = [next(read_object(record)) for place, (record, _) in enumerate(read) if place not in others]
    assert all(isinstance(post, ParsedPost) and is_worldwide(post) for post in thorough)
    expected = [(round(post.at_s, 6), *post_row(post)) for post in thorough if isinstance(post, ParsedPost)]
    assert [(round(at_s, 6), *more) for at_s, *more in rows_of(usual)] == expected


@pytest.mark.parametrize(
    "line", [b"", b"[]", b"{", b'{"delete": {}}', b'{"user": {"screen_name": "\xff"}}', b"[" * 9999]
)
def test_what_is_not_a_status_is_left_to_the_thorough_reader(line: bytes) -> None:
    assert decode_status(line) is None


def test_a_file_of_usual_and_other_lines_loses_none_and_keeps_their_numbers(tmp_path: Path) -> None:
    lines = [json.dumps(status() | {"id_str": str(741344187491811328 + n)}) for n in range(BATCH_LINES + 50)]
    lines[3] = '{"broken":'
    lines[40] = json.dumps(status() | {"text": "a #Tag that is not listed", "entities": {}})
    lines[BATCH_LINES + 5] = lines[7] + lines[8]
    path = tmp_path / "posts.jsonl"
    path.write_text("\n".join(lines))
    counted = LineCount()
    read = list(read_part(FilePart(str(path), "lines", "Twitter v1.1"), counted))
    batches = [one for one in read if isinstance(one, UsualPosts)]
    assert sum(one.rows.num_rows for one in batches) == BATCH_LINES + 50 - 3
    others = [one for one in read if isinstance(one, ParsedPost)]
    assert sorted(one.text for one in others) == ["Allez! #Euro2016", "Allez! #Euro2016", "a #Tag that is not listed"]
    assert [one.line for one in read if isinstance(one, Rejected)] == [4]
    assert counted.number == len(lines)
