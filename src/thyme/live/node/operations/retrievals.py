"""The retrievals of an application that are under way: who wants which object, and wants to know how far it is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

from thyme.approaches.user import Fetched
from thyme.live.failures import OperationError
from thyme.live.node.device import Device
from thyme.live.node.operations.files import DamagedContent
from thyme.model.ids import ObjectKey
from thyme.model.objects import Content
from thyme.model.records import OperationKind

Progress = Callable[[int, int], None]
"""(bytes that are here, bytes in all)"""


class Retrievals:
    """By object; several may want the same one."""

    def __init__(self) -> None:
        self._waiting: dict[ObjectKey, list[Progress | None]] = {}

    @asynccontextmanager
    async def retrieved(
        self, device: Device, key: ObjectKey, fetch: Callable[[Fetched], Awaitable[None]], progress: Progress | None
    ) -> AsyncIterator[tuple[ObjectKey, Content]]:
        """A content that `fetch` brings, while this is entered; the last who leaves lets the store drop it."""
        content: list[Content] = []
        with self._entered(key, progress) as last:
            try:
                await fetch(content.append)
            except asyncio.CancelledError:
                if last():
                    device.store.pause(key)
                raise
            try:
                yield key, content[0]
            except DamagedContent as error:
                raise OperationError(OperationKind.RETRIEVE, str(error)) from error
            finally:
                if last() and device.host.on:
                    device.store.release(key)

    def __contains__(self, key: object) -> bool:
        """Whether somebody waits for it, or reads it."""
        return key in self._waiting

    def tell(self, key: ObjectKey, have_bytes: int, size_bytes: int) -> None:
        for progress in self._waiting.get(key, ()):
            if progress is not None:
                progress(have_bytes, size_bytes)

    @contextmanager
    def _entered(self, key: ObjectKey, progress: Progress | None) -> Iterator[Callable[[], bool]]:
        """While this is entered, progress is told. Gives whether nobody else wants the object."""
        waiting = self._waiting.setdefault(key, [])
        waiting.append(progress)
        try:
            yield lambda: len(waiting) == 1
        finally:
            waiting.remove(progress)
            if not waiting:
                self._waiting.pop(key, None)
