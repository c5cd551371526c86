"""What a module can reach is read from the sources alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from thyme.sources import Sources


@pytest.fixture
def package(tmp_path: Path) -> Path:
    files = {
        "__init__.py": "from thyme.cli.main import run",
        "a.py": "import thyme.room.b",
        "room/__init__.py": "from thyme.shared import LIMIT",
        "room/b.py": "def act():\n    from thyme.room import c",
        "room/c.py": "import json",
        "shared.py": "LIMIT = 1",
        "other.py": "from thyme.room.c import nothing",
        "cli/main.py": "import thyme.a",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_a_module_reaches_imports_inside_functions_and_the_rooms_that_it_enters(package: Path) -> None:
    reached = Sources(package).reach(["thyme.a"])
    assert reached == ("thyme.a", "thyme.room", "thyme.room.b", "thyme.room.c", "thyme.shared")


def test_the_front_door_does_not_count(package: Path) -> None:
    assert "thyme.cli.main" not in Sources(package).reach(["thyme.other"])


def test_modules_are_found_by_what_they_import(package: Path) -> None:
    assert Sources(package).importing("thyme.room.c") == ("thyme.other", "thyme.room.b")


def test_the_digest_changes_with_what_is_reached_and_with_nothing_else(package: Path) -> None:
    def digest() -> bytes:
        sources = Sources(package)
        return sources.digest(sources.reach(["thyme.a"]))

    before = digest()
    (package / "other.py").write_text("changed = True")
    assert digest() == before
    (package / "room" / "c.py").write_text("changed = True")
    assert digest() != before


def test_a_module_that_was_renamed_is_an_error(package: Path) -> None:
    (package / "a.py").rename(package / "renamed.py")
    with pytest.raises(LookupError, match=r"no module 'thyme\.a'"):
        Sources(package).reach(["thyme.a"])
