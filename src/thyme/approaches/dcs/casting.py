"""Casting: a content is broadcast once, part by part, when it is inserted (active replication costs one broadcast,
Thyme FGCS §8).

Whoever is in range gathers the parts for a short while. Who then wants the content, to keep it or for its user, asks
only for what is missing. The next part is sent when nothing else of this node waits to be sent, so a busy channel slows
casts down first, and what is late is not cast any more.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial

import msgspec

from thyme.approaches.dcs.cell import Cell
from thyme.model.bounded import Bounded
from thyme.model.chunks import part_offsets
from thyme.model.ids import NodeId, ObjectKey
from thyme.model.objects import Metadata
from thyme.wire.codec import MAX_PART_BYTES
from thyme.wire.geographic import CastPart

GAP_S = 0.002
"""Between two parts of 1,200 bytes: at 6 Mbit/s most of the channel."""
BUSY_S = 0.02
"""How long to wait when other messages wait to be sent."""
MAX_CAST_BYTES = 8_000_000
"""Larger contents are fetched from their owner."""
MAX_QUEUED = 64
"""Contents that wait for their turn; others are fetched from their owner."""
MAX_HEARD = 16
"""Contents whose parts are gathered …"""
MAX_HEARD_BYTES = 2 * MAX_CAST_BYTES
"""… and their parts; those that came first make room."""
QUIET_S = 0.5
"""A cast that was not heard for so long has ended, or has passed out of range."""
LOOK_S = 0.1
"""How often who waits for a cast looks whether it is over."""
BACKLOG_S = 3.0
"""How long after its insertion a content is cast, and expected by neighbours."""


class _Heard(msgspec.Struct):
    """What was heard of a content: its parts by offset."""

    size_bytes: int
    parts: dict[int, bytes]
    have_bytes: int
    heard_s: float


class Casting:
    """What one node casts, and what it hears of others' casts."""

    def __init__(self, cell: Cell) -> None:
        self._cell = cell
        self._host = cell.host
        self._part_bytes = cell.options.contents.part_bytes
        self._queue: deque[tuple[Metadata, deque[tuple[int, int]], Callable[[], None]]] = deque()
        self._heard: Bounded[ObjectKey, _Heard] = Bounded(MAX_HEARD, parting=self._forgot)
        self._heard_bytes = 0
        cell.overhear(CastPart, self._on_part)

    def cast(self, metadata: Metadata, begins: Callable[[], None] = lambda: None) -> None:
        """Broadcast a content that this node has, when it is its turn: of those that wait, the latest is next, since
        notifications of it have just left. `begins` is called before the first part."""
        fits = metadata.size_bytes <= MAX_CAST_BYTES and len(self._queue) < MAX_QUEUED
        if self._cell.options.cast and fits:
            offsets = deque(part_offsets(metadata.size_bytes, self._part_bytes))
            self._queue.append((metadata, offsets, begins))
            if len(self._queue) == 1:
                self._begin()

    def heard(self, key: ObjectKey, offset: int) -> bytes:
        """The part of a content that begins there, if it was heard."""
        heard = self._heard.get(key)
        return b"" if heard is None else heard.parts.get(offset, b"")

    def when_over(self, metadata: Metadata, action: Callable[[], None], *, expected_s: float = QUIET_S) -> None:
        """Act after the content's cast, if it is being heard or begins within `expected_s`; otherwise then."""
        heard, now_s = self._heard.get(metadata.key), self._host.now()
        if heard is None:
            waits = self._cell.options.cast and expected_s > 0.0
        else:
            waits = heard.have_bytes < heard.size_bytes and now_s - heard.heard_s < QUIET_S
        if waits:
            left_s = expected_s - LOOK_S
            self._host.after(LOOK_S, partial(self.when_over, metadata, action, expected_s=left_s))
        else:
            action()

    def expected_s(self, metadata: Metadata) -> float:
        """How long to wait for the cast of a content that was just inserted by a neighbour, who may have others to cast
        first."""
        cast = self._part_bytes < metadata.size_bytes <= MAX_CAST_BYTES and self._cell.options.active_replication
        if not cast or self._cell.beacons.neighbour(metadata.key.owner) is None:
            return 0.0
        return metadata.published_s + BACKLOG_S - self._host.now()

    def _begin(self) -> None:
        _, _, begins = self._queue[0]
        begins()
        self._host.after(GAP_S, self._send_next)

    def _send_next(self) -> None:
        metadata, left, _ = self._queue[0]
        if not self._host.idle():
            self._host.after(BUSY_S, self._send_next)
            return
        if self._host.now() - metadata.published_s > BACKLOG_S:
            left.clear()
        if left:
            offset, size = left.popleft()
            part = self._host.store.read(str(metadata.key), offset, size)
            if len(part) == size:
                self._host.broadcast(CastPart(metadata.key, metadata.size_bytes, offset, part))
            else:  # it was deleted
                left.clear()
        if left:
            self._host.after(GAP_S, self._send_next)
            return
        self._queue.popleft()
        self._queue.rotate(1)
        if self._queue:
            self._begin()

    def _on_part(self, sender: NodeId, message: CastPart) -> None:
        key, size_bytes = message.key, message.size_bytes
        fits = 0 <= message.offset <= size_bytes - len(message.part) and len(message.part) <= MAX_PART_BYTES
        if not (fits and self._cell.options.cast) or size_bytes > MAX_CAST_BYTES or self._cell.contents.has(key):
            return
        heard = self._heard.get(key)
        if heard is None:
            heard = self._heard[key] = _Heard(size_bytes, {}, 0, 0.0)
        heard.heard_s = self._host.now()
        if message.offset not in heard.parts and heard.have_bytes + len(message.part) <= heard.size_bytes:
            heard.parts[message.offset] = message.part
            heard.have_bytes += len(message.part)
            self._heard_bytes += len(message.part)
        while self._heard_bytes > MAX_HEARD_BYTES and len(self._heard) > 1:
            oldest = next(iter(self._heard))
            self._forgot(oldest, self._heard.pop(oldest))

    def _forgot(self, key: ObjectKey, heard: _Heard) -> None:
        self._heard_bytes -= heard.have_bytes
