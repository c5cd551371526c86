"""Every format that people have, with the traps of real files."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from random import Random

import pytest
from post_samples import (
    KICKOFF_ID,
    KICKOFF_S,
    OLD_TWEETS,
    OLD_TWEETS_3,
    TAGS,
    Read,
    page,
    read_content,
    scraped,
    skeet,
    status,
    toot,
)

from thyme.model.errors import InputError
from thyme.pipeline.posts.formats import file_parts
from thyme.pipeline.posts.formats.file_parts import find_files, plan_parts
from thyme.pipeline.posts.formats.mapped import ColumnMap, parse_map
from thyme.pipeline.posts.formats.posts import ParsedPost, Unreadable
from thyme.pipeline.posts.formats.reading import read_part
from thyme.pipeline.posts.formats.results import LineCount, Rejected
from thyme.pipeline.posts.formats.times import best_time, parse_time
from thyme.pipeline.posts.ingest import lines_before
from thyme.places import Place

Write = Callable[..., Read]


@pytest.fixture
def read(tmp_path: Path) -> Write:
    return partial(read_content, tmp_path)


def test_twitter_statuses_keep_exact_ids_and_milliseconds(read: Write) -> None:
    posts, rejected, _ = read(json.dumps(status()) + "\n")
    assert posts == [ParsedPost(KICKOFF_ID, "ana", KICKOFF_S, "Allez! #Euro2016", ("euro2016",))]
    assert rejected == []


def test_objects_without_newlines_between_them_and_stream_notices(read: Write) -> None:
    glued = json.dumps(status()) + json.dumps(status("741344187491811329")) + "\n"
    notice = json.dumps({"delete": {"status": {"id_str": "1"}}}) + "\n"
    posts, rejected, skipped = read(gzip.compress((notice + glued + '{"cut": \n').encode()))
    assert [post.id for post in posts] == [KICKOFF_ID, "741344187491811329"]
    assert skipped == 1
    assert [(one.line, one.reason[:8]) for one in rejected] == [(3, "not JSON")]


def test_truncated_statuses_give_their_full_text_and_tags(read: Write) -> None:
    full = {"full_text": "the whole story #Euro2016 #FRA", "entities": {"hashtags": [{"text": "FRA"}]}}
    cut = status(text="the whole … #Eur…", truncated=True, extended_tweet=full, entities={"hashtags": []})
    retweet = status("741344187491811329", "RT @bob: the wh…", retweeted_status=status(text="the whole #Euro2016"))
    posts, _, _ = read(json.dumps(cut) + "\n" + json.dumps(retweet) + "\n")
    assert posts[0].text == "the whole story #Euro2016 #FRA"
    assert posts[0].tags == ("fra",)
    assert posts[1].text == "RT @bob: the whole #Euro2016"
    assert posts[1].tags == ("euro2016",)


def test_pages_of_the_new_api_join_authors_and_reject_single_items(read: Write) -> None:
    posts, rejected, _ = read(json.dumps(page(), indent=1))
    assert [(post.author, post.text, post.tags) for post in posts] == [
        ("ana", "a long one #EURO2016", ("euro2016",)),
        ("8", "no tags", ()),
    ]
    assert "some day" in rejected[0].reason
    assert rejected[0].line == 1
    assert '"id": "741344187491811330"' in rejected[0].record
    same, _, _ = read(json.dumps(page()) + "\n" + json.dumps(page()) + "\n", "pages.jsonl")
    assert len(same) == 4


def test_snscrape_lines_old_and_new(read: Write) -> None:
    old = scraped(content="vieux #but", hashtags=None)
    del old["rawContent"]
    posts, _, _ = read(json.dumps(scraped()) + "\n" + json.dumps(old))
    assert [(post.text, post.tags, post.at_s) for post in posts] == [
        ("Allez #Euro2016", ("euro2016",), KICKOFF_S),
        ("vieux #but", ("but",), KICKOFF_S),
    ]


def test_get_old_tweets_with_all_its_traps(read: Write) -> None:
    posts, rejected, _ = read(OLD_TWEETS)
    by_author = {post.author: post for post in posts}
    assert list(by_author) == ["ana", "bob", "eve", "dan", "kim", "sam"]
    assert by_author["ana"].text == "Allez; les bleus"
    assert by_author["ana"].tags == ("euro2016", "fra")
    assert by_author["ana"].at_s == KICKOFF_S
    assert by_author["eve"].text == "one; two; three"
    assert by_author["dan"].text == "two\nlines"
    assert by_author["kim"].id == "741344187491811332"
    assert by_author["sam"].id.startswith("made-")
    assert by_author["sam"].tags == ("goal",)
    assert [(one.line, one.reason.split(";")[0]) for one in rejected] == [
        (9, "it has 2 cells"),
        (10, "its time 'yesterday' cannot be read"),
    ]


def test_a_header_with_a_missing_comma(read: Write) -> None:
    posts, rejected, _ = read(OLD_TWEETS_3)
    assert posts == [ParsedPost(KICKOFF_ID, "ana", KICKOFF_S, "Allez, les bleus", ("euro2016",))]
    assert rejected == []


def test_tags_sheets_take_tags_from_the_text_and_drop_cut_ones(read: Write) -> None:
    posts, _, _ = read(TAGS)
    assert [(post.id, post.author, post.tags) for post in posts] == [(KICKOFF_ID, "ana", ("euro2016",))]


def test_mastodon_statuses_are_named_by_uri_and_read_as_text(read: Write) -> None:
    posts, _, _ = read(json.dumps([toot()], indent=2))
    text = "Tor & Jubel\nim Stadion #EM2024\n\nLos!"
    uri = "https://social.example/users/ana/statuses/99"
    assert posts == [ParsedPost(uri, "ana@social.example", 1718391600.0, text, ("em2024",))]


def test_jetstream_gives_created_posts_only(read: Write) -> None:
    events = [skeet("delete"), skeet(), skeet("create", "app.bsky.feed.like"), {"did": "x", "kind": "identity"}]
    posts, rejected, skipped = read("".join(json.dumps(one) + "\n" for one in events))
    assert posts == [ParsedPost("did:plc:ana/3k", "did:plc:ana", 1718391600.5, "kick-off #EURO2024", ("euro2024",))]
    assert (rejected, skipped) == ([], 3)


@pytest.mark.parametrize(
    ("content", "seen"),
    [
        ('{"foo": 1, "bar": 2}\n', "its first object has the keys foo, bar"),
        ("a,b,c\n1,2,3\n", r"it starts with 'a,b,c\\n1,2,3\\n'"),
        (b"\x00\x01\x02", "it starts with"),
        (b"\x1f\x8bxx", "cannot be decompressed"),
        (b"", "all files are empty"),
    ],
)
def test_an_unknown_file_is_an_error_that_shows_what_was_seen(read: Write, content: str | bytes, seen: str) -> None:
    with pytest.raises(InputError, match=seen):
        read(content)


def test_lines_that_are_not_text_are_rejected_alone(read: Write) -> None:
    posts, rejected, _ = read(json.dumps(status()).encode() + b"\n\xff\xfe{}\n" + json.dumps(status("5")).encode())
    assert [post.id for post in posts] == [KICKOFF_ID, "5"]
    assert [(one.line, one.reason) for one in rejected] == [(2, "it is not UTF-8 at character 1")]
    row = b"741344187491811329,b\xe9b,x,Fri Jun 10 19:00:02 +0000 2016,,\n"
    posts, rejected, _ = read(TAGS.encode() + row)
    assert len(posts) == 1
    assert [(one.line, one.reason) for one in rejected] == [(3, "it is not utf-8")]


def test_a_file_that_breaks_off_is_read_up_to_there(read: Write) -> None:
    whole = gzip.compress("".join(json.dumps(status(str(n))) + "\n" for n in range(10, 3000)).encode())
    posts, rejected, _ = read(whole[: len(whole) - 20])
    assert len(posts) > 1000
    assert "breaks off" in rejected[-1].reason


def read_parts(path: Path, columns: ColumnMap | None = None) -> tuple[list[ParsedPost], list[tuple[int, str]], int]:
    """What all parts of a file give: posts, rejected records with their lines in the file, and how many parts."""
    parts = plan_parts([path], columns)
    counted = [LineCount() for _ in parts]
    read = [list(read_part(part, count)) for part, count in zip(parts, counted, strict=True)]
    before = lines_before(parts, [count.number for count in counted])
    posts = [one for of_part in read for one in of_part if isinstance(one, ParsedPost)]
    rejected = [
        (start + one.line, one.record)
        for start, of_part in zip(before, read, strict=True)
        for one in of_part
        if isinstance(one, Rejected)
    ]
    return posts, rejected, len(parts)


def test_splitting_a_large_file_loses_and_repeats_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "large.jsonl"
    lines = [json.dumps(status(str(10_000 + n), "x" * (n % 97))) for n in range(300)]
    lines[150] = "{broken"
    path.write_text("\n".join(lines))
    for size in (100, 777, 5_000, 200_000):
        monkeypatch.setattr(file_parts, "PART_BYTES", size)
        posts, rejected, _ = read_parts(path)
        assert [one.id for one in posts] == [str(10_000 + n) for n in range(300) if n != 150]
        assert rejected == [(151, "{broken")]


def table_rows(random: Random, rows: int) -> Iterator[str]:
    """Rows as they are found: plain, quoted, over several lines, with a lone quotation mark, or with no time."""
    for number in range(rows):
        when = "never" if random.random() < 0.05 else f"2016-06-10T19:{number % 60:02d}:00Z"
        lines = "\n".join(f"line {one} of {number}" for one in range(random.randrange(2, 6)))
        text = random.choices(
            [f"post {number} #goal", f'"said ""yes"", {number}"', f'"{lines}"', f'a 12" screen {number}'],
            [90, 4, 3, 3],
        )[0]
        yield f"user{number},{when},{text}"


@pytest.mark.parametrize("seed", range(4))
def test_a_table_in_parts_is_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    path, columns = tmp_path / "large.csv", parse_map("author=who,at=when,text=said")
    path.write_text("\n".join(["who,when,said", *table_rows(Random(seed), 3_000)]))
    whole = read_parts(path, columns)
    assert (len(whole[0]) > 2_500, len(whole[1]) > 50, whole[2]) == (True, True, 1)
    for size in (1_000, 7_777, 40_000):
        monkeypatch.setattr(file_parts, "PART_BYTES", size)
        posts, rejected, parts = read_parts(path, columns)
        assert parts > 2
        assert posts == whole[0]
        assert rejected == whole[1]


def test_folders_and_patterns_lead_to_files(tmp_path: Path) -> None:
    for name in ("a/one.json", "a/_SUCCESS", "b/two.json", "b/.hidden"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("{}")
    found = find_files([str(tmp_path / "a"), str(tmp_path / "*" / "*.json")])
    assert found == [tmp_path / "a" / "one.json", tmp_path / "b" / "two.json"]
    with pytest.raises(InputError, match="no such file"):
        find_files([str(tmp_path / "nothing*")])


def test_hidden_files_of_a_folder_are_passed_over_and_told_and_read_when_named(tmp_path: Path) -> None:
    for name in ("_crawl.json", ".part.json", "shown.json"):
        (tmp_path / name).write_text("{}")
    told: list[Place] = []
    assert find_files([str(tmp_path)], told.append) == [tmp_path / "shown.json"]
    assert told == [tmp_path / ".part.json", tmp_path / "_crawl.json"]
    assert find_files([str(tmp_path / "_crawl.json")], told.append) == [tmp_path / "_crawl.json"]
    (tmp_path / "shown.json").unlink()
    with pytest.raises(InputError, match=r"no files but .*_crawl\.json, which is read when named"):
        find_files([str(tmp_path)])


@pytest.mark.parametrize(
    ("value", "at_s"),
    [
        ("Fri Jun 10 19:00:02 +0000 2016", 1465585202.0),
        ("2016-06-10T19:00:02Z", 1465585202.0),
        ("2016-06-10T21:00:02+02:00", 1465585202.0),
        ("2016-06-10 19:00", 1465585200.0),
        ("10/06/2016 19:00:02", 1465585202.0),
        (1465585202, 1465585202.0),
        ("1465585202464", 1465585202.464),
        (1465585202464000, 1465585202.464),
    ],
)
def test_times_in_many_spellings(value: object, at_s: float) -> None:
    assert parse_time(value) == at_s


def test_the_id_tells_the_time_better_than_a_date_of_minutes() -> None:
    assert best_time(KICKOFF_ID, "2016-06-10 21:00") == KICKOFF_S
    assert best_time(KICKOFF_ID, "2016-07-10 21:00") == parse_time("2016-07-10 21:00")
    assert best_time("12345", "2016-06-10 21:00") == parse_time("2016-06-10 21:00")
    assert best_time(KICKOFF_ID, "") == KICKOFF_S
    with pytest.raises(Unreadable):
        best_time(KICKOFF_ID, "yesterday")


FUSED = "username;date;retweets;favorites;texturl;hashtags\n"
WIDE = [f"ana;2016-07-10 20:{n:02d};0;0;post {n} #goal;http://x.example/{n};#goal" for n in range(20)]


def test_a_table_that_is_wider_than_its_header_is_refused_with_a_guess(tmp_path: Path) -> None:
    file = tmp_path / "wide.csv"
    file.write_text(FUSED.replace("texturl", "text") + "\n".join(WIDE) + "\n")
    with pytest.raises(InputError, match=r"wide\.csv: 20 of its first 20 rows have more cells than .* \(6\): repair"):
        plan_parts([file])
    assert plan_parts([file], join_text=True)[0].format == "GetOldTweets"
    file.write_text(FUSED + "\n".join(WIDE) + "\n")
    columns = ColumnMap(author="username", at="date", text="texturl")
    with pytest.raises(InputError, match=r"'text;url' seem to have grown together: repair its first line"):
        plan_parts([file], columns)


def test_single_rows_that_are_too_wide_are_the_text_s_fault(tmp_path: Path) -> None:
    file = tmp_path / "right.csv"
    right = [row.replace(";http", " http") for row in WIDE]
    file.write_text(FUSED.replace("texturl", "text") + "\n".join([*right, *WIDE[:9]]) + "\n")
    assert plan_parts([file])[0].kind == "table"
