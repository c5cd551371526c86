"""A transfer: one large content on its way to this node, chunk by chunk, from several sources at once.

First comes the list of chunks, which the content's digest vouches for, then the chunks in order, each from whoever has
a free place in their window. A chunk is compared with its digest before it is written, so one that a source made up or
damaged costs that source its part in the transfer and nothing else. Memory holds only the chunks that are under way or
on their way to the disk. What a source that falls silent was asked for is asked of others; when all are silent and some
gave something before, they are asked anew for a while. What has arrived stays in the store as a draft
(`partial_contents`), and whoever asks for the content again, after a restart too, goes on from there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Generic

import msgspec

from thyme.approaches.interface import Failure, Fetched, Outcome
from thyme.approaches.partial_contents import PartialContent
from thyme.approaches.requests import Requests
from thyme.approaches.transfers.supplies import REST_S, Chunk, Source, Supply, TransferOptions
from thyme.host import Host, StoreFull
from thyme.model.chunks import chunk_range, list_bytes
from thyme.model.objects import InStore, Metadata
from thyme.model.records import Counted, TrafficKind
from thyme.wire.storage import DELETED, PartReply, PartRequest

LIST = -1
"""In place of a chunk's number: the list of chunks, which lies behind the content."""
CHECKED_AT_ONCE = 8
"""Chunks of a draft that are compared before others have their turn."""

Known = Callable[[int], bytes]
"""The part that begins at an offset, if this node has it from elsewhere, else nothing."""


def nothing_known(offset: int) -> bytes:
    return b""


Progress = Callable[[int, int], None]
"""(bytes that are here, bytes in all)"""


def failure_of(reply: PartReply) -> Failure:
    """Why a source did not give the part."""
    return Failure.DELETED if not reply.found and reply.offset == DELETED else Failure.NOT_FOUND


class _Part(msgspec.Struct, Generic[Source], eq=False):
    supply: Supply[Source]
    chunk: Chunk
    offset: int
    size: int
    asked_s: float
    again: bool = False


class TransferContext(msgspec.Struct, Generic[Source], frozen=True):
    """What a node's transfers share."""

    host: Host
    requests: Requests
    ask: Callable[[Source, PartRequest], None]
    options: TransferOptions
    part_bytes: Callable[[], int]


class Transfer(Generic[Source]):
    """One content. `ended` is called once, with how it ended."""

    def __init__(
        self,
        context: TransferContext[Source],
        metadata: Metadata,
        sources: Sequence[Source],
        progress: Progress,
        ended: Callable[[Outcome], None],
        known: Known,
    ) -> None:
        self.metadata = metadata
        self.waiting: list[Fetched] = []
        """Who wants to know when it has ended."""
        self._context = context
        self._host = context.host
        self._progress = progress
        self._ended = ended
        self._step = context.part_bytes()
        self._known = known
        """Parts that need not be asked for, by offset."""
        self._draft = PartialContent(context.host.store, metadata)
        self._sources = deque(sources)
        self._giving: list[Source] = []
        """Those that gave something …"""
        self._silent: list[Source] = []
        """… and fell silent."""
        self._resting = False
        self._rounds = context.options.rounds
        self._supplies: list[Supply[Source]] = []
        self._parts: dict[int, _Part[Source]] = {}
        self._todo: deque[int] = deque()
        self._checking = False
        self._held = 0
        """Chunks in memory."""
        self._have_bytes = 0
        self._failure = Failure.NOT_FOUND
        self.over = False

    def begin(self) -> None:
        self._draft.begin(self._host.now())
        if self._draft.listed:
            self._look_for_chunks()
        else:
            self._todo.append(LIST)
        self._go_on()

    def pause(self) -> None:
        """Ask no more; what has arrived stays."""
        self._end(Outcome(Failure.CANCELLED))

    def __contains__(self, request: int) -> bool:
        return request in self._parts

    def on_reply(self, reply: PartReply) -> None:
        part = self._parts[reply.request]
        if not reply.found or reply.total_bytes != self.metadata.size_bytes:
            self._context.requests.resolve(reply.request, Outcome(failure_of(reply)))
        elif reply.offset != part.offset or len(reply.part) != part.size:
            self._context.requests.resolve(reply.request, Outcome(Failure.DAMAGED))
        else:
            at = part.offset - part.chunk.begins
            part.chunk.data[at : at + part.size] = reply.part
            part.chunk.left_bytes -= part.size
            if not part.again:
                part.supply.answered(self._host.now() - part.asked_s)
            self._context.requests.resolve(reply.request, Outcome())

    def _look_for_chunks(self) -> None:
        """The list is known: which chunks lack?"""
        if not self._draft.begun:
            self._todo.extend(range(self._draft.chunks))
            return
        self._checking = True
        self._host.after(0.0, lambda: self._check(0))

    def _check(self, first: int) -> None:
        if self.over:
            return
        last = min(first + CHECKED_AT_ONCE, self._draft.chunks)
        for number in range(first, last):
            if self._draft.has(number):
                self._have_bytes += chunk_range(number, self.metadata.size_bytes)[1]
            else:
                self._todo.append(number)
        if last < self._draft.chunks:
            self._host.after(0.0, lambda: self._check(last))
        else:
            self._checking = False
            self._progress(self._have_bytes, self.metadata.size_bytes)
        self._go_on()

    def _go_on(self) -> None:
        """Ask for whatever may be asked for now."""
        if self.over:
            return
        if not self._todo and not self._held and not self._checking:
            self._end(Outcome())
            return
        while self._todo and self._sources and len(self._supplies) < self._context.options.sources:
            self._supplies.append(Supply(self._sources.popleft(), self._context.options))
        for supply in list(self._supplies):
            while self._may_ask(supply) and self._chunk_for(supply):
                self._ask(supply)
        if self._todo and not self._supplies and not self._resting:
            self._rest()

    def _may_ask(self, supply: Supply[Source]) -> bool:
        """At least one request is under way, however many others there are."""
        return supply.open and not supply.gone and (self._context.requests.room > 0 or not self._parts)

    def _chunk_for(self, supply: Supply[Source]) -> bool:
        """Whether there is something to ask this source for."""
        if supply.chunk is not None and supply.chunk.unasked:
            return True
        if not self._todo or self._held >= self._context.options.chunks:
            return False
        number, size_bytes = self._todo.popleft(), self.metadata.size_bytes
        begins, length = (size_bytes, list_bytes(size_bytes)) if number == LIST else chunk_range(number, size_bytes)
        unasked = deque(range(begins, begins + length, self._step))
        supply.chunk = Chunk(number, begins, bytearray(length), unasked, length)
        supply.chunks.append(supply.chunk)
        self._held += 1
        return self._is_to_ask(supply, supply.chunk) or self._chunk_for(supply)

    def _is_to_ask(self, supply: Supply[Source], chunk: Chunk) -> bool:
        """Fill in the known parts of a chunk; if none is missing, it is complete."""
        for offset in list(chunk.unasked):
            part, at = self._known(offset), offset - chunk.begins
            if part and len(part) == min(self._step, len(chunk.data) - at):
                chunk.data[at : at + len(part)] = part
                chunk.left_bytes -= len(part)
                chunk.unasked.remove(offset)
        if chunk.left_bytes == 0:
            self._complete(supply, chunk)
        return bool(chunk.unasked)

    def _ask(self, supply: Supply[Source]) -> None:
        chunk = supply.chunk
        assert chunk is not None
        offset = chunk.unasked.popleft()
        size = min(self._step, chunk.begins + len(chunk.data) - offset)
        part = _Part(supply, chunk, offset, size, self._host.now())
        numbers: list[int] = []

        def send(number: int) -> None:
            if numbers:
                part.again = True
                supply.late(self._host.now())
            else:
                numbers.append(number)
                self._parts[number] = part
            self._context.ask(supply.source, PartRequest(number, self.metadata.key, offset, size))

        def ended(outcome: Outcome) -> None:
            self._parts.pop(numbers[0], None)
            supply.under_way -= 1
            if self.over or supply.gone:
                return
            if not outcome.ok:
                self._lose(supply, outcome.failure, returns=outcome.failure is not Failure.DAMAGED)
            elif chunk.left_bytes == 0:
                self._complete(supply, chunk)
            self._go_on()

        supply.under_way += 1
        self._context.requests.begin(send, ended, supply.patience_s)

    def _complete(self, supply: Supply[Source], chunk: Chunk) -> None:
        """All parts of a chunk are there: write it, if it is what it should be."""
        digest = self.metadata.digest if chunk.number == LIST else self._draft.digest_of(chunk.number)
        if sha256(chunk.data).digest() != digest:
            self._host.record(Counted(TrafficKind.DROPPED, "chunk", size_bytes=len(chunk.data), reason="damaged"))
            self._known = nothing_known
            self._lose(supply, Failure.DAMAGED, returns=False)
            return
        supply.chunks.remove(chunk)
        if supply.source not in self._giving:
            self._giving.append(supply.source)
        self._rounds = self._context.options.rounds
        data = bytes(chunk.data)
        chunk.data = bytearray()
        if chunk.number == LIST:
            self._held -= 1
            self._draft.take_list(data)
            self._look_for_chunks()
        else:
            self._write(chunk.begins, data)

    def _write(self, begins: int, data: bytes) -> None:
        try:
            self._host.store.write(str(self.metadata.key), begins, data, lambda: self._written(len(data)))
        except StoreFull:
            self._end(Outcome(Failure.REFUSED))

    def _written(self, size_bytes: int) -> None:
        self._held -= 1
        self._have_bytes += size_bytes
        if not self.over:
            self._progress(self._have_bytes, self.metadata.size_bytes)
            self._go_on()

    def _lose(self, supply: Supply[Source], failure: Failure, *, returns: bool) -> None:
        """A source is not asked any more: what it was asked for is for others."""
        supply.gone = True
        self._failure = failure
        self._supplies.remove(supply)
        for number in [number for number, part in self._parts.items() if part.supply is supply]:
            self._context.requests.resolve(number, Outcome(Failure.CANCELLED))
        self._held -= len(supply.chunks)
        self._todo.extendleft(chunk.number for chunk in reversed(supply.chunks))
        if returns and supply.source in self._giving:
            self._silent.append(supply.source)

    def _rest(self) -> None:
        """All sources are silent: after a while, ask again those that sent parts before."""
        if not self._silent or not self._rounds:
            self._end(Outcome(self._failure))
            return
        self._rounds -= 1
        self._resting = True

        def ask_anew() -> None:
            self._resting = False
            self._sources.extend(self._silent)
            self._silent.clear()
            self._go_on()

        self._host.after(REST_S, ask_anew)

    def _end(self, outcome: Outcome) -> None:
        if self.over:
            return
        self.over = True
        for number in list(self._parts):
            self._context.requests.resolve(number, Outcome(Failure.CANCELLED))
        self._ended(outcome)
        content = InStore(self.metadata.size_bytes, self.metadata.digest) if outcome.ok else b""
        for done in self.waiting:
            done(outcome, content)
