"""The simulator's radio as the network between machines: datagrams are frames of a shared channel, which collide, wait
and get lost as in a simulated world.

A datagram to one address is a unicast frame, which the radio acknowledges and repeats; one to the group, or an
announcement, is a broadcast frame. Who is out of range receives nothing. What the radio does not do, faults still do:
partitions, interfaces that are down.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from thyme.model.geometry import Point
from thyme.sim.radios.models import WifiModel
from thyme.sim.radios.radio import Happening, Radio, RadioTotals
from thyme.world.movement import Leg, movement_of_legs

KEPT_S = 1.0
"""How long a frame is kept after its end: its receivers may be told a little later."""
Deliver = Callable[[int], None]


class Channel:
    """All devices' radio; a device keeps its index through restarts, and stays where it is."""

    def __init__(self, places: Sequence[Point], model: WifiModel, seed: int) -> None:
        width_m = max(1.0, *(place.x_m for place in places))
        height_m = max(1.0, *(place.y_m for place in places))
        ways = [[Leg(0.0, place.x_m, place.y_m)] for place in places]
        self._radio: Radio = model.make(movement_of_legs(width_m, height_m, ways), lambda _: None, seed)
        self._frames: dict[int, Deliver] = {}
        self._ended: deque[tuple[float, int]] = deque()
        self._number = 0
        self.refused = 0
        """Datagrams that found the queue full."""

    def switch(self, now_s: float, device: int, *, on: bool) -> None:
        self._radio.switch(max(now_s, self._radio.now_s), device, on)

    def send(self, now_s: float, device: int, to: int | None, size_bytes: int, deliver: Deliver) -> None:
        """Queue a datagram for a device, or for all in range; `deliver` is called with each that receives it."""
        self._number += 1
        now_s = max(now_s, self._radio.now_s)
        if to is None:
            accepted = self._radio.broadcast(now_s, device, self._number, size_bytes)
        else:
            accepted = self._radio.unicast(now_s, device, to, self._number, size_bytes)
        if accepted:
            self._frames[self._number] = deliver
        else:
            self.refused += 1

    def advance(self, until_s: float, reached: Callable[[float], None]) -> bool:
        """Let the radio run until a time, or until frames were received or ended; `reached` is told at which time."""
        if not self._radio.advance(until_s):
            return False
        for report in self._radio.reports():
            for at_s, number, node, _, what in report.among.rows[report.begin : report.end].tolist():
                reached(at_s)
                if what == Happening.RECEIVED:
                    self._frames[number](node)
                else:
                    self._ended.append((at_s + KEPT_S, number))
                while self._ended and self._ended[0][0] < at_s:
                    self._frames.pop(self._ended.popleft()[1], None)
        return True

    def traffic(self) -> list[RadioTotals]:
        return self._radio.traffic()
