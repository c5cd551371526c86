"""A live node in a terminal, or driven by a program: the verbs of the command line, one line each.

The shell is a client of its own node: it reaches the node through a control socket, and each line runs a verb in a
thread of its own. Standard input is read by a thread as well, because not everything it may be (a file, a terminal, a
pipe) can be awaited.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TextIO

import msgspec

from thyme.live.daemon.service import HttpAccess, served
from thyme.live.failures import OperationError, Refusal, problem_of
from thyme.live.link.addresses import address_text
from thyme.live.node.node import Node
from thyme.live.views import peer_views, status_view
from thyme.model.errors import InputError
from thyme.model.terminal import printable

MAX_WAITING_LINES = 100
"""Lines read ahead of the verb that runs."""
MAX_LINE_CHARS = 100_000
MAX_RUNNING = 64
"""Verbs that run at once: subscriptions go on until the shell ends."""
READ_BYTES = 65_536
STDIN = 0
ATTENTION_S = 1.0
"""How long a person at a prompt waits for a verb before the next line is read."""
CONTINUING = ("sub",)
"""Verbs that go on while the next line is read."""

Verbs = Callable[[Sequence[str], Path], None]
"""Runs the words of a line as a verb, on the node with this control socket; what it prints is its answer."""


async def run_node(node: Node, verbs: Verbs, access: HttpAccess, *, as_json: bool, prompt: bool, stay: bool) -> None:
    """Run a node until its user quits, its input ends (unless it is to stay), or a signal asks it to leave."""
    loop = asyncio.get_running_loop()
    life = loop.create_task(_live(node, verbs, access, as_json, prompt, stay))
    signals = (signal.SIGINT, signal.SIGTERM)
    for number in signals:
        loop.add_signal_handler(number, life.cancel)
    try:
        with suppress(asyncio.CancelledError):
            await life
    finally:
        for number in signals:
            loop.remove_signal_handler(number)


async def _live(node: Node, verbs: Verbs, access: HttpAccess, as_json: bool, prompt: bool, stay: bool) -> None:
    life = asyncio.current_task()
    assert life is not None
    with TemporaryDirectory(prefix="thyme-") as folder:
        own = access.control or Path(folder) / "shell.sock"
        await node.open()
        try:
            _say_status(node, as_json)
            async with served(node, msgspec.structs.replace(access, control=own), life.cancel) as reached:
                assert reached is not None
                _say_addresses(node, access, reached.address, as_json)
                await node.connect(node.options.peers)
                await node.join()
                await _read(Shell(verbs, own, as_json), node, prompt, stay, as_json)
        finally:
            await node.close()
            if not as_json:
                _say(f"node {node.id} left")


async def _read(shell: Shell, node: Node, prompt: bool, stay: bool, as_json: bool) -> None:
    lines = Lines(stay)
    joined = asyncio.ensure_future(_say_joined(node, as_json))
    screen = Screen(f"{node.id}> ") if prompt else None
    try:
        while (line := await lines.next()) is not None and await shell.run(line, ATTENTION_S if prompt else None):
            if screen is not None:
                screen.ask()
    finally:
        joined.cancel()
        if screen is not None:
            screen.close()


def _say_status(node: Node, as_json: bool) -> None:
    state = status_view(node)
    _say(msgspec.json.encode(state).decode() if as_json else state.line().removesuffix(", joining"))


def _say_addresses(node: Node, access: HttpAccess, address: str, as_json: bool) -> None:
    if as_json:
        return
    if node.device.told is not None:
        told = address_text(node.device.told.address)
        _say(f"its events can be watched with: thyme watch {told}")
    if reached := [str(each) for each in (access.control, address) if each]:
        _say(f"programs reach it at {' and '.join(reached)}")


async def _say_joined(node: Node, as_json: bool) -> None:
    await node.device.joined.wait()
    if as_json:
        _say_status(node, as_json)
        return
    peers = ", ".join(f"{peer.name or peer.node} at {peer.address}" for peer in peer_views(node))
    _say(f"joined; neighbours: {peers}" if peers else "joined; no neighbours yet")


def _say(text: str) -> None:
    with suppress(BrokenPipeError):  # the reader is gone; the node continues until it is told to leave
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()


class Shell:
    """Runs lines as verbs, one after the other; subscriptions go on beside them."""

    def __init__(self, verbs: Verbs, control: Path, as_json: bool) -> None:
        self._verbs = verbs
        self._control = control
        self._as_json = as_json
        self._running = 0

    async def run(self, line: str, attention_s: float | None = None) -> bool:
        """Run one line, and wait for its end or for `attention_s`; False if it asks to quit. Errors are printed."""
        try:
            words = _words(line)
            if not words:
                return True
            if words[0] == "quit":
                return False
            if self._running >= MAX_RUNNING:
                raise InputError(f"{MAX_RUNNING} commands are running; wait for one of them, or quit")
        except InputError as error:
            self._fail(error)
            return True
        self._running += 1
        ended = asyncio.Event()
        loop = asyncio.get_running_loop()
        threading.Thread(target=self._try, args=(words, loop, ended), daemon=True, name=words[0]).start()
        if words[0] not in CONTINUING or attention_s is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(attention_s):
                    await ended.wait()
        return True

    def _try(self, words: list[str], loop: asyncio.AbstractEventLoop, ended: asyncio.Event) -> None:
        try:
            self._verbs([*words, *(["--json"] if self._as_json and words[0] != "help" else [])], self._control)
        except (InputError, OperationError) as error:
            self._fail(error)
        except OSError as error:
            self._fail(InputError(f"{error.filename or words[0]}: {error.strerror or error}"))
        finally:
            self._running -= 1
            with suppress(RuntimeError):  # the loop has ended, and with it the wish to know
                loop.call_soon_threadsafe(ended.set)

    def _fail(self, error: Exception) -> None:
        _, problem = problem_of(error)
        text = (
            msgspec.json.encode(Refusal(problem)).decode() if self._as_json else f"error: {printable(problem.message)}"
        )
        _say(text)


def _words(line: str) -> list[str]:
    if len(line) > MAX_LINE_CHARS:
        raise InputError(f"the line has {len(line)} characters; at most {MAX_LINE_CHARS} are read; put a file instead")
    try:
        return shlex.split(line)
    except ValueError as error:
        raise InputError(f"{error}; put texts with spaces or quotes in quotes".lower()) from error


class Lines:
    """The lines of standard input, as they come."""

    def __init__(self, stay: bool) -> None:
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._room = threading.Semaphore(MAX_WAITING_LINES)
        self._stay = stay
        threading.Thread(target=self._read, daemon=True, name="lines").start()

    async def next(self) -> str | None:
        """The next line, or None at the end of the input."""
        line = await self._lines.get()
        self._room.release()
        return line

    def _read(self) -> None:
        # Plain reads, without Python's buffer: a thread that holds its lock at exit would abort the interpreter.
        rest = b""
        with suppress(OSError):  # closed: there are no lines
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
        with suppress(RuntimeError):  # the loop has ended, and with it the wish for lines
            self._loop.call_soon_threadsafe(self._lines.put_nowait, line)


class Screen:
    """Standard output with a prompt below what is printed, whichever thread prints it."""

    def __init__(self, prompt: str) -> None:
        self._prompt = prompt
        self._out: TextIO = sys.stdout
        self._lock = threading.Lock()
        self._unended = ""
        sys.stdout = self
        self.ask()

    def ask(self) -> None:
        self._draw(f"\r\x1b[K{self._prompt}")

    def close(self) -> None:
        sys.stdout = self._out
        self._draw("\r\x1b[K")

    def write(self, text: str) -> int:
        with self._lock:
            whole, newline, self._unended = (self._unended + text).rpartition("\n")
        if newline:
            self._draw(f"\r\x1b[K{whole}\n{self._prompt}")
        return len(text)

    def flush(self) -> None:
        self._out.flush()

    def __getattr__(self, name: str) -> object:
        return getattr(self._out, name)

    def _draw(self, text: str) -> None:
        with suppress(BrokenPipeError):  # the reader is gone; the node continues until it is told to leave
            self._out.write(text)
            self._out.flush()
