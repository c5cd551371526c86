"""What a node sends and hears, summed: a log that keeps no events."""

from __future__ import annotations

from thyme.model.ids import NodeId
from thyme.model.records import Counted, LogRecord, TrafficKind


class TrafficSums:
    """Messages and bytes of each kind of traffic."""

    def __init__(self) -> None:
        self._sums = {kind: [0, 0] for kind in TrafficKind}

    def record(self, at_s: float, node: NodeId, event: LogRecord) -> None:
        if isinstance(event, Counted):
            total = self._sums[event.traffic]
            total[0] += event.count
            total[1] += event.size_bytes

    def close(self, at_s: float) -> None:
        """Nothing is kept."""

    def of(self, kind: TrafficKind) -> tuple[int, int]:
        """(messages, bytes)"""
        messages, size_bytes = self._sums[kind]
        return messages, size_bytes
