"""JSON values are found in any text, however it comes in parts, and damage costs no more than itself."""

from __future__ import annotations

import json

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from thyme.pipeline.formats import scanning
from thyme.pipeline.formats.scanning import Piece, scan


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
@settings(max_examples=80, deadline=None)
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
@settings(max_examples=80, deadline=None)
def test_scanning_loses_only_what_is_damaged(whole: list[bool], size: int, cut: int) -> None:
    # an object right behind a cut key is taken for that key's value, so such cuts are left out
    records = [{"id": number, "of": {"name": "x"}, "text": "some text"} for number in range(len(whole))]
    texts = [json.dumps(one) if good else json.dumps(one)[:cut] for one, good in zip(records, whole, strict=True)]
    assume(all(good or not text.rstrip().endswith(":") for text, good in zip(texts, whole, strict=True)))
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
