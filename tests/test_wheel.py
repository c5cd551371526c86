"""The wheel in an environment of its own, outside the source tree: a node of the base install, then a simulation.

Both installs are ordinary ones by pip, at the pinned versions, so that a dependency that is not declared is noticed;
`[study]` is added to the same environment.
"""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

import thyme

ROOT = Path(__file__).parents[1]
MAX_BASE_BYTES = 120_000_000
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input"]
NO_INDEX = ("Could not find a version that satisfies", "No matching distribution found", "ConnectionError")
"""What pip says where it finds no packages, not even what builds the wheel."""
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


class Installed:
    """An environment with the wheel, and a folder to work in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bin = folder / "environment" / "bin"
        venv.create(self.bin.parent, with_pip=False)
        run([*PIP, "wheel", "--no-deps", "--wheel-dir", str(folder), str(ROOT)], folder, needs_index=True)
        (self.wheel,) = folder.glob("*.whl")

    def install(self, extra: str) -> None:
        to = ["--python", str(self.bin / "python"), "install", "--constraint", str(ROOT / "constraints.txt")]
        run([*PIP, *to, f"{self.wheel}{extra}"], self.folder)

    def thyme(self, *arguments: str, given: str = "", code: int = 0) -> str:
        return run([str(self.bin / "thyme"), *arguments], self.folder, given, code)

    def size_bytes(self) -> int:
        return sum(file.stat().st_size for file in self.bin.parent.joinpath("lib").rglob("*") if file.is_file())


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
    base.install("")
    assert base.size_bytes() <= MAX_BASE_BYTES
    assert base.thyme("--version") == f"thyme {thyme.__version__}\n"
    told = base.thyme(
        "node", "start", "--id", "1", "--store", "memory", given="put kick --tags goal --text 3-3\nquit\n"
    )
    assert "kick@1" in told
    assert "pip install 'thyme-crowd[study]'" in base.thyme("scenario", "new", "crowd.toml", code=2)

    base.install("[study]")
    base.thyme("scenario", "new", "crowd.toml", "--nodes", "9")
    base.thyme("simulate", "crowd.toml", "--set", "time.until_s=90.0", "--out", "run")
    assert (tmp_path / "run" / "events.parquet").is_file()
