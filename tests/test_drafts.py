from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from thyme.drafts import draft_prefix, drafted, drop_leftovers, write_file


def test_a_file_takes_the_place_of_an_older_one_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    place = tmp_path / "new folder" / "report.html"
    write_file(place, b"old")
    write_file(place, b"new")
    assert place.read_bytes() == b"new"
    assert list(place.parent.iterdir()) == [place]


def test_a_file_has_the_rights_that_any_new_file_gets(tmp_path: Path) -> None:
    (tmp_path / "plain").touch()
    write_file(tmp_path / "drafted", b"")
    assert (tmp_path / "drafted").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_draft_that_fails_leaves_the_older_file(tmp_path: Path) -> None:
    place = tmp_path / "report.html"
    write_file(place, b"old")
    with pytest.raises(ZeroDivisionError):
        _write_half(place)
    assert place.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [place]


def _write_half(place: Path) -> None:
    with drafted(place) as draft:
        draft.write_bytes(b"half")
        assert place.read_bytes() == b"old"
        _ = 1 // 0


def test_a_folder_moves_as_one_without_what_stood_beside_its_draft(tmp_path: Path) -> None:
    with drafted(tmp_path / "posts") as draft:
        draft.mkdir()
        (draft / "part").write_bytes(b"1")
        draft.with_name("parsed").write_bytes(b"2")
        assert [path for path in tmp_path.iterdir() if not path.name.startswith(".")] == []
    assert [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*")] == ["posts", "posts/part"]


def test_a_folder_that_holds_something_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "posts").mkdir()
    (tmp_path / "posts" / "part").write_bytes(b"1")
    with pytest.raises(OSError, match="not empty"), drafted(tmp_path / "posts") as draft:
        draft.mkdir()
    assert (tmp_path / "posts" / "part").read_bytes() == b"1"


def test_what_a_killed_process_left_is_removed_and_what_others_are_drafting_is_not(tmp_path: Path) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    ours, theirs = (tmp_path / f"{draft_prefix(process)}abc" for process in (gone.pid, os.getpid()))
    other = tmp_path / ".draft-elsewhere-1-abc"
    for folder in (ours, theirs, other):
        folder.mkdir()
        (folder / "draft").write_text("half")
    drop_leftovers(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([theirs.name, other.name])
