"""The unit-disc radio: whoever is within range hears, after the frame's airtime and the way of light.

No contention and no interference: for sparse, delay-tolerant scenarios, for large graphs, and for tests that want a
simple world. Losses are drawn per receiver. A unicast that its target does not hear is tried again a few times and
then given up, as an acknowledged link does.
"""

from __future__ import annotations

import heapq
from itertools import pairwise
from typing import Annotated

import msgspec
import numpy as np

from thyme.model.records import TrafficKind
from thyme.model.settings import check_bounds
from thyme.model.settings.bounds import Count, NotNegative, Positive
from thyme.sim.radios.neighbours import Neighbours, Reach
from thyme.sim.radios.radio import TOLD, Happening, Happenings, RadioTotals, Told
from thyme.world.mobility.movement import Movement

LIGHT_MPS = 299_792_458.0


class DiscOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How far the disc reaches, and what its link does."""

    range_m: Positive = 113.0
    """Who is nearer than this hears."""
    loss: Annotated[float, msgspec.Meta(ge=0.0, lt=1.0)] = 0.0
    """Probability that a receiver in range misses a frame."""
    rate_bps: Positive = 6_000_000.0
    header_bytes: Count = 64
    """Charged per frame on top of the message: UDP 8, IP 20, LLC 8, MAC 24, FCS 4."""
    retries: Count = 7
    """How often a unicast that was not heard is tried again."""
    retry_wait_s: NotNegative = 0.002
    ack_bytes: Count = 14
    queue_frames: Count = 0
    """Frames that may wait at a node; what comes on top is dropped. 0 for no limit."""

    def __post_init__(self) -> None:
        check_bounds(self)


class _Transmission(msgspec.Struct):
    node: int
    to: int
    frame: int
    size_bytes: int
    tries: int = 0
    token_free: bool = False


class DiscRadio:
    """A `Radio` whose reach is a disc."""

    def __init__(self, movement: Movement, options: DiscOptions, seed: int, reach: Reach | None = None) -> None:
        self._options = options
        self.header_bytes = options.header_bytes
        self._reach = reach or Neighbours(movement, options.range_m)
        self._random = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, 0xD15C])))
        self._on = [True] * movement.nodes
        self._busy_until_s = [0.0] * movement.nodes
        self._epoch = [0] * movement.nodes
        self._waiting = [0] * movement.nodes
        self._heap: list[tuple[float, int, _Transmission, int]] = []
        self._order = 0
        self._sent = np.zeros((3, movement.nodes), dtype=np.int64)
        self._sent_bytes = np.zeros((3, movement.nodes), dtype=np.int64)
        self._received = np.zeros(movement.nodes, dtype=np.int64)
        self._received_bytes = np.zeros(movement.nodes, dtype=np.int64)
        self._lost = np.zeros(movement.nodes, dtype=np.int64)
        self._retransmitted = np.zeros(movement.nodes, dtype=np.int64)
        self._given_up = np.zeros(movement.nodes, dtype=np.int64)
        self._transmit_s = np.zeros(movement.nodes)
        self._receive_s = np.zeros(movement.nodes)
        self._sleep_s = np.zeros(movement.nodes)
        self._slept_from_s = [0.0] * movement.nodes
        self.now_s = 0.0
        self._rows: list[tuple[float, int, int, int, int]] = []
        self._firsts: list[int] = []

    def broadcast(self, now_s: float, node: int, frame: int, size_bytes: int) -> bool:
        return self._accept(now_s, _Transmission(node, -1, frame, size_bytes + self.header_bytes))

    def unicast(self, now_s: float, node: int, to: int, frame: int, size_bytes: int) -> bool:
        return self._accept(now_s, _Transmission(node, to, frame, size_bytes + self.header_bytes))

    def switch(self, now_s: float, node: int, on: bool) -> None:
        if on and not self._on[node]:
            self._sleep_s[node] += now_s - self._slept_from_s[node]
        elif not on and self._on[node]:
            self._slept_from_s[node] = now_s
            self._epoch[node] += 1
            self._waiting[node] = 0
        self._on[node] = on
        self._busy_until_s[node] = now_s

    def advance(self, until_s: float) -> int:
        self._rows, self._firsts = [], []
        while self._heap and self._heap[0][0] <= until_s and not self._rows:
            end_s, _, transmission, epoch = heapq.heappop(self._heap)
            self.now_s = end_s
            if epoch == self._epoch[transmission.node]:
                self._complete(end_s, transmission)
            else:
                self._tell(end_s, Happening.DROPPED, transmission.node, transmission.to, transmission.frame)
        if not self._rows:
            self.now_s = max(self.now_s, until_s)
        return len(self._rows)

    def told(self) -> list[Told]:
        rows, among = self._rows, Happenings(np.array(self._rows, TOLD))
        told = []
        for begin, end in pairwise([*self._firsts, len(rows)]):
            at_s, frame, node, peer, what = rows[begin]
            told.append(Told(frame, peer, what, node, begin, end, at_s, among))
        return told

    def traffic(self) -> list[RadioTotals]:
        rows = [
            RadioTotals(TrafficKind.PHY_SENT, name, self._sent[i].tolist(), self._sent_bytes[i].tolist())
            for i, name in enumerate(("broadcast", "unicast", "ack"))
        ]
        none = [0] * len(self._on)
        rows.append(
            RadioTotals(TrafficKind.PHY_RECEIVED, "data", self._received.tolist(), self._received_bytes.tolist())
        )
        rows.append(RadioTotals(TrafficKind.PHY_LOST, "data", self._lost.tolist(), none, "loss"))
        rows.append(RadioTotals(TrafficKind.RETRANSMITTED, "unicast", self._retransmitted.tolist(), none))
        rows.append(RadioTotals(TrafficKind.GIVEN_UP, "unicast", self._given_up.tolist(), none, "retry limit"))
        return rows

    def airtime_s(self) -> dict[str, list[float]]:
        asleep = self._sleep_s + [
            0.0 if on else self.now_s - since for on, since in zip(self._on, self._slept_from_s, strict=True)
        ]
        idle = np.maximum(0.0, self.now_s - asleep - self._transmit_s - self._receive_s)
        columns = {"transmit": self._transmit_s, "receive": self._receive_s, "idle": idle, "sleep": asleep}
        return {state: seconds.tolist() for state, seconds in columns.items()}

    def _accept(self, now_s: float, transmission: _Transmission) -> bool:
        node = transmission.node
        if 0 < self._options.queue_frames <= self._waiting[node]:
            return False
        self._waiting[node] += 1
        self._enqueue(now_s, transmission)
        return True

    def _enqueue(self, now_s: float, transmission: _Transmission) -> None:
        node = transmission.node
        start_s = max(now_s, self._busy_until_s[node])
        airtime_s = transmission.size_bytes * 8.0 / self._options.rate_bps
        self._busy_until_s[node] = start_s + airtime_s
        self._transmit_s[node] += airtime_s
        row = 0 if transmission.to < 0 else 1
        self._sent[row, node] += 1
        self._sent_bytes[row, node] += transmission.size_bytes
        self._push(start_s + airtime_s, transmission)

    def _push(self, end_s: float, transmission: _Transmission) -> None:
        self._order += 1
        heapq.heappush(self._heap, (end_s, self._order, transmission, self._epoch[transmission.node]))

    def _complete(self, end_s: float, sent: _Transmission) -> None:
        if sent.to < 0:
            for receiver, distance_m in self._reach.within(sent.node, end_s):
                if self._on[receiver]:
                    self._hear(end_s, sent, receiver, distance_m)
            self._end(end_s, Happening.SENT, sent)
            return
        away_m = self._reach.distance_m(sent.node, sent.to, end_s) if self._on[sent.to] else None
        if away_m is not None and self._hear(end_s, sent, sent.to, away_m):
            self._sent[2, sent.to] += 1
            self._sent_bytes[2, sent.to] += self._options.ack_bytes
            self._end(end_s, Happening.SENT, sent)
        elif sent.tries >= self._options.retries:
            self._given_up[sent.node] += 1
            self._end(end_s, Happening.GIVEN_UP, sent)
        else:
            sent.tries += 1
            self._retransmitted[sent.node] += 1
            self._enqueue(end_s + self._options.retry_wait_s, sent)

    def _end(self, end_s: float, how: Happening, sent: _Transmission) -> None:
        self._waiting[sent.node] -= 1
        self._tell(end_s, how, sent.node, sent.to, sent.frame)

    def _hear(self, end_s: float, sent: _Transmission, receiver: int, distance_m: float) -> bool:
        if self._options.loss > 0.0 and self._random.random() < self._options.loss:
            self._lost[receiver] += 1
            return False
        self._received[receiver] += 1
        self._received_bytes[receiver] += sent.size_bytes
        self._receive_s[receiver] += sent.size_bytes * 8.0 / self._options.rate_bps
        self._tell(end_s + distance_m / LIGHT_MPS, Happening.RECEIVED, receiver, sent.node, sent.frame)
        return True

    def _tell(self, at_s: float, kind: Happening, node: int, peer: int, frame: int) -> None:
        """Whoever hears the same frame is told of it together."""
        if not self._rows or self._rows[-1][4] != kind or self._rows[-1][1] != frame:
            self._firsts.append(len(self._rows))
        self._rows.append((at_s, frame, node, peer, int(kind)))
