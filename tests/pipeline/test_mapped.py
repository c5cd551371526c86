"""Files of a format of their own: maps that fit, and what is said of those that do not."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from post_samples import TAGS, Read, read_content, read_file, status

from thyme.model.errors import InputError
from thyme.pipeline.posts.formats.mapped import UNNAMED, ColumnMap, parse_map
from thyme.pipeline.posts.formats.posts import ParsedPost

Write = Callable[..., Read]


@pytest.fixture
def read(tmp_path: Path) -> Write:
    return partial(read_content, tmp_path)


def test_files_of_their_own_format_are_mapped(read: Write) -> None:
    columns = parse_map("id=key,author=by.name,at=when,text=body,tags=labels")
    record = {"key": 5, "by": {"name": "ana"}, "when": "2016-06-10 19:00", "body": "hello", "labels": ["A", "b"]}
    posts, _, _ = read(json.dumps(record), columns=columns)
    assert posts == [ParsedPost("5", "ana", 1465585200.0, "hello", ("a", "b"))]
    flat = ColumnMap(author="who", at="when", text="said")
    posts, rejected, _ = read("when\twho\tsaid\n1465585200\tana\thi #there\n\tbob\tx\n", columns=flat)
    assert [(post.author, post.tags) for post in posts] == [("ana", ("there",))]
    assert [(one.line, one.reason[:8]) for one in rejected] == [(3, "its time")]


def test_posts_need_not_name_their_authors(read: Write) -> None:
    columns = parse_map("at=when,text=said")
    posts, rejected, _ = read("when,said\n1465585200,hi #there\n1465585201,ho #here\n", columns=columns)
    assert [(post.author, post.tags) for post in posts] == [(UNNAMED, ("there",)), (UNNAMED, ("here",))]
    posts, rejected, _ = read(json.dumps({"when": 1465585200, "said": "hi #there"}), columns=columns)
    assert ([post.author for post in posts], rejected) == ([UNNAMED], [])


@pytest.mark.parametrize(
    "text",
    ["author=x", "author=x,text=c", "author=a,at=b,text=c,color=d", "nonsense", "", "author=a,at=b,text=c,author=d"],
)
def test_a_map_that_lacks_something_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"--map: .* expected"):
        parse_map(text)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("wen,who,said\n1,2,3\n", "file: --map at=when: no such column; it has the columns wen, who, said"),
        (
            '{"who": "a", "said": "x", "wen": 1}',
            "--map at=when: no such column; its first object has the keys who, said",
        ),
        ('{"who": "a", "said": "x", "when": {"to": 1}}', "--map at=when.at: no such column"),
        (json.dumps(status()), r"fits none of the files, .*file \(Twitter v1.1\); leave it out"),
        (TAGS, r"fits none of the files, .*file \(TAGS\)"),
    ],
)
def test_a_map_that_does_not_fit_says_what_is_missing_where(read: Write, content: str, told: str) -> None:
    at = "when.at" if "when.at" in told else "when"
    columns = parse_map(f"author=who,at={at},text=said")
    if content is TAGS:
        columns = parse_map("author=from,at=created_at,text=text")
    with pytest.raises(InputError, match=told):
        read(content, columns=columns)


def test_a_mapped_id_or_tag_that_no_object_has_is_told(read: Write) -> None:
    lines = [{"who": "a", "when": 1465585200 + n, "said": "x"} for n in range(300)]
    lines.append({"who": "a", "when": 1465585200, "said": "x", "labels": ["late"], "key": None})
    text = "\n".join(map(json.dumps, lines))
    posts, _, _ = read(text, columns=parse_map("author=who,at=when,text=said,tags=labels,id=key"))
    assert posts[-1].tags == ("late",)
    with pytest.raises(
        InputError, match=r"--map id=kye: no such column; its first object has the keys who, when, said"
    ):
        read(text, columns=parse_map("author=who,at=when,text=said,tags=labels,id=kye"))


def test_paths_lead_into_structures_of_parquet_as_of_json(tmp_path: Path) -> None:
    rows = [{"by": {"name": "ana", "n": 1}, "when": 1465585200, "a.b": "hi #there", "key": {"id": 5}}]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "own")
    posts, rejected, _ = read_file(tmp_path / "own", parse_map("author=by.name,at=when,text=a.b,id=key.id"))
    assert posts == [ParsedPost("5", "ana", 1465585200.0, "hi #there", ("there",))]
    assert rejected == []
    with pytest.raises(
        InputError, match=r"--map author=by\.nam: no such column; a Parquet file with the columns by, when"
    ):
        read_file(tmp_path / "own", parse_map("author=by.nam,at=when,text=a.b"))
