"""The shell of a live node: carries out commands one after the other and reports what happens."""

from __future__ import annotations

import asyncio
from argparse import Namespace
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from thyme.live.failures import OperationError
from thyme.live.link.addresses import address_text
from thyme.live.node.node import Node
from thyme.live.node.operations.given import parse_key
from thyme.live.node.operations.notifications import Notice
from thyme.live.shell import reports
from thyme.live.shell.commands import HELP, parse_command, parse_number
from thyme.model.errors import InputError
from thyme.model.frames import TimeFrame

Emit = Callable[[reports.Report], None]
SUMMARY_CHARS = 60
PROGRESS_S = 1.0
"""Between two reports of how far a retrieval is."""


class Shell:
    """Obeys commands. One that takes longer than `attention_s` goes on by itself, and reports when it has ended."""

    def __init__(self, node: Node, emit: Emit, attention_s: float | None = None) -> None:
        self._node = node
        self._emit = emit
        self._attention_s = attention_s
        self._tasks: set[asyncio.Task[None]] = set()

    def begin(self) -> None:
        node = self._node
        node.on_notice = self._report
        self._emit(reports.Listening(node.id, node.address, node.options.approach))
        if node.device.told is not None:
            self._emit(reports.Telling(address_text(node.device.told.address)))
        self._start(self._report_joining())

    async def end(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def run(self, line: str) -> bool:
        """Carry out one line; False if it asks to quit. Errors are reported, never raised."""
        try:
            if not line.strip():
                return True
            command = parse_command(line)
        except InputError as error:
            self._fail(line, str(error))
            return True
        if command.command == "quit":
            return False
        await asyncio.wait({self._start(self._try(line, command))}, timeout=self._attention_s)
        return True

    async def _try(self, line: str, command: Namespace) -> None:
        try:
            await self._carry_out(command)
        except (InputError, OperationError) as error:
            self._fail(line, str(error))
        except OSError as error:
            self._fail(line, f"{error.filename}: {error.strerror or error}")

    async def _carry_out(self, command: Namespace) -> None:
        match command.command:
            case "insert":
                await self._insert(command)
            case "subscribe":
                await self._subscribe(command)
            case "retrieve":
                await self._retrieve(command)
            case "delete":
                await self._node.delete(command.name)
                self._emit(reports.Deleted(f"{command.name}@{self._node.id}"))
            case "unsubscribe":
                number = parse_number(command.number)
                await self._node.unsubscribe(number)
                self._emit(reports.Unsubscribed(f"{number}@{self._node.id}"))
            case "more":
                number = parse_number(command.number)
                remaining = await self._node.more(number)
                self._emit(reports.More(f"{number}@{self._node.id}", remaining))
            case "list":
                self._emit(self._listing())
            case _:
                self._emit(reports.Helped(HELP))

    async def _insert(self, command: Namespace) -> None:
        data: Path | bytes
        if command.file:
            data, about = Path(command.file), Path(command.file).name
        else:
            data, about = command.text.encode(), command.text[:SUMMARY_CHARS]
        summary = about if command.summary is None else command.summary
        tags = [tag for tag in command.tags.split(",") if tag.strip()]
        metadata = await self._node.insert(command.name, data, tags, summary.encode())
        self._emit(reports.Inserted(str(metadata.key), metadata.tags, metadata.size_bytes))

    async def _subscribe(self, command: Namespace) -> None:
        now_s = self._node.device.host.now()
        frames = {"past": TimeFrame.past(now_s), "future": TimeFrame.future(now_s), "always": TimeFrame.always()}
        stream = await self._node.subscribe(command.query, frames[command.frame])
        self._emit(reports.Subscribed(str(stream.key), stream.query, self._node.remaining(stream.key.sid)))

    async def _retrieve(self, command: Namespace) -> None:
        key = parse_key(command.key)
        if command.to:
            size_bytes = await self._node.retrieve_to(key, command.to, self._progress_of(command.key))
            self._emit(reports.Retrieved(command.key, size_bytes, file=command.to))
        else:
            data = await self._node.retrieve(key)
            self._emit(reports.Retrieved(command.key, len(data), _text_of(data)))

    def _progress_of(self, name: str) -> Callable[[int, int], None]:
        """Reports now and then how much of a large object is here."""
        loop = asyncio.get_running_loop()
        due_s = loop.time() + PROGRESS_S

        def tell(have_bytes: int, size_bytes: int) -> None:
            nonlocal due_s
            if loop.time() >= due_s:
                due_s = loop.time() + PROGRESS_S
                self._emit(reports.Retrieving(name, have_bytes, size_bytes))

        return tell

    def _listing(self) -> reports.Listed:
        node = self._node
        return reports.Listed(
            tuple(str(metadata.key) for metadata in node.known()),
            {str(stream.key): stream.query for stream in node.subscriptions()},
            {int(key): address for key, address in node.device.neighbours().items()},
        )

    async def _report_joining(self) -> None:
        await self._node.device.joined.wait()
        self._emit(reports.Joined({int(key): at for key, at in self._node.device.neighbours().items()}))

    def _report(self, notice: Notice) -> None:
        metadata = notice.metadata
        self._emit(
            reports.Notified(
                str(notice.subscription),
                str(metadata.key),
                metadata.tags,
                metadata.summary.decode("utf-8", "replace"),
                metadata.size_bytes,
                round(notice.delay_s, 6),
            )
        )

    def _fail(self, line: str, message: str) -> None:
        self._emit(reports.Failed(line.strip(), " ".join(message.split())))

    def _start(self, doing: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(doing)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def _text_of(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None
