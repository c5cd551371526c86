"""The commands for posts and traces, as a person types them."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer
from post_samples import TAGS
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from thyme.cli.posts import posts_app
from thyme.cli.traces import trace_app
from thyme.model.errors import InputError

app = typer.Typer()
app.add_typer(posts_app, name="posts")
app.add_typer(trace_app, name="trace")


def say(*words: str) -> str:
    result = CliRunner().invoke(app, words, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def is_picture(name: Path) -> bool:
    png, svg = name.with_suffix(".png").read_bytes(), name.with_suffix(".svg").read_bytes()
    return png.startswith(b"\x89PNG") and b"</svg>" in svg


@pytest.mark.usefixtures("spark")
def test_from_generated_posts_to_a_csv_trace_that_passes_the_check(tmp_path: Path, spark: SparkSession) -> None:
    posts, trace, table = tmp_path / "posts", tmp_path / "trace", tmp_path / "trace.csv"
    assert "800 posts" in say("posts", "generate", "--out", str(posts), "--posts", "800")
    made = say("trace", "make", str(posts), "--out", str(trace), "--users", "16", "--minutes", "5")
    assert "16 nodes" in made
    say("trace", "export", str(trace), "--out", str(table))
    checked = say("trace", "check", str(table))
    about_the_posts = made.splitlines()[-1]
    assert "of 800 posts" in about_the_posts
    assert checked.splitlines()[1:] == made.splitlines()[1:-1], "the trace itself is described by both alike"
    with pytest.raises(InputError, match="exists already"):
        say("trace", "make", str(posts), "--out", str(trace))
    assert str(tmp_path / "trace.png") in say("trace", "draw", str(table)).replace("\n", "")
    assert is_picture(tmp_path / "trace")
    say("trace", "draw", str(trace), "--out", str(tmp_path / "again.svg"))
    assert (tmp_path / "again.svg").read_bytes() == (tmp_path / "trace.svg").read_bytes()
    with pytest.raises(InputError, match=r"written as \.png"):
        say("trace", "draw", str(trace), "--out", str(tmp_path / "again.pdf"))


def test_ingesting_tells_what_came_of_it(tmp_path: Path, spark: SparkSession) -> None:
    (tmp_path / "sheet.csv").write_text(TAGS + "broken row\n")
    out = tmp_path / "posts"
    key = tmp_path / "key"
    key.write_bytes(b"0123456789abcdef")
    told = say("posts", "ingest", str(tmp_path / "sheet.csv"), "--out", str(out), "--key-file", str(key))
    assert "1 posts written" in told
    assert "files of TAGS" in told
    assert "rejected: it has n cells" in told
    assert spark.read.parquet(str(out)).collect()[0].author.startswith("user")
    assert "Zipf slope" in say("posts", "describe", str(out))
    assert is_picture(tmp_path / "posts-described")
    say("posts", "describe", str(out), "--figure", str(tmp_path / "here"))
    assert is_picture(tmp_path / "here")


def test_a_short_key_is_refused(tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(b"short")
    with pytest.raises(InputError, match="a key of 5 bytes; expected from 16 to 64"):
        say("posts", "ingest", "x", "--out", str(tmp_path / "out"), "--key-file", str(tmp_path / "key"))


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("posts", "generate", "--out", "{}/new", "--goals", "-1"), "goals is -1; expected"),
        (
            ("posts", "generate", "--out", "/proc/nope/x"),
            "/proc/nope/x: cannot be written",
        ),
        (("posts", "ingest", "{}/sheet.csv", "--out", "/proc/nope/x"), "/proc/nope/x: cannot be written"),
        (("posts", "ingest", "{}/nothing", "--out", "{}/new"), "nothing: no such file"),
        (("posts", "ingest", "{}/sheet.csv", "--out", "{}/new", "--map", ""), "--map: '' is not understood"),
        (("posts", "ingest", "{}/sheet.csv", "--out", "{}/new", "--map", "author=a,at=b,text=c"), "fits none of"),
    ],
)
def test_what_a_person_gets_wrong_is_told_before_spark_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], told: str
) -> None:
    def no_spark(*asked: str) -> None:
        raise AssertionError("Spark was asked for")

    monkeypatch.setattr("thyme.pipeline.spark.session.spark_session", no_spark)
    (tmp_path / "sheet.csv").write_text(TAGS)
    with pytest.raises(InputError, match=told):
        say(*(word.format(tmp_path) for word in words))
    assert [path.name for path in tmp_path.iterdir()] == ["sheet.csv"]


def test_posts_without_tags_are_not_described(tmp_path: Path, spark: SparkSession) -> None:
    (tmp_path / "sheet.csv").write_text(TAGS.replace("#", ""))
    say("posts", "ingest", str(tmp_path / "sheet.csv"), "--out", str(tmp_path / "posts"))
    with pytest.raises(InputError, match="posts: none of the posts has a tag"):
        say("posts", "describe", str(tmp_path / "posts"))


@pytest.mark.usefixtures("spark")
def test_settings_reach_the_generator_and_are_listed(tmp_path: Path) -> None:
    assert "70 posts" in say("posts", "generate", "--out", str(tmp_path / "posts"), "--set", "posts=70")
    assert "\nbursts.decay_s = 240.0  (number > 0)\n" in say("posts", "generate", "--out", "x", "--set", "list")
    assert "\nrates.past_share = 0.0  (number ≥ 0 and ≤ 1)\n" in say(
        "trace", "make", "x", "--out", "y", "--set", "list"
    )
    with pytest.raises(InputError, match=r"--set: there is no key 'rates\.past'"):
        say("trace", "make", "x", "--out", "y", "--set", "rates.past=0.2")


def test_every_command_shows_an_example() -> None:
    for words in (
        ("posts", "generate"),
        ("posts", "ingest"),
        ("posts", "describe"),
        ("trace", "make"),
        ("trace", "check"),
        ("trace", "draw"),
        ("trace", "export"),
    ):
        assert "Example" in say(*words, "--help")
