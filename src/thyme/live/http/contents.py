"""Contents that clients asked for: retrieved to files of a folder, and served from there in any range.

There is at most one retrieval per object, however many clients ask for it. It continues when no client waits any more,
can be paused, and a new request after a failure or a pause continues with the received part. The folder is bounded: the
least recently requested files are removed first.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

from thyme.live.failures import OperationError, RequestError
from thyme.live.http.limits import CONTENTS_BYTES, PROGRESS_S, HttpOptions
from thyme.live.node.node import Node
from thyme.live.views import RetrievalView
from thyme.model.bounded import Bounded
from thyme.model.errors import InputError
from thyme.model.ids import ObjectKey
from thyme.model.objects import Metadata

RUNNING, DONE, FAILED, PAUSED = "running", "done", "failed", "paused"
Changed = Callable[[RetrievalView], None]


class RetrievedContents:
    """The retrieved contents of one node."""

    def __init__(self, node: Node, folder: Path, options: HttpOptions, changed: Changed) -> None:
        """`changed` is called when a retrieval begins, advances or ends."""
        self._node = node
        self._folder = folder
        self._options = options
        self._changed = changed
        self._states: Bounded[ObjectKey, RetrievalView] = Bounded(options.retrievals, renewing=True)
        self._errors: Bounded[ObjectKey, Exception] = Bounded(options.retrievals, renewing=True)
        self._tasks: dict[ObjectKey, asyncio.Task[None]] = {}
        folder.mkdir(parents=True, exist_ok=True)

    def states(self) -> list[RetrievalView]:
        return list(self._states.values())

    def state(self, key: ObjectKey) -> RetrievalView | None:
        return self._states.get(key)

    def begin(self, metadata: Metadata) -> RetrievalView:
        """Start to retrieve the content, unless it is here or on its way."""
        key = metadata.key
        if self._file(key).exists():
            return self._note(metadata, DONE, metadata.size_bytes)
        if key not in self._tasks:
            if len(self._tasks) >= self._options.retrievals:
                raise InputError(f"{len(self._tasks)} retrievals are in progress; wait for some to finish")
            self._errors.pop(key, None)
            self._note(metadata, RUNNING, 0)
            self._tasks[key] = asyncio.get_running_loop().create_task(self._retrieve(metadata))
        return self._states[key]

    async def file(self, metadata: Metadata) -> Path:
        """The file of the content, once it is complete; OperationError or InputError if it cannot be retrieved."""
        file = self._file(metadata.key)
        self.begin(metadata)
        if task := self._tasks.get(metadata.key):
            await asyncio.wait({task})
        if not file.exists():
            raise self._errors.get(metadata.key) or RequestError(
                409, "paused", f"the retrieval of {metadata.key} was paused"
            )
        os.utime(file)
        return file

    def pause(self, key: ObjectKey) -> RetrievalView | None:
        task = self._tasks.get(key)
        if task is not None:
            task.cancel()
        return self._states.get(key)

    def forget(self, key: ObjectKey) -> None:
        """The object was deleted."""
        self.pause(key)
        self._file(key).unlink(missing_ok=True)
        self._states.pop(key, None)

    async def end(self) -> None:
        for task in list(self._tasks.values()):
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def _retrieve(self, metadata: Metadata) -> None:
        loop, key = asyncio.get_running_loop(), metadata.key
        due_s = 0.0

        def progress(have_bytes: int, size_bytes: int) -> None:
            nonlocal due_s
            if loop.time() >= due_s:
                due_s = loop.time() + PROGRESS_S
                self._note(metadata, RUNNING, have_bytes)

        try:
            await self._node.retrieve_to(metadata, self._file(key), progress)
            await asyncio.to_thread(self._make_room, self._file(key))
            self._note(metadata, DONE, metadata.size_bytes)
        except asyncio.CancelledError:
            self._note(metadata, PAUSED, self._states[key].have_bytes)
            raise
        except (InputError, OperationError, OSError) as error:
            self._errors[key] = error
            self._note(metadata, FAILED, 0, " ".join(str(error).split()))
        finally:
            self._tasks.pop(key, None)

    def _note(self, metadata: Metadata, state: str, have_bytes: int, error: str = "") -> RetrievalView:
        view = RetrievalView(str(metadata.key), state, have_bytes, metadata.size_bytes, error)
        if self._states.get(metadata.key) != view:
            self._states[metadata.key] = view
            self._changed(view)
        return view

    def _file(self, key: ObjectKey) -> Path:
        return self._folder / sha256(str(key).encode()).hexdigest()

    def _make_room(self, newest: Path) -> None:
        """Remove the least recently requested files, but not the newest."""
        files = [(file.stat().st_mtime, file.stat().st_size, file) for file in self._folder.glob("*") if file.is_file()]
        over = sum(size for _, size, _ in files) - CONTENTS_BYTES
        for _, size, file in sorted(files):
            if over <= 0:
                return
            if file != newest:
                file.unlink(missing_ok=True)
                over -= size
