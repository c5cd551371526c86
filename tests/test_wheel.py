"""The wheel in an environment of its own, outside the source tree: a node of the base install, then a simulation.

Beside the wheel, the environment holds links to what the wheel declares, and to what that declares in turn, in the
versions that are installed here: a dependency that is not declared is noticed, and nothing is downloaded or copied.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution, distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import thyme

ROOT = Path(__file__).parents[1]
MAX_BASE_BYTES = 120_000_000
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input"]
NO_INDEX = ("Could not find a version that satisfies", "No matching distribution found", "ConnectionError")
"""What pip says where it finds no packages, not even what builds the wheel."""
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


class Installed:
    """An environment with the wheel and what it needs, and a folder to work in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bin = folder / "environment" / "bin"
        venv.create(self.bin.parent, with_pip=False)
        run([*PIP, "wheel", "--no-deps", "--wheel-dir", str(folder), str(ROOT)], folder, needs_index=True)
        (wheel,) = folder.glob("*.whl")
        self._python = ["--python", str(self.bin / "python")]
        run([*PIP, *self._python, "install", "--no-deps", str(wheel)], folder)
        self.packages = Path(sysconfig.get_path("purelib", vars={"base": str(self.bin.parent)}))
        self.add("")

    def add(self, extra: str) -> None:
        """Link what the wheel declares, with this extra."""
        (wheel,) = distributions(name="thyme-crowd", path=[str(self.packages)])
        for name in sorted(declared(wheel, {extra}, set())):
            for file in distribution(name).files or ():
                link = self.packages / file
                if ".." not in file.parts and not link.exists():
                    link.parent.mkdir(parents=True, exist_ok=True)
                    link.symlink_to(Path(file.locate()).resolve())
        run([*PIP, *self._python, "check"], self.folder)

    def thyme(self, *arguments: str, given: str = "", code: int = 0) -> str:
        return run([str(self.bin / "thyme"), *arguments], self.folder, given, code)

    def size_bytes(self) -> int:
        return sum(file.stat().st_size for file in self.packages.rglob("*") if file.is_file())


def declared(package: Distribution, extras: set[str], seen: set[tuple[str, str]]) -> Iterator[str]:
    """The packages that one with these extras needs."""
    for requirement in map(Requirement, package.requires or ()):
        name = canonicalize_name(requirement.name)
        if any(requirement.marker is None or requirement.marker.evaluate({"extra": extra}) for extra in {"", *extras}):
            new = {(name, extra) for extra in {"", *requirement.extras}} - seen
            if new:
                seen |= new
                yield name
                of = package if name == canonicalize_name(package.name) else distribution(name)
                yield from declared(of, requirement.extras, seen)


def run(command: list[str], folder: Path, given: str = "", code: int = 0, needs_index: bool = False) -> str:
    """What a command prints, errors included."""
    done = subprocess.run(
        command, cwd=folder, env=ENVIRONMENT, input=given, capture_output=True, text=True, timeout=900
    )
    said = done.stdout + done.stderr
    if needs_index and done.returncode and any(reason in said for reason in NO_INDEX):
        pytest.skip("pip finds no packages to install")
    assert done.returncode == code, said
    return said


def test_the_wheel_is_a_node_and_with_the_extra_it_simulates(tmp_path: Path) -> None:
    base = Installed(tmp_path)
    assert base.size_bytes() <= MAX_BASE_BYTES
    assert base.thyme("--version") == f"thyme {thyme.__version__}\n"
    told = base.thyme(
        "node", "start", "--id", "1", "--store", "memory", given="put kick --tags goal --text 3-3\nquit\n"
    )
    assert "kick@1" in told
    assert "pip install 'thyme-crowd[study]'" in base.thyme("scenario", "new", "crowd.toml", code=2)

    base.add("study")
    base.thyme("scenario", "new", "crowd.toml", "--nodes", "9")
    base.thyme("simulate", "crowd.toml", "--set", "time.until_s=90.0", "--out", "run")
    assert (tmp_path / "run" / "events.parquet").is_file()
