"""Packets that wait for a route: bounded per destination and in all, and never for long (as in ns-3's DSDV)."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from thyme.host import Host, Timer
from thyme.model.ids import NodeId
from thyme.model.records import Counted, TrafficKind
from thyme.wire.routing import Carried


class Waited(msgspec.Struct):
    packet: Carried
    failed: Callable[[], None] | None
    resends: int
    timer: Timer | None = None


class WaitingPackets:
    """First come, first served; a packet for which there is no room is refused, and one that waited too long
    has failed."""

    def __init__(self, host: Host, most: int, most_per_node: int, longest_s: float) -> None:
        self._host = host
        self._most = most
        self._most_per_node = most_per_node
        self._longest_s = longest_s
        self._queues: dict[NodeId, list[Waited]] = {}
        self.count = 0

    def put(self, packet: Carried, failed: Callable[[], None] | None, resends: int) -> bool:
        queue = self._queues.get(packet.target, [])
        if len(queue) >= self._most_per_node or self.count >= self._most:
            return False
        waited = Waited(packet, failed, resends)
        self._queues.setdefault(packet.target, []).append(waited)
        self.count += 1
        waited.timer = self._host.after(self._longest_s, lambda: self._expire(waited))
        return True

    def has_room(self) -> bool:
        """Whether at most half of the room is taken, in all and for each destination."""
        longest = max(map(len, self._queues.values()), default=0)
        return 2 * longest < self._most_per_node and 2 * self.count < self._most

    def take(self, target: NodeId) -> Waited | None:
        queue = self._queues.get(target)
        if not queue:
            return None
        waited = queue[0]
        self._remove(waited)
        if waited.timer:
            waited.timer.cancel()
        return waited

    def targets(self) -> list[NodeId]:
        """The destinations that packets wait for, longest wait first."""
        return list(self._queues)

    def _expire(self, waited: Waited) -> None:
        self._remove(waited)
        self._host.record(Counted(TrafficKind.DROPPED, "Carried", reason="waited too long"))
        if waited.failed:
            waited.failed()

    def _remove(self, waited: Waited) -> None:
        queue = self._queues[waited.packet.target]
        queue[:] = [other for other in queue if other is not waited]
        if not queue:
            del self._queues[waited.packet.target]
        self.count -= 1
