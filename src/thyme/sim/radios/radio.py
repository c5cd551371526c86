"""What a radio is to the simulation: frames in, reports out.

The radio knows nodes by index and frames by a number that the caller chose; what is inside a frame is not its business.
`advance` runs it until the given time or until the first time at which there is something to report. The reports of one
call lie within a propagation delay of each other, so a node's reaction to one can never come too late for another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from thyme.model.records import TrafficKind


class Happening(IntEnum):
    RECEIVED = 0
    """`node` received the frame from `peer`."""
    SENT = 1
    """A broadcast left the air, or a unicast was acknowledged by `peer`; the frame's number is free again."""
    GIVEN_UP = 2
    """A unicast failed for good at the link; the frame's number is free again."""
    DROPPED = 3
    """The sender was switched off before the frame was sent; the frame's number is free again, and no callback is
    called."""
    EXPIRED = 4
    """The frame waited too long and was never transmitted; the number is free again."""


class RadioTotals(msgspec.Struct, frozen=True):
    """Per-node counts of one kind of radio traffic, for the log."""

    traffic: TrafficKind
    name: str
    counts: Sequence[int]
    sizes_bytes: Sequence[int]
    reason: str = ""


REPORT = np.dtype([("at_s", "f8"), *((name, "i8") for name in ("frame", "node", "peer", "kind"))])
"""A row of a report: when, which frame, at which node, from or to which other node, and what happened."""


class ReportRows:
    """The rows (`REPORT`) of all reports of one call of `advance`, with their address for compiled code."""

    __slots__ = ("address", "rows")

    def __init__(self, rows: NDArray[np.void]) -> None:
        self.rows = rows
        self.address: int = rows.ctypes.data


class RadioReport(NamedTuple):
    """The same event of one frame at one node, or at several nodes after each other."""

    frame: int
    peer: int
    """The sender, or the node that it was sent to."""
    what: int
    """One of `Happening`."""
    node: int
    """The first node it happens at."""
    begin: int
    end: int
    """The rows of this report, one for each node."""
    at_s: float
    """When it happens at the first node."""
    among: ReportRows


class Radio(Protocol):
    """The air between nodes. Frames wait in their sender's queue: bulk ones after all others, and at most so many that
    half of a bounded queue is left for the others."""

    @property
    def now_s(self) -> float:
        """How far the radio has run; nothing can be sent earlier than this."""

    @property
    def header_bytes(self) -> int:
        """What every frame has besides its message."""

    def broadcast(self, now_s: float, node: int, frame: int, size_bytes: int, *, bulk: bool = False) -> bool:
        """False if the node's queue is full: the frame is gone."""

    def unicast(self, now_s: float, node: int, to: int, frame: int, size_bytes: int, *, bulk: bool = False) -> bool: ...
    def idle(self, node: int) -> bool:
        """Whether a node has no frame to send."""

    def advance(self, until_s: float) -> int:
        """The number of rows to report; 0 if `until_s` was reached with nothing to report."""

    def reports(self) -> list[RadioReport]:
        """Reports of the last `advance`, in order."""

    def skip_sent_reports(self) -> None:
        """Do not report that a frame was sent (`Happening.SENT`); `take_ended` lists such frames."""

    @property
    def ended_s(self) -> float:
        """When the last frame was sent that was not reported: what follows is not earlier."""

    def take_ended(self, before_s: float) -> list[int]:
        """The numbers of unreported frames that were sent before a time, each once."""

    def switch(self, now_s: float, node: int, on: bool) -> None: ...
    def traffic(self) -> list[RadioTotals]: ...
    def airtime_s(self) -> Mapping[str, Sequence[float]]:
        """Seconds per node in each radio state (transmit, receive, busy, idle, sleep), up to now, for energy."""
