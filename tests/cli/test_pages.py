"""Every code block of the README and the site is run, checked or listed here with a reason (those of the lab belong to
the code of their time). The command line accepts every `thyme` command, in blocks and in sentences."""

from __future__ import annotations

import ast
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
import typer

from thyme.cli.main import whole_app
from thyme.sim.scenario import Scenario, load_scenario

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md")]
PAGES += [page for page in sorted((ROOT / "docs").rglob("*.md")) if "lab" not in page.parts]
SIMULATOR = ROOT / "docs" / "tutorials" / "simulator.md"
HTTP = ROOT / "docs" / "reference" / "http.md"
START = [sys.executable, "-c", "from thyme.cli.main import run; run()"]
PATIENCE_S = 600.0
Usage: Any = typer.BadParameter.__mro__[1]

BLOCK = re.compile(r"^( *)```(\w*)\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)
RUN_BY = {
    "README.md": "tests/cli/test_readme.py",
    "docs/explanation/mobility.md": "tests/world/test_world_docs.py",
    "docs/guides/nodes.md": "tests/live/test_live_docs.py",
    "docs/guides/python.md": "tests/test_api.py",
    "docs/reference/http.md": "tests/cli/test_pages.py",
    "docs/tutorials/simulator.md": "tests/cli/test_pages.py",
    "docs/tutorials/spark.md": "tests/study/test_spark_page.py",
}
"""Tests that run all Python programs of a page."""
TOOLS = {
    "cat": "a tool of the system",
    "cmp": "tests/study/test_cluster.py compares the files",
    "ask": "an alias of curl; a test below runs its block",
    "echo": "a tool of the system",
    "export": "a word of the shell",
    "alias": "a word of the shell",
    "kill": "a tool of the system",
    "mkdir": "a tool of the system",
    "seq": "a tool of the system",
    "sleep": "a tool of the system",
    ".": "a word of the shell",
    "ip": "needs a wireless card",
    "iw": "needs a wireless card",
    "pkg": "needs Termux",
    "pip": "installs from the network; tests/test_wheel.py installs the wheel",
    "python3": "makes a virtual environment, as tests/test_wheel.py does",
    "spark-class": "tests/study/test_cluster.py starts master and worker so",
    "spark-submit": "tests/study/test_cluster.py submits so",
    "ruff": "a target of the Makefile runs it",
    "mypy": "a target of the Makefile runs it",
    "python": "a target of the Makefile runs pytest",
}
"""Commands of shell blocks besides `thyme` and `make`, each with what runs them, or why nothing does."""
SHELL = {"for", "do", "done", "in", "if", "then", "fi", "while"}
OUTPUT = {
    "ARCHITECTURE.md": "drawings of packages and data flows",
    "docs/explanation/pipeline.md": "a drawing of the stages",
    "docs/reference/queries.md": "the grammar",
}
"""Blocks of text that are not what a program or a command printed."""


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks_of(page: Path, *languages: str) -> list[str]:
    found = BLOCK.findall(page.read_text("utf-8"))
    return [re.sub(f"^{indent}", "", block, flags=re.M) for indent, language, block in found if language in languages]


def commands_of(block: str) -> list[list[str]]:
    """The words of each simple command, without the shell's own words and variables set for it."""
    commands: list[list[str]] = []
    for line in block.replace("\\\n", " ").splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars=";&|()<>")
        lexer.whitespace_split = True
        words: list[str] = [""]
        for word in lexer:
            if set(word) <= set(";&|()"):
                words.append("")
            else:
                words[-1] += f" {shlex.quote(word)}"
        for simple in words:
            command = shlex.split(simple)
            while command and (command[0] in SHELL or re.fullmatch(r"\w+=.*", command[0])):
                if command[0] in ("for", "in"):
                    command = []
                    break
                command = command[1:]
            if command:
                cut = next((i for i, word in enumerate(command) if set(word) <= set("<>")), len(command))
                commands.append(command[:cut])
    return commands


def base(command: list[str]) -> str:
    return command[0].rpartition("/")[2]


def thyme_words(command: list[str]) -> list[str] | None:
    """What `thyme` is given, if the command is `thyme`."""
    if base(command) != "thyme":
        return None
    return [word for word in command[1:] if not word.startswith("$")]


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
def test_every_block_is_run_checked_or_listed(page: Path, thyme_command: Any, tmp_path: Path) -> None:
    makefile = (ROOT / "Makefile").read_text()
    for block in blocks_of(page, "sh"):
        subprocess.run(["bash", "-n"], input=block, text=True, check=True, capture_output=True)
        for command in commands_of(block):
            if (words := thyme_words(command)) is not None:
                check(thyme_command, words)
            elif command[0] == "make":
                assert all(re.search(rf"^{target}:", makefile, re.M) for target in command[1:]), command
            else:
                assert base(command) in TOOLS, f"{name_of(page)}: nothing runs {command}"
    for block in blocks_of(page, "python"):
        ast.parse(block)
        assert page.name in (ROOT / RUN_BY[name_of(page)]).read_text(), f"{name_of(page)}: nothing runs this: {block}"
    for number, block in enumerate(blocks_of(page, "toml")):
        (tmp_path / f"{number}.toml").write_text(block if "nodes" in block else f"nodes = 100\n{block}")
        assert isinstance(load_scenario(tmp_path / f"{number}.toml"), Scenario)
    languages = {language for _, language, _ in BLOCK.findall(page.read_text("utf-8"))}
    assert languages <= {"sh", "python", "toml", "text"}
    if "text" in languages:
        assert name_of(page) in OUTPUT | RUN_BY, f"{name_of(page)}: nothing prints its text"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}-{page.stem}")
def test_the_command_line_has_every_command_of_a_sentence(page: Path, thyme_command: Any) -> None:
    text = BLOCK.sub("", page.read_text("utf-8"))
    for inline in re.findall(r"`thyme ([^`]+)`", text.replace("\n", " ")):
        words, command = inline.split(), thyme_command
        while hasattr(command, "commands") and words and re.fullmatch(r"[a-z][a-z-]*,?", words[0]):
            name = words.pop(0).rstrip(",")
            assert name in command.commands, f"{name_of(page)}: thyme {inline}"
            command = command.commands[name]


def test_every_listed_page_and_tool_is_used() -> None:
    used = {base(command) for page in PAGES for block in blocks_of(page, "sh") for command in commands_of(block)}
    assert set(TOOLS) <= used
    assert {name for name in RUN_BY if not blocks_of(ROOT / name, "python")} == set()


def test_a_command_that_is_not_there_is_found(thyme_command: Any) -> None:
    for words in (["nothing"], ["study", "--nothing"], ["scenario", "new", "a.toml", "--nothing"]):
        with pytest.raises(Usage):
            check(thyme_command, words)
    assert commands_of("( sleep 1; A=2 thyme a 'b; c' > d ) | for i in 1; do cat; done") == [
        ["sleep", "1"],
        ["thyme", "a", "b; c"],
        ["cat"],
    ]


@pytest.mark.compiled
def test_the_commands_of_the_simulator_run_one_after_the_other(tmp_path: Path) -> None:
    (block,) = blocks_of(SIMULATOR, "sh")
    for command in commands_of(block):
        done = subprocess.run(
            [*START, *command[1:]], cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
        assert done.returncode == 0, f"{command}: {done.stderr}"
        assert "notified           0 times" not in done.stdout, "the first run shows somebody being told"
    assert (tmp_path / "out/run/replay.html").exists()


def test_the_own_approach_prints_what_the_page_says(tmp_path: Path) -> None:
    (program,), (prints,) = blocks_of(SIMULATOR, "python"), blocks_of(SIMULATOR, "text")
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert (done.stderr, done.stdout) == ("", prints)


@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl on the PATH")
def test_the_requests_of_the_http_page_are_answered(tmp_path: Path) -> None:
    (program,), (requests,) = blocks_of(HTTP, "python"), blocks_of(HTTP, "sh")
    assert "8470" in program
    (tmp_path / "kick.jpg").write_bytes(b"a photo")
    node = subprocess.Popen(
        [sys.executable, "-c", program.replace(":8470", ":0")], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    )
    try:
        assert node.stdout is not None
        address, token = node.stdout.readline().split()
        done = subprocess.run(
            ["bash", "-e", "-O", "expand_aliases", "-c", requests],
            cwd=tmp_path,
            env=os.environ | {"NODE": address, "TOKEN": token},
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
    finally:
        node.kill()
        node.communicate()
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "copy.jpg").read_bytes() == b"a photo"
    inserted, subscribed, found = (msgspec.json.decode(line) for line in done.stdout.splitlines() if line)
    assert inserted["key"] == "kick@1"
    assert subscribed["remaining"] == 1
    assert [one["key"] for one in found] == ["kick@1"]
