"""What surrounds a simulated user. Unlike those of their device, a user's plans outlive its crashes."""

from __future__ import annotations

from collections.abc import Callable

from thyme.host import Timer
from thyme.model.ids import NodeId
from thyme.model.records import LogRecord
from thyme.sim.engine import Engine
from thyme.sim.recorder import Recorder


class SimulatedSurroundings:
    """The `Surroundings` of the user of one node."""

    def __init__(self, node: NodeId, engine: Engine, recorder: Recorder) -> None:
        self._node = node
        self._engine = engine
        self._recorder = recorder

    def now(self) -> float:
        return self._engine.now_s

    def after(self, delay_s: float, action: Callable[[], None]) -> Timer:
        return self._engine.after(delay_s, action)

    @property
    def recording(self) -> bool:
        return True

    def record(self, event: LogRecord) -> None:
        self._recorder.record(self._engine.now_s, self._node, event)
