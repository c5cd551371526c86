"""What docs/live.md shows is what happens: its session and its program are played here."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from pathlib import Path

from thyme.live import Node
from thyme.live.shell.commands import PARSERS
from thyme.live.shell.reports import Left
from thyme.live.shell.shell import Shell

PAGE = (Path(__file__).parents[2] / "docs" / "live.md").read_text()
PATIENCE_S = 120.0
PEERS = {1: [2], 2: [1, 3], 3: [2]}


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    return found.group(1)


def masked(line: str) -> str:
    """Without what differs from run to run: ports and the numbers of subscriptions."""
    return re.sub(r"\d+@(\d)\b", r"N@\1", re.sub(r"127\.0\.0\.1:\d+", "ADDRESS", line))


async def played(session: list[str]) -> dict[int, list[str]]:
    """The lines of each terminal when the commands of the session are typed; each waits for its reports."""
    shown: dict[int, list[str]] = {1: [], 2: [], 3: []}
    expected = dict.fromkeys(shown, 0)
    news = asyncio.Event()

    def show(node: int, text: str) -> None:
        shown[node] += text.splitlines()
        news.set()

    async def caught_up() -> None:
        while any(len(shown[node]) < count for node, count in expected.items()):
            news.clear()
            await news.wait()

    nodes = {i: Node(i, only_peers=True) for i in PEERS}
    shells = {i: Shell(node, lambda report, i=i: show(i, report.line())) for i, node in nodes.items()}  # type: ignore[misc]
    for i, node in nodes.items():
        await node.open()
        shells[i].begin()
    for i, node in nodes.items():
        await node.connect([nodes[peer].address for peer in PEERS[i]])
    await asyncio.gather(*(node.join() for node in nodes.values()))
    for line in session:
        number, sign, rest = int(line[0]), line[1], line[3:]
        if sign != ">":
            expected[number] += 1
            continue
        await caught_up()
        if not await shells[number].run(rest):
            await shells[number].end()
            await nodes[number].close()
            show(number, Left(number).line())
    await caught_up()
    return shown


def test_the_session_of_three_terminals_goes_as_it_is_shown() -> None:
    session = block("text").splitlines()

    async def run() -> dict[int, list[str]]:
        async with asyncio.timeout(PATIENCE_S):
            return await played(session)

    shown = asyncio.run(run())
    for node, lines in shown.items():
        assert [masked(line) for line in lines] == [
            masked(line[3:]) for line in session if line.startswith(f"{node}  ")
        ]


def test_the_program_prints_what_it_says() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", block("python")],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout == "kick@1 3-3!\nb'a photo'\n"


def test_every_command_is_described() -> None:
    assert all(f"`{name}" in PAGE for name in PARSERS)
