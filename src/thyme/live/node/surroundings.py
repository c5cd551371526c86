"""What surrounds the user of a node: whatever machine it runs on now, or ran on last."""

from __future__ import annotations

from collections.abc import Callable

from thyme.host import Timer
from thyme.live.node.host import LiveHost
from thyme.model.records import LogRecord


class NodeSurroundings:
    """Surroundings that change with every opening of the node."""

    now: Callable[[], float]
    after: Callable[[float, Callable[[], None]], Timer]
    record: Callable[[LogRecord], None]
    _host: LiveHost

    def move_to(self, host: LiveHost) -> None:
        """The node is open on this machine; before the first one, there is nothing for a user to do."""
        self._host = host
        self.now, self.after, self.record = host.now, host.after, host.record

    @property
    def recording(self) -> bool:
        return self._host.recording
