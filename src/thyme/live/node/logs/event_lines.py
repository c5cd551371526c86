"""Events as lines of JSON, with the columns of `EVENT_COLUMNS`: what a live node writes to its log or tells a watcher.

Traffic is too frequent for a line each; it is summed, and the sums are given now and then, and at the end.
"""

from __future__ import annotations

from typing import Any

import msgspec

from thyme.model.ids import NodeId
from thyme.model.records import Counted, LoggedAt, LogRecord, Row

MAX_TRAFFIC_SUMS = 5_000
"""Sums kept apart before they are given: reasons may quote what a peer sent, so their number is not ours to say."""
TRAFFIC_EVERY_S = 10.0

_encoder = msgspec.json.Encoder()


class Traffic:
    """Traffic summed per node, kind, name and reason."""

    def __init__(self) -> None:
        self._sums: dict[tuple[NodeId, str, str, str], list[int]] = {}

    def __len__(self) -> int:
        return len(self._sums)

    def add(self, node: NodeId, event: Counted) -> None:
        total = self._sums.setdefault((node, event.traffic.value, event.name, event.reason), [0, 0])
        total[0] += event.count
        total[1] += event.size_bytes

    def take(self, at_s: float) -> list[LoggedAt]:
        rows = [
            LoggedAt(at_s, node, Row(traffic, name=name, count=count, size_bytes=size, reason=reason))
            for (node, traffic, name, reason), (count, size) in sorted(self._sums.items())
        ]
        self._sums.clear()
        return rows


class EventLines:
    """Turns records into lines, each with its end."""

    def __init__(self) -> None:
        self._traffic = Traffic()
        self._traffic_due_s = 0.0

    def add(self, at_s: float, node: NodeId, event: LogRecord) -> list[bytes]:
        """The lines that are due with this record: its own, or sums of traffic, or none yet."""
        if not isinstance(event, Counted):
            return [_line(LoggedAt(at_s, node, event.row()))]
        self._traffic.add(node, event)
        self._traffic_due_s = self._traffic_due_s or at_s + TRAFFIC_EVERY_S
        if at_s < self._traffic_due_s and len(self._traffic) < MAX_TRAFFIC_SUMS:
            return []
        return self.rest(at_s)

    def rest(self, at_s: float) -> list[bytes]:
        """What has been summed and not given yet."""
        self._traffic_due_s = 0.0
        return [_line(row) for row in self._traffic.take(at_s)]


def columns(row: LoggedAt) -> dict[str, Any]:
    return {"at_s": row.at_s, "node": row.node, **msgspec.structs.asdict(row.row)}


def _line(row: LoggedAt) -> bytes:
    return _encoder.encode(columns(row)) + b"\n"
