"""JSON values are found in any text, however it comes in parts, and damage costs no more than itself."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thyme.pipeline.posts.formats import scanning
from thyme.pipeline.posts.formats.scanning import Piece, scan


def known(value: object) -> bool:
    return isinstance(value, dict) and "id" in value


def pieces(text: str, size: int) -> list[Piece]:
    return list(scan((text[at : at + size] for at in range(0, len(text), size)), known))


@given(
    st.lists(
        st.tuples(st.sampled_from(["", "\n", ",", " ,\n", "]["]), st.text(max_size=30), st.booleans()), max_size=12
    ),
    st.integers(1, 60),
)
@settings(max_examples=80)
def test_scanning_finds_every_object_however_the_text_is_cut(records: list[tuple[str, str, bool]], size: int) -> None:
    text, wanted = "", []
    for number, (between, said, spaced) in enumerate(records):
        record = {"id": number, "said": said, "in": [{"deep": said}]}
        text += between + json.dumps(record, indent=1 if spaced else None, ensure_ascii=not spaced)
        wanted.append(record)
    found = pieces(text, size)
    assert [one.value for one in found] == wanted
    assert all(one.damage is None for one in found)


@given(st.lists(st.booleans(), min_size=1, max_size=8), st.integers(1, 40), st.integers(1, 30))
@settings(max_examples=80)
def test_scanning_loses_only_what_is_damaged(whole: list[bool], size: int, cut: int) -> None:
    records = [{"id": number, "of": {"name": "x"}, "text": "some text"} for number in range(len(whole))]
    texts = [json.dumps(one) if good else json.dumps(one)[:cut] for one, good in zip(records, whole, strict=True)]
    found = pieces("".join(texts), size)
    assert [one.value for one in found if one.damage is None] == [
        one for one, good in zip(records, whole, strict=True) if good
    ]
    assert len([one for one in found if one.damage is not None]) <= whole.count(False)


def test_a_record_without_end_is_given_up_and_what_is_inside_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scanning, "MAX_RECORD_CHARS", 2_000)
    text = '{"list": [' + ", ".join(json.dumps({"id": number}) for number in range(1_000))
    found = pieces(text, 100)
    assert [one.value for one in found if one.damage is None] == [{"id": number} for number in range(1_000)]
    assert str(found[0].damage) == "not JSON within 2000 characters"


def test_an_object_inside_a_damaged_one_is_no_record_of_its_own() -> None:
    inner, last = {"id": 1}, {"id": 2}
    for damaged in ('{"oh": ?, "in": %s, "id": 3}', '{"oh": ?, "in": %s}', '{"in": %s, "oh": ?}'):
        text = damaged % json.dumps(inner) + json.dumps(last)
        for size in (1, 7, 1_000):
            assert [one.value for one in pieces(text, size)] == [None, last]


def test_lines_are_counted_and_the_beginning_is_shown() -> None:
    text = '[\n{"id": 1},\n\n{"id":\n 2}, {"oh": \n\n{"id": 3}\n]'
    for size in (1, 5, 100):
        found = pieces(text, size)
        assert [(one.line, one.shown.split("}")[0], one.spans_lines) for one in found] == [
            (2, '{"id": 1', False),
            (4, '{"id":\n 2', True),
            (5, '{"oh":', False),
            (7, '{"id": 3', False),
        ]
