"""The quick way to read a status gives what the thorough way gives, or leaves the line to it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some
from post_samples import status

from thyme.pipeline.posts.formats.objects import read_object
from thyme.pipeline.posts.formats.posts import ParsedPost
from thyme.pipeline.posts.formats.quick import quick_status

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


def thorough(record: dict[str, Any]) -> list[object]:
    return list(read_object(record))


@given(CHANGES)
def test_both_ways_agree_on_whatever_a_status_holds(changes: dict[str, Any]) -> None:
    record = status() | changes
    quick = quick_status(json.dumps(record).encode())
    assert quick is None or [quick] == thorough(record)


def test_a_usual_status_is_read_quickly() -> None:
    for record in (status(), status() | {"retweeted_status": {"text": "x"}, "lang": "pt", "place": {"a": [1, 2]}}):
        quick = quick_status(json.dumps(record).encode())
        assert isinstance(quick, ParsedPost)
        assert [quick] == thorough(record)


@pytest.mark.parametrize(
    "line", [b"", b"[]", b"{", b'{"delete": {}}', b'{"user": {"screen_name": "\xff"}}', b"[" * 9999]
)
def test_what_is_no_status_is_left_to_the_thorough_way(line: bytes) -> None:
    assert quick_status(line) is None
