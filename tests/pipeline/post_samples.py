"""Small files of posts in every format that people have, with the traps seen in real ones; and how to read some."""

from __future__ import annotations

import bz2
import gzip
import json
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from thyme.pipeline.posts.formats.file_parts import plan_parts
from thyme.pipeline.posts.formats.mapped import ColumnMap
from thyme.pipeline.posts.formats.posts import ParsedPost, Skipped
from thyme.pipeline.posts.formats.reading import read_part
from thyme.pipeline.posts.formats.results import Rejected
from thyme.pipeline.posts.formats.statuses import UsualPosts

Read = tuple[list[ParsedPost], list[Rejected], int]
KICKOFF_ID = "741344187491811328"
"""A Twitter id whose time is 2016-06-10T19:00:02.464Z."""
KICKOFF_S = 1465585202.464


def read_file(path: Path, columns: ColumnMap | None = None) -> Read:
    """The posts of a file, what was rejected, and how much was skipped."""
    results = [one for part in plan_parts([path], columns) for one in read_part(part)]
    usual = [post for one in results if isinstance(one, UsualPosts) for post in one.posts()]
    posts = usual + [one for one in results if isinstance(one, ParsedPost)]
    rejected = [one for one in results if isinstance(one, Rejected)]
    return posts, rejected, sum(isinstance(one, Skipped) for one in results)


def read_content(folder: Path, content: str | bytes, name: str = "file", columns: ColumnMap | None = None) -> Read:
    """The same of a file with this content."""
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_file(path, columns)


def status(identity: str = KICKOFF_ID, text: str = "Allez! #Euro2016", **more: Any) -> dict[str, Any]:
    tags = [{"text": word[1:], "indices": [0, 1]} for word in text.split() if word.startswith("#")]
    return {
        "created_at": "Fri Jun 10 19:00:02 +0000 2016",
        "id": float(identity),
        "id_str": identity,
        "text": text,
        "user": {"screen_name": "ana", "id_str": "1"},
        "entities": {"hashtags": tags},
        **more,
    }


def page() -> dict[str, Any]:
    return {
        "data": [
            {
                "id": KICKOFF_ID,
                "author_id": "7",
                "created_at": "2016-06-10T19:00:02.000Z",
                "text": "short …",
                "note_tweet": {"text": "a long one #EURO2016", "entities": {"hashtags": [{"tag": "EURO2016"}]}},
            },
            {"id": "741344187491811329", "author_id": "8", "created_at": "2016-06-10T19:00:02.000Z", "text": "no tags"},
            {"id": "741344187491811330", "author_id": "8", "created_at": "some day", "text": "x"},
        ],
        "includes": {"users": [{"id": "7", "username": "ana"}]},
        "meta": {"result_count": 3},
    }


def scraped(**more: Any) -> dict[str, Any]:
    return {
        "id": int(KICKOFF_ID),
        "user": {"username": "ana"},
        "date": "2016-06-10T19:00:02+00:00",
        "rawContent": "Allez #Euro2016",
        "hashtags": ["Euro2016"],
        **more,
    }


def toot() -> dict[str, Any]:
    return {
        "id": "12",
        "uri": "https://social.example/users/ana/statuses/99",
        "account": {"acct": "ana@social.example"},
        "created_at": "2024-06-14T19:00:00.000Z",
        "content": '<p>Tor &amp; Jubel<br>im Stadion <a href="x">#<span>EM2024</span></a></p><p>Los!</p>',
        "tags": [{"name": "em2024", "url": "x"}],
    }


def skeet(operation: str = "create", collection: str = "app.bsky.feed.post") -> dict[str, Any]:
    feature = {"$type": "app.bsky.richtext.facet#tag", "tag": "EURO2024"}
    link = {"$type": "app.bsky.richtext.facet#link", "uri": "x"}
    record = {
        "text": "kick-off #EURO2024",
        "createdAt": "2024-06-14T18:00:00Z",
        "facets": [{"index": {}, "features": [feature]}, {"index": {}, "features": [link]}],
    }
    commit = {"operation": operation, "collection": collection, "rkey": "3k", "record": record}
    return {"did": "did:plc:ana", "time_us": 1718391600500000, "kind": "commit", "commit": commit}


OLD_TWEETS = (
    "username;date;retweets;favorites;text;geo;mentions;hashtags;id;permalink\n"
    'ana;2016-06-10 21:00;1;2;"Allez; les bleus";;;#Euro2016 #FRA;"741344187491811328";x\n'
    'bob;2016-06-10 21:01;0;0;"he is 6" tall";;;#goal;"741344187491811329";x\n'
    'eve;2016-06-10 21:02;0;0;one; two; three;;;#goal;"741344187491811330";x\n'
    'dan;2016-06-10 21:03;0;0;"two\nlines";;;#goal;"741344187491811331";x\n'
    'kim;2016-06-10 21:04;0;0;"rounded";;;#goal;7.4134E+17;https://twitter.com/kim/status/741344187491811332\n'
    'sam;2016-06-10 21:04;0;0;"rounded, too";;;#goal #go…;7.4134E+17;\n'
    "short;row\n"
    'lea;yesterday;0;0;"no date";;;#goal;"x";x\n'
)
OLD_TWEETS_3 = (
    "date,username,to,replies,retweets,favorites,text,geo,mentions,hashtagsid,permalink\n"
    '2016-06-10 19:00:02,ana,,0,1,2,"Allez, les bleus",,,#Euro2016,741344187491811328,x\n'
)
TAGS = (
    "id_str,from_user,text,created_at,time,status_url\n"
    "741344187491811328,ana,Allez #Euro2016 and #Euro20…,Fri Jun 10 19:00:02 +0000 2016,,x\n"
)


def write_all(folder: Path) -> None:
    """One file of each format, compressed in different ways."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = json.dumps(status()) + json.dumps(status("741344187491811329", "glued #goal")) + "\n"
    lines += json.dumps({"delete": {"status": {"id_str": "1"}}}) + "\n" + '{"broken": \n'
    (folder / "stream.json.gz").write_bytes(gzip.compress(lines.encode()))
    (folder / "page.json").write_text(json.dumps(page(), indent=2))
    (folder / "scraped.jsonl.bz2").write_bytes(bz2.compress((json.dumps(scraped()) + "\n").encode()))
    (folder / "old.csv").write_text(OLD_TWEETS)
    with zipfile.ZipFile(folder / "more.zip", "w") as archive:
        archive.writestr("old3.csv", OLD_TWEETS_3)
        archive.writestr("tags.csv", TAGS)
    (folder / "toots.json").write_text(json.dumps([toot(), toot()]))
    events = [skeet(), skeet("delete"), skeet("create", "app.bsky.feed.like"), {"did": "x", "kind": "identity"}]
    (folder / "sky.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    table = pa.table({"who": ["ana", "bob"], "when": [1465585202, 1465585203], "said": ["Ação #golo", "#Golô #golo"]})
    pq.write_table(table, folder / "own.parquet")
