"""Places: what is a file, what is in a store, and what is neither."""

from __future__ import annotations

from pathlib import Path

import pytest

from thyme.model.errors import InputError
from thyme.pipeline.manifest import damage_of
from thyme.places import Remote, file_sizes, file_system, local_place, place_of, remove, write_file


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ("posts", "posts"),
        ("file:///tmp/a%20b", "/tmp/a b"),
        ("file:/tmp/posts", "/tmp/posts"),
        ("a:b/c", "a:b/c"),
        ("C:/posts", "C:/posts"),
    ],
)
def test_a_path_or_a_file_uri_is_a_path(given: str, path: str) -> None:
    assert place_of(given) == Path(path)


def test_a_uri_of_a_store_stays_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    place = place_of("s3a://bucket/studies/quick/")
    assert isinstance(place, Remote)
    assert str(place / "runs") == "s3a://bucket/studies/quick/runs"
    assert (place.name, place.scheme) == ("quick", "s3a")
    assert place.arrow()[1] == "bucket/studies/quick"
    with pytest.raises(InputError, match="an evaluation has to be in the file system"):
        local_place("s3a://bucket/x", "an evaluation")


def test_a_store_that_does_not_answer_is_told_and_is_no_damage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "somebody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    file_system.cache_clear()
    place = Remote("s3://nobody/there")
    with pytest.raises(InputError, match=r"s3://nobody/there/_manifest.json: the store refused \(.*connect"):
        damage_of(place)
    file_system.cache_clear()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("gopher://old/posts", "gopher: is not a known store"),
        ("s3:/bucket/posts", "an incomplete URI; expected s3://STORE/PATH"),
        ("file://elsewhere/posts", "names another machine"),
    ],
)
def test_what_is_neither_is_told_so(given: str, told: str) -> None:
    with pytest.raises(InputError, match=told):
        place_of(given)


def test_files_and_folders_of_both_kinds_are_listed_and_removed(tmp_path: Path) -> None:
    write_file(tmp_path / "a" / "b.txt", b"four")
    assert file_sizes(tmp_path) == {"a/b.txt": 4}
    remove(tmp_path / "a" / "b.txt")
    remove(tmp_path / "a")
    remove(tmp_path / "nothing")
    assert not (tmp_path / "a").exists()
