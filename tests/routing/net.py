"""A tiny deterministic network for tests: unit-disc reach, no loss, no contention, and links that can be cut.

Every frame is encoded and decoded on its way, so tests exercise the real bytes.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from random import Random
from typing import Protocol as Interface

from thyme.host import MemoryStore
from thyme.model.geometry import Point
from thyme.model.ids import NodeId
from thyme.model.records import Counted, LogRecord, TrafficKind
from thyme.wire.codec import decode, encode
from thyme.wire.message import Message
from thyme.wire.signing import PLAIN, Codec

FRAME_S = 0.0005
GIVEN_UP_S = 0.004


class Receiver(Interface):
    def receive(self, sender: NodeId, message: Message) -> bool: ...


class Alarm:
    def __init__(self, action: Callable[[], None]) -> None:
        self.action: Callable[[], None] | None = action

    def cancel(self) -> None:
        self.action = None


class Net:
    def __init__(self, range_m: float = 113.2, seed: int = 1) -> None:
        self.range_m = range_m
        self.seed = seed
        self.now_s = 0.0
        self.hosts: dict[NodeId, FakeHost] = {}
        self.frames: list[tuple[NodeId, NodeId | None, Message]] = []
        self.frame_bytes = 0
        self._cuts: set[tuple[NodeId, NodeId]] = set()
        self._heap: list[tuple[float, int, Alarm]] = []
        self._order = 0

    def add(self, node: int, x_m: float, y_m: float) -> FakeHost:
        host = FakeHost(self, NodeId(node), Point(x_m, y_m))
        self.hosts[host.node] = host
        return host

    def cut(self, one: int, other: int) -> None:
        self._cuts |= {(NodeId(one), NodeId(other)), (NodeId(other), NodeId(one))}

    def mend(self, one: int, other: int) -> None:
        self._cuts -= {(NodeId(one), NodeId(other)), (NodeId(other), NodeId(one))}

    def linked(self, one: NodeId, other: NodeId) -> bool:
        a, b = self.hosts[one], self.hosts[other]
        near = a.place.distance_m(b.place) <= self.range_m
        return near and one != other and a.on and b.on and (one, other) not in self._cuts

    def after(self, delay_s: float, action: Callable[[], None]) -> Alarm:
        alarm = Alarm(action)
        self._order += 1
        heapq.heappush(self._heap, (self.now_s + delay_s, self._order, alarm))
        return alarm

    def run(self, until_s: float) -> None:
        while self._heap and self._heap[0][0] <= until_s:
            self.now_s, _, alarm = heapq.heappop(self._heap)
            if alarm.action:
                alarm.action()
        self.now_s = until_s

    def sent(self, kind: type[Message]) -> list[tuple[NodeId, NodeId | None, Message]]:
        return [frame for frame in self.frames if isinstance(frame[2], kind)]


class FakeHost:
    def __init__(self, net: Net, node: NodeId, place: Point) -> None:
        self.net = net
        self.node = node
        self.place = place
        self.on = True
        self.walks = False
        self.stuck = False
        """Whether its frames to one neighbour stay in its queue until they are too old."""
        self.random = Random(net.seed * 100_003 + node)
        self.store = MemoryStore()
        self.codec: Codec = PLAIN
        self.layers: list[Receiver] = []
        self.records: list[LogRecord] = []

    def now(self) -> float:
        return self.net.now_s

    def position(self) -> Point:
        return self.place

    def moving(self) -> bool:
        return self.walks

    def broadcast(self, message: Message) -> None:
        if self.on:
            frame = self._note(None, message)
            self.net.after(FRAME_S, lambda: self._spread(frame))

    def unicast(
        self,
        to: NodeId,
        message: Message,
        failed: Callable[[], None] | None = None,
        unsent: Callable[[], None] | None = None,
    ) -> None:
        if not self.on:
            return
        if self.stuck:
            self.net.after(GIVEN_UP_S, unsent or failed or (lambda: None))
            return
        frame = self._note(to, message)
        if self.net.linked(self.node, to):
            self.net.after(FRAME_S, lambda: self.net.hosts[to].hear(self.node, frame, to_one=True))
        elif failed:
            self.net.after(GIVEN_UP_S, failed)

    def alone(self) -> bool:
        return False

    def part_bytes(self) -> int:
        return 0

    def idle(self) -> bool:
        return True

    def after(self, delay_s: float, action: Callable[[], None]) -> Alarm:
        assert delay_s >= 0.0
        return self.net.after(delay_s, lambda: action() if self.on else None)

    def record(self, event: LogRecord) -> None:
        self.records.append(event)

    def hear(self, sender: NodeId, frame: bytes, *, to_one: bool = False) -> None:
        """Of a frame to this node alone it is known who sent it, as with live nodes."""
        if self.on:
            message = decode(frame)
            if self.codec is not PLAIN:
                self.codec.speaker = sender if to_one else None
            assert any(layer.receive(sender, message) for layer in self.layers)

    def counted(self, traffic: TrafficKind) -> list[Counted]:
        return [r for r in self.records if isinstance(r, Counted) and r.traffic is traffic]

    def _note(self, to: NodeId | None, message: Message) -> bytes:
        frame = encode(message)
        self.net.frames.append((self.node, to, message))
        self.net.frame_bytes += len(frame)
        if message.forwarded_by(self.node):
            self.record(Counted(TrafficKind.FORWARDED, type(message).__name__, size_bytes=len(frame)))
        return frame

    def _spread(self, frame: bytes) -> None:
        for other in self.net.hosts.values():
            if self.net.linked(self.node, other.node):
                other.hear(self.node, frame)


def total(hosts: Iterable[FakeHost], traffic: TrafficKind) -> int:
    return sum(record.count for host in hosts for record in host.counted(traffic))
