"""A simulation: nodes on an engine, with a radio between them.

Every frame is charged its encoded size and has a number at the radio. The radio's reports go to the nodes' machines
(`sim.machine`).

A run makes millions of long-lived objects, such as tables and timers, and few reference cycles. Python's default
garbage collection costs a tenth of a run of a hundred nodes, and more of larger ones, so it is done less often. A
finished run is itself a cycle: everything is collected before a run if memory has grown by a quarter.
"""

from __future__ import annotations

import gc
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import inf
from random import Random

import pyarrow as pa

from thyme.model.ids import NodeId
from thyme.model.records import TrafficKind
from thyme.routing.broadcasts import Receivers
from thyme.sim.engine import Engine
from thyme.sim.faults import Rule, delay_of
from thyme.sim.machine import Failed, SimulatedHost
from thyme.sim.radios.radio import Happening, Radio, RadioReport
from thyme.sim.reception import BroadcastReception
from thyme.sim.recorder import Recorder
from thyme.wire.codec import is_bulk
from thyme.wire.message import Message
from thyme.wire.signing import CHARGING, PLAIN
from thyme.world.movement import Movement

MAX_KEPT_FRAMES = 2_000_000
FRAME_MEMORY_S = 0.01
"""How long a frame is kept after its sender is done: the farthest receiver is reported a little later."""
FORGET_AFTER = 1 << 10
"""After so many frames, drop those that were sent meanwhile and are in no report."""
YOUNG_OBJECTS = 100_000
"""New objects, less those freed, that trigger a garbage collection; Python's own threshold is 700."""
COLLECT_GROWTH = 1.25
"""Growth of the memory in use after which everything is collected before a run."""
FRAME_SCHEMA = pa.schema(
    [
        ("at_s", pa.float64()),
        ("sender", pa.int64()),
        ("to", pa.int64()),
        ("message", pa.string()),
        ("size_bytes", pa.int64()),
    ]
)


_RECEIVED, _SENT, _GIVEN_UP = int(Happening.RECEIVED), int(Happening.SENT), int(Happening.GIVEN_UP)
_EXPIRED = int(Happening.EXPIRED)


class _Kind:
    """A message type: its name, where its frames are counted, and how its broadcasts are received."""

    __slots__ = ("control", "control_on_air", "forwarded", "name", "received", "reception", "sent")

    def __init__(self, kind: type[Message], simulation: Simulation) -> None:
        recorder = simulation.recorder
        self.name = kind.__name__
        self.sent = recorder.tally(TrafficKind.SENT, self.name)
        self.received = recorder.tally(TrafficKind.RECEIVED, self.name)
        self.control = recorder.tally(TrafficKind.CONTROL, self.name) if kind.control else None
        self.control_on_air = recorder.tally(TrafficKind.PHY_CONTROL, self.name) if kind.control else None
        passes_on = kind.forwarded_by is not Message.forwarded_by
        self.forwarded = recorder.tally(TrafficKind.FORWARDED, self.name) if passes_on else None
        self.reception = simulation.reception(kind)
        for tally in (self.sent, self.received, self.control, self.control_on_air, self.forwarded):
            if tally is not None:
                tally.make_room(len(simulation.hosts))


class FrameInTransit:
    """A frame in transit: its content, its sender and the sender's restart count, and the callbacks for failures."""

    __slots__ = ("failed", "kind", "life", "message", "refused", "sender", "size_bytes", "unsent")

    def __init__(
        self, message: Message, kind: _Kind, sender: int, life: int, size_bytes: int, failed: Failed, unsent: Failed
    ) -> None:
        self.message = message
        self.kind = kind
        self.sender = sender
        self.life = life
        self.size_bytes = size_bytes
        self.failed = failed
        self.unsent = unsent or failed
        self.refused = False


class Simulation:
    """The state of one run."""

    def __init__(
        self,
        movement: Movement,
        radio: Radio,
        seed: int,
        rules: Sequence[Rule] = (),
        recorder: Recorder | None = None,
        *,
        signed: bool = False,
    ) -> None:
        """`signed`: messages have the size of signed ones, as on live nodes."""
        self.engine = Engine()
        self.recorder = recorder or Recorder()
        self.movement = movement
        self.radio = radio
        self.rules = tuple(rules)
        self.fault_random = Random(f"{seed}/faults")
        codec = CHARGING if signed else PLAIN
        self.hosts = [SimulatedHost(self, NodeId(i), seed, codec) for i in range(movement.nodes)]
        self._frames: dict[int, FrameInTransit] = {}
        self._ended: deque[tuple[float, int]] = deque()
        self._tokens = 0
        self._kinds: dict[type[Message], _Kind] = {}
        self._receivers = Receivers(movement.nodes)
        self._frame_log: list[tuple[float, int, int, str, int]] | None = None
        if not self.rules:
            radio.skip_sent_reports()

    def keep_frames(self) -> None:
        """Record every frame that is sent (the first `MAX_KEPT_FRAMES`), for a replay."""
        self._frame_log = []

    def frames(self) -> pa.Table | None:
        if self._frame_log is None:
            return None
        columns = list(zip(*self._frame_log, strict=True)) or [(), (), (), (), ()]
        return pa.table(list(map(list, columns)), schema=FRAME_SCHEMA)

    def run(self, until_s: float, progress: Callable[[float], None] | None = None) -> None:
        """Run all events up to `until_s`."""
        with seldom_collecting():
            self._run(until_s, progress)
        for kind in self._kinds.values():
            kind.reception.count(kind.received)
        for token in self.radio.take_ended(inf):
            self._count_control(self._frames[token])
            self._ended.append((self.engine.now_s + FRAME_MEMORY_S, token))

    def _run(self, until_s: float, progress: Callable[[float], None] | None) -> None:
        engine = self.engine
        told_s = engine.now_s
        while self._go_on(until_s):
            if progress and engine.now_s - told_s >= 1.0:
                told_s = engine.now_s
                progress(told_s)
        engine.now_s = until_s

    def _go_on(self, until_s: float) -> bool:
        """Run the next event; returns whether there was one."""
        next_s = self.engine.next_s()
        if self.radio.advance(next_s if next_s < until_s else until_s):
            self._handle(self.radio.reports())
        elif next_s > until_s:
            return False
        else:
            # The next action is not earlier than what the radio reported before it.
            self.engine.now_s = max(self.engine.now_s, self.radio.ended_s)
            self.engine.step()
        return True

    def send(self, sender: int, to: int, message: Message, failed: Failed, unsent: Failed = None) -> None:
        host = self.hosts[sender]
        size_bytes = len(host.codec.encode(message))
        kind = self._kinds.get(type(message))
        if kind is None:
            kind = self._kinds[type(message)] = _Kind(type(message), self)
        kind.sent.counts[sender] += 1
        kind.sent.sizes[sender] += size_bytes
        if kind.forwarded is not None and message.forwarded_by(sender):
            kind.forwarded.counts[sender] += 1
            kind.forwarded.sizes[sender] += size_bytes
        if self._frame_log is not None and len(self._frame_log) < MAX_KEPT_FRAMES:
            self._frame_log.append((self.engine.now_s, sender, to, kind.name, size_bytes))
        self._tokens += 1
        token = self._tokens
        if token % FORGET_AFTER == 0:
            for sent in self.radio.take_ended(self.engine.now_s - FRAME_MEMORY_S):
                self._count_control(self._frames.pop(sent))
        frame = self._frames[token] = FrameInTransit(message, kind, sender, host.life, size_bytes, failed, unsent)
        now_s = max(self.engine.now_s, self.radio.now_s)
        bulk = is_bulk(message, size_bytes)
        if to < 0:
            accepted = self.radio.broadcast(now_s, sender, token, size_bytes, bulk=bulk)
        else:
            accepted = self.radio.unicast(now_s, sender, to, token, size_bytes, bulk=bulk)
        if not accepted:
            del self._frames[token]
            self.recorder.count(sender, TrafficKind.DROPPED, kind.name, 1, size_bytes, "radio queue full")
            if frame.unsent is not None:
                host.after(0.0, frame.unsent)

    def _count_control(self, frame: FrameInTransit) -> None:
        """A frame was transmitted; one that expires in a queue never was."""
        control, on_air = frame.kind.control, frame.kind.control_on_air
        if control is not None and on_air is not None:
            control.add(frame.sender, 1, frame.size_bytes)
            on_air.add(frame.sender, 1, frame.size_bytes + self.radio.header_bytes)

    def reception(self, kind: type[Message]) -> BroadcastReception:
        """How broadcasts of a type are received."""
        return BroadcastReception(kind, self.engine, self.hosts, self._receivers)

    def idle(self, node: NodeId) -> bool:
        return self.radio.idle(node)

    def changed(self, node: NodeId) -> None:
        """A node was started or stopped."""
        for kind in self._kinds.values():
            kind.reception.change(node)

    def _handle(self, reports: list[RadioReport]) -> None:
        engine, frames, hosts, rules = self.engine, self._frames, self.hosts, self.rules
        for report in reports:
            frame = frames[report.frame]
            if report.what != _RECEIVED:
                self._end(report, frame)
            elif rules:
                for at_s, _, node, peer, _ in report.among.rows[report.begin : report.end].tolist():
                    engine.now_s = max(engine.now_s, at_s)
                    self._receive(node, peer, frame)
            elif frame.kind.reception.together:
                frame.kind.reception.receive(report, frame.message, frame.size_bytes)
            elif report.end - report.begin == 1:
                engine.now_s = max(engine.now_s, report.at_s)
                _deliver(hosts[report.node], report.peer, frame)
            else:
                for at_s, _, node, peer, _ in report.among.rows[report.begin : report.end].tolist():
                    engine.now_s = max(engine.now_s, at_s)
                    _deliver(hosts[node], peer, frame)
        while self._ended and self._ended[0][0] < engine.now_s:
            del self._frames[self._ended.popleft()[1]]

    def _end(self, report: RadioReport, frame: FrameInTransit) -> None:
        """The sender is done with a frame."""
        self.engine.now_s = max(self.engine.now_s, report.at_s)
        self._ended.append((report.at_s + FRAME_MEMORY_S, report.frame))
        if report.what in (_SENT, _GIVEN_UP):
            self._count_control(frame)
        told = None
        if report.what == _EXPIRED:
            told = frame.unsent
        elif report.what == _GIVEN_UP or (report.what == _SENT and frame.refused):
            told = frame.failed
        if told and self.hosts[frame.sender].life == frame.life:
            told()

    def _receive(self, node: int, sender: int, frame: FrameInTransit) -> None:
        """Apply the scenario's faults to the deliveries."""
        host = self.hosts[node]
        delay_s = delay_of(self.rules, self, sender, node, frame.message)
        if delay_s is None:
            _deliver(host, sender, frame)
        elif delay_s == inf:
            frame.refused = True
            self.recorder.count(node, TrafficKind.DROPPED, frame.kind.name, 1, frame.size_bytes, "fault")
        else:
            frame.refused = False
            host.after(delay_s, lambda: _deliver(host, sender, frame))


def _deliver(host: SimulatedHost, sender: int, frame: FrameInTransit) -> None:
    """A node receives a frame, if it is on."""
    if host.receive is not None:
        received = frame.kind.received
        received.counts[host.node] += 1
        received.sizes[host.node] += frame.size_bytes
        host.receive(NodeId(sender), frame.message)


class _Collected:
    """Blocks that were allocated after the last full collection."""

    blocks = 0


@contextmanager
def seldom_collecting() -> Iterator[None]:
    """Leave existing objects out of collections, and collect seldom; afterwards all is as before."""
    before = gc.get_threshold()
    _collect_earlier_runs()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def _collect_earlier_runs() -> None:
    blocks = sys.getallocatedblocks()
    if _Collected.blocks and blocks <= COLLECT_GROWTH * _Collected.blocks:
        _Collected.blocks = min(blocks, _Collected.blocks)
        return
    if _Collected.blocks:
        gc.collect()
    _Collected.blocks = sys.getallocatedblocks()
