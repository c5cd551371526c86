"""The command line accepts every `thyme` command in the README and on the site (those of the lab belong to the code of
their time). The quick commands of the simulator's tutorial are run, and its program prints what the page says."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from thyme.cli.main import whole_app

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md"]
PAGES += [page for page in sorted((ROOT / "docs").rglob("*.md")) if "lab" not in page.parts]
SIMULATOR = ROOT / "docs" / "tutorials" / "simulator.md"
START = [sys.executable, "-c", "from thyme.cli.main import run; run()"]
PATIENCE_S = 600.0
Usage: Any = typer.BadParameter.__mro__[1]


def commands_of(page: Path) -> list[str]:
    blocks = re.findall(r"```(?:sh|console)\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
    lines = [line.strip() for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    return [line for line in lines if line.startswith("thyme ")]


@pytest.fixture(scope="module")
def thyme_command() -> Any:
    return typer.main.get_command(whole_app())


def check(command: Any, words: list[str], parent: Any = None) -> None:
    """Parse as the command line does, without running anything. A file of the example need not be there."""
    try:
        context = command.make_context(command.name, words, parent)
    except Usage as error:
        if "does not exist" in error.format_message():
            return
        raise
    rest = [*getattr(context, "_protected_args", ()), *context.args]
    if hasattr(command, "commands") and rest:
        _, inner, words = command.resolve_command(context, rest)
        check(inner, words, context)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}-{page.stem}")
def test_the_command_line_accepts_every_command(page: Path, thyme_command: Any) -> None:
    for line in commands_of(page):
        words = shlex.split(line.split(" > ")[0].split(" < ")[0].rstrip("& "), comments=True)
        check(thyme_command, [word for word in words[1:] if not word.startswith("$")])


def test_a_command_that_is_not_there_is_found(thyme_command: Any) -> None:
    for words in (["nothing"], ["study", "--nothing"], ["scenario", "new", "a.toml", "--nothing"]):
        with pytest.raises(Usage):
            check(thyme_command, words)


@pytest.mark.compiled
def test_the_commands_of_the_simulator_run_one_after_the_other(tmp_path: Path) -> None:
    for command in commands_of(SIMULATOR):
        done = subprocess.run(
            [*START, *shlex.split(command)[1:]], cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_S
        )
        assert done.returncode == 0, f"{command}: {done.stderr}"
        assert "notified           0 times" not in done.stdout, "the first run shows somebody being told"
    assert (tmp_path / "out/run/replay.html").exists()


def test_the_own_approach_prints_what_the_page_says(tmp_path: Path) -> None:
    ((program, prints),) = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", SIMULATOR.read_text(), re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert (done.stderr, done.stdout) == ("", prints)
