"""Questions that need nothing kept: what is there now, and a subscription that lives as long as the connection does.

One-shot commands ask so. What a listener subscribed to is given up when its connection ends, and past matches are paged
through by themselves. Should the node be killed meanwhile, the subscription is given up when it is back.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import suppress
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import StreamingResponse

from thyme.live.failures import OperationError
from thyme.live.http import forms
from thyme.live.http.faults import Fault
from thyme.live.http.limits import HttpOptions
from thyme.live.node.node import FIND_WAIT_S, Node
from thyme.live.node.operations.finding import found
from thyme.live.node.operations.notifications import Notice, Notifications
from thyme.model.errors import InputError
from thyme.model.frames import TimeFrame

KIND = "listened over http"


class Asking:
    """The questions of one node's clients."""

    def __init__(self, node: Node, options: HttpOptions) -> None:
        self._node = node
        self._options = options
        self._listening = 0
        self._tasks: set[asyncio.Task[None]] = set()
        for name, _ in node.device.host.store.items(KIND):
            self._later(self._give_up(int(name)))

    async def found(self, request: Request, _: None) -> list[forms.ObjectView]:
        now_s = self._node.now()
        asked = forms.subscription_from(request.query_params)
        frame = forms.frame_from(asked, now_s)
        past = TimeFrame(frame.start_s, now_s if frame.end_s is None else min(now_s, frame.end_s))
        async with await self._node.subscribe(asked.query, past) as matches:
            objects = await found(matches, FIND_WAIT_S)
        return [forms.object_view(each, self._node.id) for each in objects]

    async def listen(self, request: Request, _: None) -> StreamingResponse:
        if self._listening >= self._options.streams:
            raise Fault(503, "busy", f"{self._listening} listen, which is all there can be; end one of them")
        asked = forms.subscription_from(request.query_params)
        frame = forms.frame_from(asked, self._node.now())
        stream = await self._node.subscribe(asked.query, frame)
        self._node.device.host.store.put(KIND, str(stream.key.sid), b"")
        self._listening += 1
        return StreamingResponse(
            self._lines(stream, frame), media_type="text/event-stream", headers={"x-accel-buffering": "no"}
        )

    async def _lines(self, stream: Notifications, frame: TimeFrame) -> AsyncIterator[bytes]:
        try:
            yield _event("subscribed", {"subscription": stream.key.sid, "query": stream.query})
            over = frame.ended(self._node.now())
            while not stream.ended or stream.waiting:
                notice, quiet = await self._next(stream, FIND_WAIT_S if over else self._options.heartbeat_s)
                if notice is not None:
                    yield _event("notified", forms.notice_view(notice, self._node.id))
                elif over and quiet:
                    break
                elif quiet:
                    over = frame.ended(self._node.now())
                    yield b": still here\n\n"
            yield _event("end", {})
        finally:
            self._listening -= 1
            self._later(self._give_up(stream.key.sid))

    async def _next(self, stream: Notifications, wait_s: float) -> tuple[Notice | None, bool]:
        """The next match, if one comes, and whether none came for so long."""
        if not stream.waiting and stream.remaining:
            with suppress(OperationError):  # who did not answer is asked with the next batch
                await stream.more()
        try:
            async with asyncio.timeout(wait_s):
                return await anext(stream, None), False
        except TimeoutError:
            return None, True

    async def _give_up(self, sid: int) -> None:
        with suppress(InputError, OperationError):
            await self._node.unsubscribe(sid)
        with suppress(InputError):  # the node has left, and does it when it is back
            self._node.device.host.store.remove(KIND, str(sid))

    def _later(self, doing: Coroutine[Any, Any, None]) -> None:
        """Apart from the request, which may have been cancelled."""
        task = asyncio.get_running_loop().create_task(doing)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _event(kind: str, data: Any) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (kind.encode(), msgspec.json.encode(data))
