"""What surrounds the user of a node: whatever machine it runs on now, or ran on last."""

from __future__ import annotations

from collections.abc import Callable

from thyme.host import Timer
from thyme.live.node.host import LiveHost
from thyme.model.records import LogRecord


class NodeSurroundings:
    """Surroundings that change with every opening of the node."""

    host: LiveHost
    """Set whenever the node is opened; before that, there is nothing for a user to do."""

    def now(self) -> float:
        return self.host.now()

    def after(self, delay_s: float, action: Callable[[], None]) -> Timer:
        return self.host.after(delay_s, action)

    def record(self, event: LogRecord) -> None:
        self.host.record(event)
