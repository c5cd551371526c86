"""The package travels as one archive and stands up where it was never installed."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import thyme
from thyme.pipeline.spark.shipping import package_archive
from thyme.pipeline.spark.unpacking import unpack

PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
import thyme
from pathlib import Path
import thyme.model.errors
print(thyme.__file__)
print(repr(thyme.__doc__))
print(thyme.InputError.__module__)
print((Path(thyme.model.errors.__file__)).is_file())
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def test_without_an_installed_package_the_archive_is_imported(cache: Path) -> None:
    archive = package_archive()
    answers = [
        subprocess.run(
            [sys.executable, "-S", "-c", PROGRAM, str(archive)],
            env={"XDG_CACHE_HOME": str(cache), "PATH": os.environ["PATH"]},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.splitlines()
        for _ in range(2)
    ]
    assert answers[0] == answers[1]
    file, docs, home, whole = answers[0]
    assert Path(file).is_relative_to(cache)
    assert docs == repr(thyme.__doc__)
    assert home == "thyme.model.errors", "the front door opens there, too"
    assert whole == "True"


def test_equal_packages_make_one_archive_and_one_unpacked_folder(cache: Path) -> None:
    assert package_archive() == package_archive()
    assert unpack(package_archive()) == unpack(package_archive())
    assert len(list(unpack(package_archive()).parents[1].iterdir())) == 1
    with zipfile.ZipFile(package_archive()) as package:
        names = package.namelist()
    assert "package/thyme/study/report/report.css" in names
    assert not [name for name in names if "__pycache__" in name]
