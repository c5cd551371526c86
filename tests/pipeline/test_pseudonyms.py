"""Nothing that leads to a person is left, in posts or in what is said of rejected records."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from post_samples import Read, read_content, status

from thyme.pipeline.posts.formats.posts import ParsedPost
from thyme.pipeline.posts.formats.pseudonyms import Pseudonyms

Write = Callable[..., Read]


@pytest.fixture
def read(tmp_path: Path) -> Write:
    return partial(read_content, tmp_path)


def test_pseudonyms_hide_author_mentions_and_id_and_depend_on_the_key() -> None:
    post = ParsedPost("did:plc:ana/3k", "ana", 1.0, "thanks @Ana and @bob@social.example! a@b.c #goal", ("goal",))
    hidden = Pseudonyms(b"secret").of(post)
    again = Pseudonyms(b"secret").of(ParsedPost("2", "ANA", 1.0, "", ()))
    assert "ana" not in hidden.id
    assert hidden.author == again.author != "ana"
    assert hidden.text.startswith(f"thanks @{hidden.author} and @user")
    assert "bob" not in hidden.text
    assert hidden.tags == ("goal",)
    assert Pseudonyms(b"other").of(post).author != hidden.author


@pytest.mark.parametrize(
    "lead",
    [
        "https://twitter.com/ana/status/741344187491811328",
        "http://x.com/Ana",
        "twitter.com/ana/status/741344187491811328?s=20",
        "https://social.example/@ana/99",
        "bsky.app/profile/ana.example.org",
        "at://did:plc:ana/app.bsky.feed.post/3k",
        "did:plc:ana",
        "ana.bsky.social",
        "@ana.bsky.social",
        "ana@social.example",
        "https://t.co/ana",
        "＠ana",
    ],
)
def test_pseudonyms_hide_what_leads_to_a_person(lead: str) -> None:
    post = ParsedPost("1", "bob", 1.0, f"see ({lead}), or {lead}. 3.5 to 2 at 20:45 and/or #goal", ("goal",))
    hidden = Pseudonyms(b"secret").of(post).text
    assert "ana" not in hidden.lower()
    assert "741344187491811328" not in hidden
    assert hidden.startswith("see (")
    assert hidden.endswith(" 3.5 to 2 at 20:45 and/or #goal")


def test_a_mention_is_the_pseudonym_of_the_author_whatever_follows() -> None:
    secret = Pseudonyms(b"secret")
    ana = secret.of(ParsedPost("1", "ana", 1.0, "", ())).author
    assert secret.of(ParsedPost("2", "bob", 1.0, "it was @ana.", ())).text == f"it was @{ana}."


def test_reasons_can_be_told_without_what_they_quote(read: Write) -> None:
    secret = '{"id_str": "ana", oh'
    _, rejected, _ = read("\n".join([json.dumps(status()), secret, '{"ana": 1}', json.dumps(status(created_at="ana"))]))
    assert all("ana" in one.record for one in rejected)
    assert [one.public_reason for one in rejected] == [
        "not JSON at character 19: …",
        "an object of no known format, with …",
        "its time … cannot be read; expected a date such as 2016-07-10T20:00:00Z",
    ]
