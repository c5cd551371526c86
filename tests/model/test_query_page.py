"""docs/reference/queries.md says how queries are read, what errors say and what the limits are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from thyme.model.queries import MAX_CONJUNCTIONS, MAX_QUERY_CHARS, MAX_QUERY_DEPTH, QueryError, parse_query
from thyme.model.tags import MAX_TAG_CHARS

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "queries.md").read_text("utf-8")


def section(title: str) -> str:
    return PAGE.split(f"## {title}\n")[1].split("\n## ")[0]


@pytest.mark.parametrize(("query", "spelling"), re.findall(r"^\| `(.+)` \| `(.+)` \|$", section("Examples"), re.M))
def test_an_example_is_read_as_the_page_says(query: str, spelling: str) -> None:
    assert parse_query(query).text == spelling


@pytest.mark.parametrize(("query", "error"), re.findall(r"^\| `(.+)` \| (.+) \|$", section("Errors"), re.M))
def test_a_mistake_is_told_as_the_page_says(query: str, error: str) -> None:
    with pytest.raises(QueryError) as caught:
        parse_query(query)
    assert str(caught.value).endswith(error.replace("\\|", "|"))


def test_the_limits_are_those_of_the_code() -> None:
    limits = [int(number) for number in re.findall(r"^\| .+ \| (\d+) \|$", section("Limits"), re.M)]
    assert limits == [MAX_QUERY_CHARS, MAX_TAG_CHARS, MAX_QUERY_DEPTH, MAX_CONJUNCTIONS]
