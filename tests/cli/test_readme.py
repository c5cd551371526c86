"""The README is true: its example runs, its commands exist, its links lead somewhere."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
THYME = str(Path(sys.executable).with_name("thyme"))
COMMANDS = [
    line.split("#")[0].strip()
    for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
    for line in block.splitlines()
    if line.startswith("thyme ")
]
QUICK = ("scenario new", "trace example", "simulate", "replay", "posts generate")
"""Subcommands that take seconds; the others start Spark or wait for a terminal, and have tests of their own."""


def test_the_python_example_notifies_the_subscriber() -> None:
    (example,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    run = subprocess.run([sys.executable, "-c", example], capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    assert "photo@8" in run.stdout


@pytest.mark.compiled
def test_the_quick_commands_run_one_after_the_other(tmp_path: Path) -> None:
    quick = [command for command in COMMANDS if command.removeprefix("thyme ").startswith(QUICK)]
    assert len(quick) == 5
    for command in quick:
        run = subprocess.run(
            [THYME, *shlex.split(command)[1:]], cwd=tmp_path, capture_output=True, text=True, timeout=600
        )
        assert run.returncode == 0, f"{command}: {run.stderr}"
        assert "notified           0 times" not in run.stdout, "the first run shows somebody being told"
    assert (tmp_path / "out/run/replay.html").exists()


@pytest.mark.parametrize("command", sorted({" ".join(command.split()[1:3]) for command in COMMANDS}))
def test_every_command_exists(command: str) -> None:
    words = [word for word in command.split() if not word.startswith("-") and "." not in word]
    run = subprocess.run([THYME, *words, "--help"], capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr


def test_links_lead_to_files() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert (ROOT / target).exists(), f"README.md links to {target}, which is not there"


def test_the_two_commands_are_targets_of_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"^make (\w+)", README, re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)
