"""Tags have one spelling, and are found in running text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thyme.model.errors import InputError
from thyme.model.tags import MAX_TAG_CHARS, normalise_tag, normalise_tags, tags_in_text


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("Goal", "goal"),
        ("#Goal", "goal"),
        ("##Goal ", "goal"),
        (" # goal", "goal"),
        ("ＥＵＲＯ２０１６", "euro2016"),
        ("＃Portugal", "portugal"),
        ("STRASSE", "strasse"),
        ("Straße", "strasse"),
        ("Cafe\u0301", "café"),
        ("New   York", "new york"),
        ("new\u00a0york", "new york"),
        ("c#", "c#"),
        ("हिन्दी", "हिन्दी"),
    ],
)
def test_spellings_of_one_tag_become_equal(text: str, tag: str) -> None:
    assert normalise_tag(text) == tag


@pytest.mark.parametrize("text", ["", "#", "  ", "# #", "\u3000"])
def test_empty_tags_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="empty"):
        normalise_tag(text)


@pytest.mark.parametrize("text", ["a\x00b", "a\tb", "new\nyork", "\x7f", "\ud800"])
def test_control_characters_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="control character"):
        normalise_tag(text)


def test_overlong_tags_are_refused_with_figures() -> None:
    assert len(normalise_tag("x" * MAX_TAG_CHARS)) == MAX_TAG_CHARS
    with pytest.raises(InputError, match=f"{MAX_TAG_CHARS + 1} characters: at most {MAX_TAG_CHARS}"):
        normalise_tag("x" * (MAX_TAG_CHARS + 1))


@given(st.text(max_size=30))
def test_normalising_twice_changes_nothing(text: str) -> None:
    try:
        tag = normalise_tag(text)
    except InputError:
        return
    assert normalise_tag(tag) == tag
    assert normalise_tag("#" + tag) == tag
    assert tag == tag.strip()
    assert tag.encode().decode() == tag


@given(st.text(alphabet=st.characters(codec="ascii"), max_size=12))
def test_case_never_matters(text: str) -> None:
    try:
        tag = normalise_tag(text.upper())
    except InputError:
        return
    assert normalise_tag(text.lower()) == tag


def test_tags_are_sorted_and_unique() -> None:
    assert normalise_tags(["#Goal", "portugal", "GOAL"]) == ("goal", "portugal")
    assert normalise_tags([]) == ()


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("What a #Goal by #Portugal!", ("goal", "portugal")),
        ("#b #a #B", ("b", "a")),
        ("no tags here, C# and 1#2 are none", ()),
        ("cut off #euro201…", ()),
        ("trailing dots #goal... stay", ("goal",)),
        ("it&#39;s at http://example.org/#top", ()),
        ("#1 is a number, #1st is not", ("1st",)),
        ("#हिन्दी #cafe\u0301, (#日本)", ("हिन्दी", "café", "日本")),
        ("#POR#FRA", ("por",)),
        ("#POR/#FRA/#x and a/#b", ("por", "fra", "x")),
        ("#under_score-dash", ("under_score",)),
        ("＃wide", ("wide",)),
        ("# alone ##", ()),
    ],
)
def test_hashtags_are_found_in_text(text: str, tags: tuple[str, ...]) -> None:
    assert tags_in_text(text) == tags


def test_overlong_hashtags_are_no_tags() -> None:
    assert tags_in_text("#" + "x" * (MAX_TAG_CHARS + 1) + " #ok") == ("ok",)


@given(st.text(alphabet=st.sampled_from("#＃aÀß1_ …&/'\u0301\u200d"), max_size=20))
def test_found_tags_are_normalised_and_unique(text: str) -> None:
    tags = tags_in_text(text)
    assert len(set(tags)) == len(tags)
    assert all(normalise_tag(tag) == tag for tag in tags)


@given(st.text(max_size=60))
def test_any_text_can_be_searched(text: str) -> None:
    assert all(tags_in_text(text))
