"""One node's machine in the simulator: the `Host` of its protocol.

A node that is switched off loses its protocol, its timers and its queue, and keeps its store; switched on again, it
gets a new protocol on the same store.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from math import inf
from random import Random
from typing import Protocol

from thyme.host import MemoryStore, Timer
from thyme.model.geometry import Point
from thyme.model.ids import NodeId
from thyme.model.records import LogRecord
from thyme.sim.disk import DiskSection, SimulatedDisk
from thyme.sim.engine import Engine
from thyme.sim.reception import Handlers
from thyme.sim.recorder import Recorder
from thyme.wire.message import Message
from thyme.wire.signing import Codec
from thyme.world.movement import Leg, Movement

Receive = Callable[[NodeId, Message], None]
Failed = Callable[[], None] | None
_EVERYBODY = NodeId(-1)


class SimulationContext(Protocol):
    """What a host needs from its simulation."""

    engine: Engine
    recorder: Recorder
    movement: Movement

    def send(self, sender: int, to: int, message: Message, failed: Failed, unsent: Failed = None) -> None: ...
    def idle(self, node: NodeId) -> bool: ...
    def changed(self, node: NodeId) -> None:
        """A node was switched on or off."""


class SimulatedHost:
    """One node's machine in the simulator."""

    __slots__ = (
        "_disk",
        "_engine",
        "_leg",
        "_leg_from_s",
        "_leg_to_s",
        "_legs",
        "_place",
        "_recorder",
        "_simulation",
        "broadcast_handlers",
        "codec",
        "life",
        "node",
        "random",
        "receive",
        "skew_s",
        "store",
    )

    def __init__(self, simulation: SimulationContext, node: NodeId, seed: int, codec: Codec) -> None:
        self._simulation = simulation
        self._engine = simulation.engine
        self._recorder = simulation.recorder
        self.node = node
        self.random = Random(f"{seed}/{node}")
        self.store: MemoryStore = MemoryStore()
        self._disk: DiskSection | None = None
        self.codec = codec
        self.skew_s = 0.0
        """How far this node's clock is ahead of the others'."""
        self.life = 0
        self._legs: list[Leg] | None = None
        self._leg = Leg(inf, 0.0, 0.0)
        self._leg_from_s = self._leg_to_s = inf
        self._place = Point(0.0, 0.0)
        self.receive: Receive | None = None
        self.broadcast_handlers: Handlers | None = None

    def have_disk(self, section: DiskSection) -> None:
        """Changes are durable once committed, which takes time; frames wait for it."""
        self._disk = section
        self.lose_store()

    def begin_life(self, receive: Receive, broadcast_handlers: Handlers = lambda kind: ()) -> None:
        """The node is on; `receive` is called with frames for which there are no `broadcast_handlers`."""
        self.receive = receive
        self.broadcast_handlers = broadcast_handlers
        self._simulation.changed(self.node)

    def end_life(self) -> None:
        self.life += 1
        self.receive = self.broadcast_handlers = None
        self._simulation.changed(self.node)
        if isinstance(self.store, SimulatedDisk):
            self.store.crash()

    def lose_store(self) -> None:
        """The device is removed for good, with its store."""
        self.store = MemoryStore() if self._disk is None else SimulatedDisk(self._engine.after, self._disk)

    def now(self) -> float:
        return self._engine.now_s + self.skew_s

    def position(self) -> Point:
        leg, now_s = self._present_leg(), self._engine.now_s
        if leg.vx_mps == 0.0 and leg.vy_mps == 0.0:
            return self._place
        elapsed_s = max(0.0, now_s - leg.start_s)
        return Point(leg.x_m + leg.vx_mps * elapsed_s, leg.y_m + leg.vy_mps * elapsed_s)

    def moving(self) -> bool:
        leg = self._present_leg()
        return leg.vx_mps != 0.0 or leg.vy_mps != 0.0

    def _present_leg(self) -> Leg:
        """The node's current movement leg, cached: it is read far more often than it changes."""
        now_s = self._engine.now_s
        if self._leg_from_s <= now_s < self._leg_to_s:
            return self._leg
        if self._legs is None:
            self._legs = self._simulation.movement.node_legs(self.node)
        legs = self._legs
        next_leg = max(1, bisect_right(legs, now_s, key=lambda leg: leg.start_s))
        self._leg = leg = legs[next_leg - 1]
        self._leg_from_s = leg.start_s if next_leg > 1 else -inf
        self._leg_to_s = legs[next_leg].start_s if next_leg < len(legs) else inf
        self._place = Point(leg.x_m, leg.y_m)
        return leg

    def broadcast(self, message: Message) -> None:
        self.unicast(_EVERYBODY, message)

    def unicast(self, to: NodeId, message: Message, failed: Failed = None, unsent: Failed = None) -> None:
        """Frames wait until what they depend on is committed, so that a crash cannot undo it."""
        if self._disk is None:
            self._simulation.send(self.node, to, message, failed, unsent)
        else:
            self.store.commit(lambda: self._simulation.send(self.node, to, message, failed, unsent))

    def alone(self) -> bool:
        return False

    def part_bytes(self) -> int:
        """Frames of a radio are small."""
        return 0

    def idle(self) -> bool:
        return self._simulation.idle(self.node)

    def after(self, delay_s: float, action: Callable[[], None]) -> Timer:
        return self._engine.after(delay_s, action, self)

    def record(self, event: LogRecord) -> None:
        self._recorder.record(self._engine.now_s, self.node, event)
