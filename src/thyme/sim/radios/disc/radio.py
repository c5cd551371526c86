"""The unit-disc radio: every node within range receives a frame, after its airtime and the propagation delay.

There is no contention and no interference: for sparse, delay-tolerant scenarios, for large graphs, and for simple
tests. Losses are drawn per receiver. A unicast that its target misses is retried a few times and then given up, as on
an acknowledged link. Reports stay valid until the next `advance`. The receivers of a frame are computed by one compiled
call, which counts them and writes a row for each (`radio.REPORT`).
"""

from __future__ import annotations

import heapq
from collections import deque
from typing import Annotated

import msgspec
import numpy as np

from thyme.compiled import address_book, carray, entry, opener, pointer
from thyme.model.records import TrafficKind
from thyme.model.settings import check_bounds
from thyme.model.settings.bounds import Count, Positive
from thyme.sim.radios.disc.neighbours import Near, Neighbours, Reach
from thyme.sim.radios.radio import REPORT, Happening, RadioReport, RadioTotals, ReportRows
from thyme.world.movement import Movement

HEADER_BYTES = 64
"""Charged per frame on top of the message: UDP 8, IP 20, LLC 8, MAC 24, FCS 4."""
ACK_BYTES = 14
"""Of 802.11's acknowledgement."""
RETRIES = 7
"""How often a unicast that was not heard is tried again, as 802.11 does."""
RETRY_WAIT_S = 0.002
"""Between two tries of a unicast: about the time of one full frame at the default rate."""


class DiscOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How far the disc reaches, and what its link does."""

    range_m: Positive = 113.0
    """Nodes within this distance receive."""
    loss: Annotated[float, msgspec.Meta(ge=0.0, lt=1.0)] = 0.0
    """Probability that a receiver in range misses a frame."""
    rate_bps: Positive = 6_000_000.0
    """Bits per second."""
    queue_frames: Count = 0
    """Frames that may wait at a node, half as many of contents; further ones are dropped. 0 for no limit."""

    def __post_init__(self) -> None:
        check_bounds(self)


_KINDS = ("broadcast", "unicast", "ack")
_BROADCAST, _UNICAST, _ACK = range(len(_KINDS))
LIGHT_MPS = 299_792_458.0

HEARER = np.dtype(
    [*((name, np.int64) for name in ("on", "received", "received_bytes", "lost")), ("receive_s", np.float64)]
)
"""Whether a node's radio is on, and its received and missed frames so far."""
_NUMBER, _REAL = np.dtype(np.int64), np.dtype(np.float64)
_RECEIVED = int(Happening.RECEIVED)

_opened = opener({"hearer": HEARER, "report": REPORT, "draws": _REAL})


class _Transmission(msgspec.Struct):
    node: int
    to: int
    frame: int
    size_bytes: int
    bulk: bool
    order: int = 0
    """Of frames that end at the same time, the one queued first is reported first."""
    ready_s: float = 0.0
    tries: int = 0


class _Queue:
    """The frames of one node: the one on the air, and the queued ones."""

    __slots__ = ("bulk", "sending", "urgent")

    def __init__(self) -> None:
        self.sending = False
        self.urgent: deque[_Transmission] = deque()
        self.bulk: deque[_Transmission] = deque()


class DiscRadio:
    """A `Radio` whose reach is a disc."""

    def __init__(self, movement: Movement, options: DiscOptions, seed: int, reach: Reach | None = None) -> None:
        self._options = options
        self.header_bytes = HEADER_BYTES
        self._reach = reach or Neighbours(movement, options.range_m)
        self._random = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, 0xD15C])))
        nodes = movement.nodes
        self._hearers = np.zeros(nodes, HEARER)
        self._hearers["on"] = 1
        self._on = self._hearers["on"].data
        self._draws = np.zeros(nodes, np.float64)
        self._report_rows = ReportRows(np.zeros(nodes + 1, REPORT))
        self._addresses = address_book((self._hearers, self._report_rows.rows, self._draws))
        self._address: int = self._addresses.ctypes.data
        self._heads: list[RadioReport] = []
        self._queues = [_Queue() for _ in range(nodes)]
        self._epoch = [0] * nodes
        self._waiting = [0] * nodes
        self._heap: list[tuple[float, int, _Transmission, int]] = []
        self._order = 0
        self._sent = [[0] * nodes for _ in _KINDS]
        self._sent_bytes = [[0] * nodes for _ in _KINDS]
        self._retransmitted = [0] * nodes
        self._given_up = [0] * nodes
        self._transmit_s = [0.0] * nodes
        self._sleep_s = [0.0] * nodes
        self._slept_from_s = [0.0] * nodes
        self.now_s = 0.0

    def broadcast(self, now_s: float, node: int, frame: int, size_bytes: int, *, bulk: bool = False) -> bool:
        return self._accept(now_s, _Transmission(node, -1, frame, size_bytes + self.header_bytes, bulk))

    def unicast(self, now_s: float, node: int, to: int, frame: int, size_bytes: int, *, bulk: bool = False) -> bool:
        return self._accept(now_s, _Transmission(node, to, frame, size_bytes + self.header_bytes, bulk))

    def idle(self, node: int) -> bool:
        return not self._queues[node].sending

    def skip_sent_reports(self) -> None:
        """A transmission is reported together with its receivers, at no cost."""

    @property
    def ended_s(self) -> float:
        return 0.0

    def take_ended(self, before_s: float) -> list[int]:
        return []

    def switch(self, now_s: float, node: int, on: bool) -> None:
        if on and not self._on[node]:
            self._sleep_s[node] += now_s - self._slept_from_s[node]
        elif not on and self._on[node]:
            self._slept_from_s[node] = now_s
            dropped, self._queues[node] = self._queues[node], _Queue()
            for transmission in (*dropped.urgent, *dropped.bulk):
                self._push(now_s, transmission)
            self._epoch[node] += 1
            self._waiting[node] = 0
        self._on[node] = on

    def advance(self, until_s: float) -> int:
        self._heads = []
        while self._heap and self._heap[0][0] <= until_s and not self._heads:
            end_s, _, transmission, epoch = heapq.heappop(self._heap)
            self.now_s = end_s
            if epoch == self._epoch[transmission.node]:
                self._complete(end_s, transmission)
                self._send_next(end_s, transmission.node)
            else:
                self._tell(end_s, Happening.DROPPED, transmission, 0)
        if not self._heads:
            self.now_s = max(self.now_s, until_s)
            return 0
        return self._heads[-1].end

    def reports(self) -> list[RadioReport]:
        return self._heads

    def traffic(self) -> list[RadioTotals]:
        rows = [
            RadioTotals(TrafficKind.PHY_SENT, name, self._sent[kind], self._sent_bytes[kind])
            for kind, name in enumerate(_KINDS)
        ]
        received, sizes, lost = (self._hearers[name].tolist() for name in ("received", "received_bytes", "lost"))
        none = [0] * len(self._on)
        rows.append(RadioTotals(TrafficKind.PHY_RECEIVED, "data", received, sizes))
        rows.append(RadioTotals(TrafficKind.PHY_LOST, "data", lost, none, "loss"))
        rows.append(RadioTotals(TrafficKind.RETRANSMITTED, "unicast", self._retransmitted, none))
        rows.append(RadioTotals(TrafficKind.GIVEN_UP, "unicast", self._given_up, none, "retry limit"))
        return rows

    def airtime_s(self) -> dict[str, list[float]]:
        transmit, receive = np.array(self._transmit_s), self._hearers["receive_s"]
        asleep = np.array(self._sleep_s) + [
            0.0 if on else self.now_s - since for on, since in zip(self._on, self._slept_from_s, strict=True)
        ]
        idle = np.maximum(0.0, self.now_s - asleep - transmit - receive)
        columns = {"transmit": transmit, "receive": receive, "idle": idle, "sleep": asleep}
        return {state: seconds.tolist() for state, seconds in columns.items()}

    def _accept(self, now_s: float, transmission: _Transmission) -> bool:
        node, most = transmission.node, self._options.queue_frames
        if most > 0 and self._waiting[node] >= (most // 2 if transmission.bulk else most):
            return False
        self._waiting[node] += 1
        self._enqueue(now_s, transmission)
        if not self._queues[node].sending:
            self._send_next(now_s, node)
        return True

    def _enqueue(self, ready_s: float, transmission: _Transmission) -> None:
        """At the end of the queue, to be sent at this time or later."""
        node = transmission.node
        self._transmit_s[node] += self._airtime_s(transmission)
        self._count(_BROADCAST if transmission.to < 0 else _UNICAST, node, transmission.size_bytes)
        self._order += 1
        transmission.order, transmission.ready_s = self._order, ready_s
        queue = self._queues[node]
        (queue.bulk if transmission.bulk else queue.urgent).append(transmission)

    def _send_next(self, now_s: float, node: int) -> None:
        """The node is free: bulk frames are sent after all others."""
        queue = self._queues[node]
        waiting = queue.urgent or queue.bulk
        queue.sending = bool(waiting)
        if waiting:
            transmission = waiting.popleft()
            self._push(max(now_s, transmission.ready_s) + self._airtime_s(transmission), transmission)

    def _push(self, end_s: float, sent: _Transmission) -> None:
        heapq.heappush(self._heap, (end_s, sent.order, sent, self._epoch[sent.node]))

    def _airtime_s(self, transmission: _Transmission) -> float:
        return transmission.size_bytes * 8.0 / self._options.rate_bps

    def _count(self, kind: int, node: int, size_bytes: int) -> None:
        self._sent[kind][node] += 1
        self._sent_bytes[kind][node] += size_bytes

    def _complete(self, end_s: float, sent: _Transmission) -> None:
        if sent.to < 0:
            self._end(end_s, Happening.SENT, sent, self._hear(end_s, sent, self._reach.within(sent.node, end_s)))
        elif heard := self._hear(end_s, sent, self._reach.towards(sent.node, sent.to, end_s)):
            self._count(_ACK, sent.to, ACK_BYTES)
            self._end(end_s, Happening.SENT, sent, heard)
        elif sent.tries >= RETRIES:
            self._given_up[sent.node] += 1
            self._end(end_s, Happening.GIVEN_UP, sent, 0)
        else:
            sent.tries += 1
            self._retransmitted[sent.node] += 1
            self._enqueue(end_s + RETRY_WAIT_S, sent)

    def _hear(self, end_s: float, sent: _Transmission, near: Near) -> int:
        """Report all receivers of a frame together; returns their number."""
        loss, count = self._options.loss, near.count
        if loss > 0.0:
            drawing = present(self._address, near.nodes_at, count)
            self._draws[:drawing] = self._random.random(drawing)
        heard = hear(
            self._address, near.nodes_at, near.metres_at, count,
            sent.node, sent.frame, sent.size_bytes, self._airtime_s(sent), end_s, loss,
        )  # fmt: skip
        if heard:
            at_s, frame, node, peer, what = self._report_rows.rows[0].item()
            self._heads.append(RadioReport(frame, peer, what, node, 0, heard, at_s, self._report_rows))
        return heard

    def _end(self, end_s: float, how: Happening, sent: _Transmission, heard: int) -> None:
        self._waiting[sent.node] -= 1
        self._tell(end_s, how, sent, heard)

    def _tell(self, at_s: float, how: Happening, sent: _Transmission, row: int) -> None:
        """The result of a frame is reported after its receivers."""
        node, to, frame, what = sent.node, sent.to, sent.frame, int(how)
        self._report_rows.rows[row] = at_s, frame, node, to, what
        self._heads.append(RadioReport(frame, to, what, node, row, row + 1, at_s, self._report_rows))


@entry
def present(addresses: int, nodes_at: int, count: int) -> int:
    """The number of nodes in range that are on; draws for each whether it loses the frame."""
    t, nodes = _opened(addresses), carray(pointer(nodes_at), count, _NUMBER)
    found = 0
    for k in range(count):
        found += t.hearer[nodes[k]].on
    return found


@entry
def hear(
    addresses: int, nodes_at: int, metres_at: int, count: int,
    sender: int, frame: int, size_bytes: int, airtime_s: float, end_s: float, loss: float,
) -> int:  # fmt: skip
    """The number of receivers of a frame that ended at `end_s`; writes their rows to `report`, from the first on."""
    t = _opened(addresses)
    nodes, metres = carray(pointer(nodes_at), count, _NUMBER), carray(pointer(metres_at), count, _REAL)
    drawn = heard = 0
    for k in range(count):
        hearer = t.hearer[nodes[k]]
        if hearer.on == 0:
            continue
        if loss > 0.0:
            drawn += 1
            if t.draws[drawn - 1] < loss:
                hearer.lost += 1
                continue
        hearer.received += 1
        hearer.received_bytes += size_bytes
        hearer.receive_s += airtime_s
        row = t.report[heard]
        row.at_s = end_s + metres[k] / LIGHT_MPS
        row.frame = frame
        row.node = nodes[k]
        row.peer = sender
        row.kind = _RECEIVED
        heard += 1
    return heard
