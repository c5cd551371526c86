"""Queries are read, explained when they cannot be, and expanded without changing their meaning."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thyme.model.errors import InputError
from thyme.model.formulas import Formula, Tag, conjunction, disjunction, formula_text, holds, negation
from thyme.model.normal_forms import expand
from thyme.model.queries import (
    MAX_CONJUNCTIONS,
    MAX_QUERY_CHARS,
    MAX_QUERY_DEPTH,
    Conjunction,
    QueryError,
    parse_query,
)

NAMES = ("a", "b", "c", "new york")
FORMULAS: st.SearchStrategy[Formula] = st.recursive(
    st.sampled_from(NAMES).map(Tag),
    lambda parts: (
        parts.map(negation)
        | st.lists(parts, min_size=1, max_size=4).map(conjunction)
        | st.lists(parts, min_size=1, max_size=4).map(disjunction)
    ),
    max_leaves=12,
)
ASSIGNMENTS = [
    frozenset(name for name, present in zip(NAMES, bits, strict=True) if present)
    for bits in product((False, True), repeat=len(NAMES))
]


def place_of_fault(text: str) -> int | None:
    try:
        parse_query(text)
    except QueryError as error:
        return -1 if error.position is None else error.position
    return None


def subsumes(wide: Conjunction, narrow: Conjunction) -> bool:
    return set(wide.positive) <= set(narrow.positive) and set(wide.negative) <= set(narrow.negative)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("goal & (portugal | france) & !replay", "goal & (portugal | france) & !replay"),
        ("goal and (portugal or france) and not replay", "goal & (portugal | france) & !replay"),
        ("Goal&&(#Portugal||#France)&&!Replay", "goal & (portugal | france) & !replay"),
        ("goal AND NOT replay", "goal & !replay"),
        ("a | b & c", "a | b & c"),
        ("(a | b) & c", "(a | b) & c"),
        ("!a & b", "!a & b"),
        ("!(a & b)", "!(a & b)"),
        ("!!a", "a"),
        ("not not not (a)", "!a"),
        ("((a & (b & c)))", "a & b & c"),
        ("\"New York\" | 'São Paulo'", '"new york" | "são paulo"'),
        (r'"say \"hi\" \\ now"', r'"say \"hi\" \\ now"'),
        (r"'l\'équipe'", "l'équipe"),
        ("l'équipe", "l'équipe"),
        ('"and" | #or', '"and" | "or"'),
        ("ａ＆ｂ", '"a&b"'),
    ],
)
def test_queries_are_read_in_all_their_spellings(text: str, canonical: str) -> None:
    query = parse_query(text)
    assert query.text == canonical
    assert str(query) == canonical


@pytest.mark.parametrize(
    ("text", "position", "message"),
    [
        ("", 0, "expected a tag, '!' or '(', found the end"),
        ("goal &", 6, "expected a tag, '!' or '(', found the end"),
        ("goal & )", 7, "character 8: expected a tag, '!' or '(', found ')': goal & ▶)"),
        ("goal && | b", 8, "found '|'"),
        ("goal portugal", 5, "expected '&', '|' or the end"),
        ("(goal", 5, "the ')' for the '(' of character 1"),
        ("(goal portugal)", 6, "found 'portugal'"),
        ("goal)", 4, "closes nothing"),
        ("goal & 'open", 7, "never closed"),
        (r"'a\n'", 2, "escape"),
        ("'a\\", 2, "escape"),
        ("a & ''", 4, "empty"),
        ("a & #", 4, "empty"),
        ("a & 'x\ty'", 4, "control character"),
        ("! & a", 2, "expected a tag"),
        ("and", 0, "found 'and'"),
    ],
)
def test_errors_point_at_the_place_and_say_what_was_expected(text: str, position: int, message: str) -> None:
    with pytest.raises(QueryError) as caught:
        parse_query(text)
    assert message in str(caught.value)
    assert caught.value.position == position
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, InputError)


def test_error_in_a_long_query_shows_only_its_surroundings() -> None:
    with pytest.raises(QueryError) as caught:
        parse_query(" & ".join(["tag"] * 60) + " & ) & " + " & ".join(["tag"] * 60))
    assert len(str(caught.value)) < 160


@given(st.text(alphabet=st.sampled_from("ab&|!()'\"\\ #\n"), max_size=14) | st.text(max_size=14))
def test_any_text_is_read_or_refused_at_a_place_within_it(text: str) -> None:
    place = place_of_fault(text)
    if place is None:
        query = parse_query(text)
        assert parse_query(query.text) == query
    else:
        assert 0 <= place <= len(text)


@given(FORMULAS)
def test_canonical_text_reads_back_as_the_same_query(formula: Formula) -> None:
    query = parse_query(formula_text(formula))
    assert parse_query(query.text) == query
    assert all(query.matches(tags) == holds(formula, tags) for tags in ASSIGNMENTS)


@given(FORMULAS)
def test_query_and_its_normal_form_agree_on_every_object(formula: Formula) -> None:
    conjunctions = expand(formula)
    for tags in ASSIGNMENTS:
        assert any(each.matches(tags) for each in conjunctions) == holds(formula, tags)


@given(FORMULAS)
def test_normal_form_holds_nothing_contradictory_or_subsumed(formula: Formula) -> None:
    conjunctions = expand(formula)
    for each in conjunctions:
        assert not set(each.positive) & set(each.negative)
        assert list(each.positive) == sorted(set(each.positive))
        assert list(each.negative) == sorted(set(each.negative))
        assert not any(subsumes(other, each) for other in conjunctions if other != each)
    assert len(set(conjunctions)) == len(conjunctions)


@given(FORMULAS)
def test_text_of_a_conjunction_is_a_query_for_it(formula: Formula) -> None:
    for each in expand(formula):
        assert parse_query(str(each)).dnf() == (each,)


def test_normal_form_of_the_papers_example() -> None:
    assert parse_query("A & (B | C)").dnf() == (Conjunction(("a", "b")), Conjunction(("a", "c")))


def test_contradiction_has_an_empty_normal_form() -> None:
    assert parse_query("a & !a").dnf() == ()
    assert parse_query("(a | b) & !a & !b").dnf() == ()


def test_conjunction_without_a_positive_tag_is_legal() -> None:
    assert parse_query("!(a | b)").dnf() == (Conjunction((), ("a", "b")),)


def test_tags_of_a_query_are_sorted_and_unique() -> None:
    assert parse_query("b & !(a | b)").tags() == ("a", "b")


def test_ten_two_literal_clauses_expand_to_all_their_combinations() -> None:
    query = parse_query(" & ".join(f"(a{number} | b{number})" for number in range(10)))
    assert len(query.dnf()) == 1024 == MAX_CONJUNCTIONS


def test_expansion_above_the_cap_is_refused() -> None:
    query = parse_query(" & ".join(f"(a{number} | b{number})" for number in range(11)))
    with pytest.raises(QueryError, match=f"more than {MAX_CONJUNCTIONS} conjunctions"):
        query.dnf()
    with pytest.raises(QueryError, match="conjunctions"):
        parse_query(" & ".join(f"(a{n} | b{n} | c{n} | d{n} | e{n})" for n in range(20))).dnf()


def test_clauses_that_subsume_each_other_do_not_count_towards_the_cap() -> None:
    clauses = " & ".join(f"(goal | b{number})" for number in range(20))
    assert parse_query(clauses).dnf() == (
        Conjunction(("goal",)),
        Conjunction(tuple(sorted(f"b{number}" for number in range(20)))),
    )


def test_exclusive_choices_stay_small_while_they_are_expanded() -> None:
    query = parse_query(" & ".join(["(a & !b | !a & b)"] * 30))
    assert query.dnf() == (Conjunction(("a",), ("b",)), Conjunction(("b",), ("a",)))


def test_length_and_depth_are_bounded() -> None:
    with pytest.raises(QueryError, match=f"at most {MAX_QUERY_CHARS}"):
        parse_query("x" * (MAX_QUERY_CHARS + 1))
    with pytest.raises(QueryError, match="in its normal form"):
        parse_query("&".join(["a"] * (MAX_QUERY_CHARS // 2)))
    nested = "(" * MAX_QUERY_DEPTH + "a" + ")" * MAX_QUERY_DEPTH
    assert parse_query(nested).text == "a"
    with pytest.raises(QueryError, match="nested") as caught:
        parse_query(f"({nested})")
    assert caught.value.position == MAX_QUERY_DEPTH
