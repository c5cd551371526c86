"""A live node in a terminal, or driven by a program: commands from standard input, reports to standard output.

In a terminal there is a prompt, and reports are lines of text; otherwise each report is one JSON line. Standard
input is read by a thread of its own, because not everything it may be (a file, a terminal, a pipe) can be awaited.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from contextlib import suppress

import msgspec

from thyme.live.daemon.doors import Doors, opened
from thyme.live.node.node import Node
from thyme.live.shell.reports import Left, Report, Serving
from thyme.live.shell.shell import Shell

MAX_WAITING_COMMANDS = 100
"""Lines read ahead of the command that is being carried out."""
READ_BYTES = 65_536
STDIN = 0
NO_DOORS = Doors()
ATTENTION_S = 1.0
"""How long a person at a prompt waits for a command; a program's commands are carried out strictly in turn."""


async def run_node(node: Node, *, as_json: bool, prompt: bool, stay: bool, doors: Doors = NO_DOORS) -> None:
    """Run a node until its user quits, its input ends (unless it is to stay), or a signal asks it to leave."""
    screen = Screen(node.options.node, as_json=as_json, prompt=prompt)
    loop = asyncio.get_running_loop()
    life = loop.create_task(_live(node, screen, stay, doors))
    signals = (signal.SIGINT, signal.SIGTERM)
    for number in signals:
        loop.add_signal_handler(number, life.cancel)
    try:
        with suppress(asyncio.CancelledError):
            await life
    finally:
        for number in signals:
            loop.remove_signal_handler(number)
    screen.show(Left(node.options.node), last=True)


async def _live(node: Node, screen: Screen, stay: bool, doors: Doors) -> None:
    await node.open()
    shell = Shell(node, screen.show, ATTENTION_S if screen.prompts else None)
    life = asyncio.current_task()
    assert life is not None
    try:
        shell.begin()
        async with opened(node, doors, life.cancel) as open_doors:
            if open_doors is not None:
                screen.show(Serving(open_doors.control, open_doors.address))
            await node.connect(node.options.peers)
            await node.join()
            commands = Commands(stay)
            screen.ask()
            while (line := await commands.next()) is not None and await shell.run(line):
                screen.ask()
    finally:
        await shell.end()
        await node.close()


class Commands:
    """The lines of standard input, as they come."""

    def __init__(self, stay: bool) -> None:
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._room = threading.Semaphore(MAX_WAITING_COMMANDS)
        self._stay = stay
        threading.Thread(target=self._read, daemon=True, name="commands").start()

    async def next(self) -> str | None:
        """The next line, or None at the end of the input."""
        line = await self._lines.get()
        self._room.release()
        return line

    def _read(self) -> None:
        # Plain reads, without Python's buffer: a thread that holds its lock at exit would abort the interpreter.
        rest = b""
        with suppress(OSError):  # closed: there are no commands
            while chunk := os.read(STDIN, READ_BYTES):
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    self._hand_over(line.decode("utf-8", "replace"))
        if rest:
            self._hand_over(rest.decode("utf-8", "replace"))
        if not self._stay:
            self._hand_over(None)

    def _hand_over(self, line: str | None) -> None:
        self._room.acquire()
        with suppress(RuntimeError):  # the loop has ended, and with it the wish for commands
            self._loop.call_soon_threadsafe(self._lines.put_nowait, line)


class Screen:
    """Writes reports: above the prompt for a person, as JSON lines for a program."""

    def __init__(self, node: int, *, as_json: bool, prompt: bool) -> None:
        self._as_json = as_json
        self._prompt = f"{node}> " if prompt else ""

    @property
    def prompts(self) -> bool:
        return bool(self._prompt)

    def show(self, report: Report, *, last: bool = False) -> None:
        text = msgspec.json.encode(report).decode() if self._as_json else report.line()
        if self._prompt:
            text = f"\r\x1b[K{text}"
        self._write(f"{text}\n" if last else f"{text}\n{self._prompt}")

    def ask(self) -> None:
        if self._prompt:
            self._write(f"\r\x1b[K{self._prompt}")

    def _write(self, text: str) -> None:
        with suppress(BrokenPipeError):  # whoever read the reports is gone; the node goes on until it is told to leave
            sys.stdout.write(text)
            sys.stdout.flush()
