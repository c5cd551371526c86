"""Who is in range, as an application sees it: an asynchronous iterator of peers who come and go."""

from __future__ import annotations

from collections.abc import Iterable

from thyme.live.link.meeting.peers import Presence
from thyme.live.node.operations.arrivals import Arrivals

MAX_WAITING_PRESENCES = 1_000
"""Changes that an application has not looked at yet; beyond that, the oldest gives way."""


class Presences(Arrivals[Presence]):
    """Those who are here, then every change; ends when the node does."""

    def __init__(self, here: Iterable[Presence]) -> None:
        super().__init__(MAX_WAITING_PRESENCES, here)
