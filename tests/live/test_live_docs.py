"""What docs/guides/nodes.md shows is what happens: its session and its program are played here."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import time
from pathlib import Path

from thyme.cli.verbs import VERBS

PAGE = (Path(__file__).parents[2] / "docs" / "guides" / "nodes.md").read_text()
PATIENCE_S = 120.0
START = [sys.executable, "-c", "from thyme.cli.main import run; run()"]


def block(language: str, number: int = 0) -> str:
    return str(re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)[number])


def masked(line: str) -> str:
    """Without what differs from run to run: ports and times."""
    return re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "TIME", re.sub(r"127\.0\.0\.1:\d+", "ADDRESS", line))


class Terminal:
    def __init__(self, command: str, folder: Path) -> None:
        arguments = command.removeprefix("thyme ").split()
        self._process = subprocess.Popen(
            [*START, *arguments, "--store", "memory"],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def type(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def wait_for(self, lines: int) -> None:
        give_up_s = time.monotonic() + PATIENCE_S
        while len(self.lines) < lines:
            assert time.monotonic() < give_up_s, self.lines
            time.sleep(0.02)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self._reader.join()
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.lines.append(line.rstrip("\n"))


def test_the_session_of_three_terminals_goes_as_it_is_shown(tmp_path: Path) -> None:
    session = block("text").splitlines()
    ports = {f"900{i}": f"{40_100 + i + (time.time_ns() % 1_000) * 10}" for i in (1, 2, 3)}
    commands = [re.sub(r"900\d", lambda found: ports[found.group()], line) for line in block("sh").splitlines()]
    terminals = {number: Terminal(command, tmp_path) for number, command in enumerate(commands, 1)}
    expected: dict[int, list[str]] = {1: [], 2: [], 3: []}
    try:
        for line in session:
            number, sign, rest = int(line[0]), line[1], line[3:]
            if sign != ">":
                expected[number].append(rest)
                continue
            for each, shown in expected.items():
                terminals[each].wait_for(len(shown))
            terminals[number].type(rest)
        for number, terminal in terminals.items():
            terminal.wait_for(len(expected[number]))
            assert [masked(line) for line in terminal.lines] == [masked(line) for line in expected[number]]
    finally:
        for terminal in terminals.values():
            terminal.close()


def test_the_programs_print_what_the_page_says(tmp_path: Path) -> None:
    assert PAGE.count("```python") == 2
    assert printed(block("python", 1), tmp_path) == "kick@1 3-3!\nb'a photo'\n"
    alone = block("python").replace('Spaces("crowds")', 'Spaces("crowds", discover=False)')
    assert printed(alone, tmp_path) == "1 in the final, 0 on stage\nthyme:\n"


def printed(program: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.stderr == ""
    return done.stdout


def test_every_verb_is_described() -> None:
    assert all(f"`thyme {name}" in PAGE for name in VERBS)
