"""Whatever a file has gone through, what can be read is read, and what cannot is told, once and where it is."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import zipfile
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from post_samples import KICKOFF_ID, TAGS, page, read_content, read_file, scraped, skeet, status, toot

from thyme.model.errors import InputError
from thyme.pipeline.posts.formats import reading
from thyme.pipeline.posts.formats.file_parts import plan_parts
from thyme.pipeline.posts.formats.mapped import ColumnMap
from thyme.pipeline.posts.formats.reading import read_part
from thyme.pipeline.posts.formats.statuses import UsualPosts

PLAIN = ColumnMap(author="who", at="when", text="said", id="key")


def numbered(count: int, first: int = 10) -> list[dict[str, Any]]:
    return [status(str(number), f"post {number} #goal") for number in range(first, first + count)]


def test_objects_with_nothing_between_them_are_read_to_the_end_whatever_their_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "LINE_BYTES", 1_000)
    monkeypatch.setattr("thyme.pipeline.posts.formats.file_parts.PART_BYTES", 2_000)
    glued = "".join(map(json.dumps, numbered(200)))
    posts, rejected, _ = read_content(tmp_path, glued)
    assert [post.id for post in posts] == [str(number) for number in range(10, 210)]
    assert rejected == []
    lines = "\n".join("".join(map(json.dumps, numbered(20, first))) for first in (10, 30, 50))
    posts, rejected, _ = read_content(tmp_path, lines)
    assert [post.id for post in posts] == [str(number) for number in range(10, 70)]
    assert rejected == []


def test_a_damaged_object_costs_no_other(tmp_path: Path) -> None:
    good = list(map(json.dumps, numbered(4)))
    glued = good[0] + '{"id_str": "1", "text": oh, "user": {"screen_name": "x"}}' + good[1] + '{"cut": "of' + good[2]
    posts, rejected, _ = read_content(tmp_path, f"{glued}\n{good[3]}\n")
    assert [post.id for post in posts] == ["10", "11", "12", "13"]
    assert [(one.line, one.record) for one in rejected] == [
        (1, '{"id_str": "1", "text": oh, "user": {"screen_name": "x"}}'),
        (1, '{"cut": "of'),
    ]


def test_a_damaged_object_in_a_document_costs_no_other(tmp_path: Path) -> None:
    parts = [json.dumps(one, indent=2) for one in numbered(3)]
    broken = '{\n  "id_str": "1",\n  "text": \n  "user": {"screen_name": "x"}\n}'
    posts, rejected, _ = read_content(tmp_path, "[\n" + ",\n".join([parts[0], broken, *parts[1:]]) + "\n]\n")
    assert [post.id for post in posts] == ["10", "11", "12"]
    [one] = rejected
    assert one.record.startswith('{\n  "id_str": "1",')
    assert one.line == 2 + parts[0].count("\n") + 1


def test_the_posts_of_a_damaged_page_are_found_one_by_one(tmp_path: Path) -> None:
    text = json.dumps(page()).replace('"includes": {', '"includes": oh {')
    posts, rejected, _ = read_content(tmp_path, json.dumps(status()) + "\n" + text)
    assert [post.author for post in posts] == ["ana", "7", "8"]
    assert [one.record[:10] for one in rejected] == ['{"data": [', '{"id": "74', '"includes"']


def test_a_list_with_one_object_per_line_is_a_list(tmp_path: Path) -> None:
    for start, between, end in (("[\n", ",\n", "\n]\n"), ("[", ",\n", "]"), ("[\n", "\n,", "]")):
        posts, rejected, _ = read_content(tmp_path, start + between.join(map(json.dumps, numbered(5))) + end)
        assert (len(posts), rejected) == (5, [])


def test_a_page_is_a_page_though_single_items_are_damaged_or_missing(tmp_path: Path) -> None:
    damaged = page()
    damaged["data"] += [{"id": "5"}, "nonsense", {"id": "6", "text": "x", "author_id": {"a": 1}}, {"text": 5}]
    posts, rejected, _ = read_content(tmp_path, json.dumps(damaged))
    assert len(posts) == 2
    assert len(rejected) == 5
    assert rejected[1].record == '{"id": "5"}'
    empty = [{"meta": {"result_count": 0}}, {"data": [], "meta": {}}, {"errors": [{"title": "Not Found Error"}]}]
    posts, rejected, skipped = read_content(tmp_path, "\n".join(map(json.dumps, [*empty, page()])))
    assert (len(posts), len(rejected), skipped) == (2, 1, 3)


@pytest.mark.parametrize("includes", [[], ["x"], {"users": ["x", 5]}, {"users": {"a": 1}}, {"users": [{"id": []}]}, 7])
def test_authors_that_cannot_be_looked_up_keep_their_ids(tmp_path: Path, includes: object) -> None:
    posts, _, _ = read_content(tmp_path, json.dumps({**page(), "includes": includes}))
    assert [post.author for post in posts] == ["7", "8"]


@pytest.mark.parametrize(
    "record",
    [
        '{"a": ' + "9" * 5_000 + "}",
        "[" * 100_000 + "]" * 100_000,
        '{"a": ' + "[" * 100_000,
        '{"a":' * 20_000 + "1" + "}" * 20_000,
        '[{"a":' * 20_000 + "1",
        json.dumps(status(created_at={"a": 1})),
        json.dumps({**status(), "text": ["x"]}),
        json.dumps(status(entities={"hashtags": 7})),
        json.dumps(status(user={"screen_name": 5})),
        json.dumps(scraped(hashtags=5)),
        json.dumps(scraped(id={"a": 1}, date=1e400)),
        json.dumps({**toot(), "uri": {"a": 1}}),
        json.dumps({**toot(), "uri": "x" * 5_000}),
        json.dumps({**toot(), "tags": 5}),
        json.dumps({**skeet(), "time_us": 10**300}),
        json.dumps({**skeet(), "did": ["x"]}),
        "\ud800".encode(errors="surrogatepass").decode(errors="replace"),
        "null",
        '"text"',
        "nonsense",
    ],
)
def test_no_record_keeps_the_next_one_from_being_read(tmp_path: Path, record: str) -> None:
    lines = [json.dumps(status()), record, json.dumps(status("5"))]
    for between in ("\n", " "):
        posts, rejected, _ = read_content(tmp_path, between.join(lines))
        assert [post.id for post in posts if post.author == "ana"][:: max(1, len(posts) - 1)] == [KICKOFF_ID, "5"]
        assert len(rejected) <= 1


@pytest.mark.parametrize("identity", ["²", "٣", "1" * 5_000, "9" * 30])
def test_ids_that_only_look_like_numbers_of_twitter_are_texts(tmp_path: Path, identity: str) -> None:
    row = f"{identity},ana,hi,Fri Jun 10 19:00:02 +0000 2016,,x\n"
    posts, rejected, _ = read_content(tmp_path, TAGS + row)
    assert len(posts) + len(rejected) == 2
    assert [post.id for post in posts[1:]] == ([identity] if len(identity) < 1_000 else [])


def test_rows_of_parquet_are_guarded_like_any_other(tmp_path: Path) -> None:
    huge = [float("inf"), 1465585202.0, float("nan"), 1e300]
    table = pa.table({"key": ["²", "2", "3", "4"], "who": ["a", "b", "c", "d"], "when": huge, "said": ["x"] * 4})
    pq.write_table(table, tmp_path / "own")
    posts, rejected, _ = read_file(tmp_path / "own", PLAIN)
    assert [post.id for post in posts] == ["2"]
    assert [one.line for one in rejected] == [1, 3, 4]


def test_bytes_that_are_no_text_spoil_their_own_record_only(tmp_path: Path) -> None:
    texts = [json.dumps(one).encode() for one in numbered(3)]
    texts[1] = texts[1].replace(b"post", b"p\xe9st")
    for between in (b"", b"\n", b",\n"):
        posts, rejected, _ = read_content(tmp_path, between.join(texts))
        assert [post.id for post in posts] == ["10", "12"]
        assert [one.reason.rsplit(" ", 1)[0] for one in rejected] == ["it is not UTF-8 at character"]


def zipped(**members: bytes) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name.replace("__slash__", "/"), content)
    return held.getvalue()


def test_a_broken_archive_is_an_error_in_one_line(tmp_path: Path) -> None:
    whole = zipped(a=json.dumps(status()).encode())
    for content in (b"PK\x03\x04junk", whole[: len(whole) // 2]):
        with pytest.raises(InputError, match="file: a damaged zip archive"):
            read_content(tmp_path, content)


def test_what_a_mac_adds_to_archives_is_passed_over(tmp_path: Path) -> None:
    content = zipped(**{"a.json": json.dumps(status()).encode(), "__MACOSX__slash__._a.json": b"\x00\x05\x16\x07"})
    posts, rejected, _ = read_content(tmp_path, content)
    assert (len(posts), rejected) == (1, [])


def test_a_member_whose_sum_is_wrong_is_read_and_told(tmp_path: Path) -> None:
    lines = "".join(json.dumps(one) + "\n" for one in numbered(3_000)).encode()
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("a", lines)
    content = held.getvalue().replace(b"post 2900", b"past 2900")
    posts, rejected, _ = read_content(tmp_path, content)
    assert len(posts) > 2_500
    assert "breaks off or is damaged" in rejected[-1].reason


@pytest.mark.parametrize("pack", [gzip.compress, partial(bz2.compress, compresslevel=1), lzma.compress])
@pytest.mark.parametrize("indent", [None, 1])
def test_compressed_files_that_break_off_give_what_they_still_hold(
    tmp_path: Path, pack: Any, indent: int | None
) -> None:
    # incompressible texts, so that every format has written something out long before its end
    noise = [status(str(n), f"{pow(7, 900 + n, 2**4096):x}") for n in range(10, 700)]
    whole = pack("\n".join(json.dumps(one, indent=indent) for one in noise).encode())
    posts, rejected, _ = read_content(tmp_path, whole[: len(whole) * 3 // 4])
    assert 300 < len(posts) < 690
    assert "breaks off or is damaged" in rejected[-1].reason
    assert len(rejected) <= 2


def test_lines_that_end_in_a_carriage_return_alone(tmp_path: Path) -> None:
    posts, rejected, _ = read_content(tmp_path, (TAGS + "broken\n").replace("\n", "\r"))
    assert ([post.id for post in posts], [one.line for one in rejected]) == ([KICKOFF_ID], [3])
    table = "\ufeff" + TAGS
    posts, rejected, _ = read_content(tmp_path, table.replace("\n", "\r").encode("utf-16"))
    assert ([post.id for post in posts], rejected) == ([KICKOFF_ID], [])
    posts, rejected, _ = read_content(tmp_path, "\r".join(map(json.dumps, numbered(3))))
    assert (len(posts), rejected) == (3, [])


@pytest.mark.parametrize("header", ["x" * 200_000 + ",b\n1,2\n", '"' + "x," * 100_000])
def test_a_header_too_long_for_one_is_an_unknown_file(tmp_path: Path, header: str) -> None:
    with pytest.raises(InputError, match="not recognised; it starts with"):
        read_content(tmp_path, header)


def test_a_row_too_long_for_one_is_rejected_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "LINE_BYTES", 1_000)
    row = TAGS.splitlines()[1]
    for line_end in ("\n", "\r"):
        content = "\n".join([TAGS.splitlines()[0], "x" * 5_000, row]).replace("\n", line_end)
        posts, rejected, _ = read_content(tmp_path, content)
        assert len(posts) == 1
        assert [one.line for one in rejected] == [2]


def test_files_are_read_from_any_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "a.json").write_text(json.dumps(status()))
    monkeypatch.chdir(tmp_path)
    [source] = plan_parts([Path("a.json")])
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert source.name == "a.json"
    (usual,) = read_part(source)
    assert isinstance(usual, UsualPosts)
    assert [one.id for one in usual.posts()] == [KICKOFF_ID]


@pytest.mark.parametrize(
    "content", [json.dumps(status()).encode(), gzip.compress(TAGS.encode()), zipped(a=TAGS.encode())]
)
def test_a_file_that_workers_do_not_see_is_no_damage(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a").write_bytes(content)
    [source] = plan_parts([tmp_path / "a"])
    (tmp_path / "a").unlink()
    with pytest.raises(InputError, match="put the files where all machines see them"):
        list(read_part(source))
