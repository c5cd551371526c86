"""A log that a test reads."""

from __future__ import annotations

from typing import Any

from thyme.live.node.logs.log import Traffic, columns
from thyme.model.ids import NodeId
from thyme.model.records import Counted, LoggedAt, LogRecord


class MemoryLog:
    """Keeps all rows; several nodes of one process may share it."""

    def __init__(self) -> None:
        self.rows: list[LoggedAt] = []
        self._traffic = Traffic()

    def record(self, at_s: float, node: NodeId, event: LogRecord) -> None:
        if isinstance(event, Counted):
            self._traffic.add(node, event)
        else:
            self.rows.append(LoggedAt(at_s, node, event.row()))

    def close(self, at_s: float) -> None:
        self.rows += self._traffic.take(at_s)

    def events(self) -> list[dict[str, Any]]:
        """The rows, with the columns of `EVENT_COLUMNS`."""
        return [columns(row) for row in self.rows]
