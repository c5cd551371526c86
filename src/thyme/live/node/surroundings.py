"""What surrounds the user of a node: whatever machine it runs on now."""

from __future__ import annotations

from collections.abc import Callable

from thyme.host import Timer
from thyme.live.node.host import LiveHost
from thyme.model.records import LogRecord


class NodeSurroundings:
    """Surroundings that change with every opening of the node."""

    def __init__(self, host: Callable[[], LiveHost]) -> None:
        self._host = host

    def now(self) -> float:
        return self._host().now()

    def after(self, delay_s: float, action: Callable[[], None]) -> Timer:
        return self._host().after(delay_s, action)

    def record(self, event: LogRecord) -> None:
        self._host().record(event)
