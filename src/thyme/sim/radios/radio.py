"""What a radio is to the simulation: frames in, happenings out.

The radio knows nodes by index and frames by a number that the caller chose; what is inside a frame is none of its
business. `advance` lets it run until the given instant or until the first instant at which somebody must be told
something, whichever comes first. The happenings of one call lie so close together (within a propagation delay) that
a node's reaction to one of them can never come too late for another.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from thyme.model.records import TrafficKind


class Happening(IntEnum):
    RECEIVED = 0
    """`node` heard the frame from `peer`."""
    SENT = 1
    """A broadcast left the air, or a unicast was acknowledged by `peer`; the frame's number is free again."""
    GIVEN_UP = 2
    """A unicast failed for good at the link; the frame's number is free again."""
    DROPPED = 3
    """The sender was switched off before the frame left; the number is free and nobody is told."""


class RadioTotals(msgspec.Struct, frozen=True):
    """Per-node counts of one kind of radio traffic, for the log."""

    traffic: TrafficKind
    name: str
    counts: Sequence[int]
    sizes_bytes: Sequence[int]
    reason: str = ""


TOLD = np.dtype([("at_s", "f8"), *((name, "i8") for name in ("frame", "node", "peer", "kind"))])
"""What happened: when, with which frame, at which node, of or to which other node, and what."""


class Happenings:
    """All that one stop of a radio tells of, row by row (`TOLD`), and where it is kept, for compiled code."""

    __slots__ = ("address", "rows")

    def __init__(self, rows: NDArray[np.void]) -> None:
        self.rows = rows
        self.address: int = rows.ctypes.data


class Told(NamedTuple):
    """The same thing happening with one frame at one node, or at many after each other."""

    frame: int
    peer: int
    """Of or to which other node."""
    what: int
    """One of `Happening`."""
    node: int
    """The first node it happens at."""
    begin: int
    end: int
    """Which rows of the happenings tell of it, one for each node."""
    at_s: float
    """When it happens at the first node."""
    among: Happenings


def one_by_one(happenings: Iterable[Told]) -> Iterator[tuple[float, int, int, int, int]]:
    """When, which frame, at which node, of or to which other node, and what."""
    for told in happenings:
        yield from told.among.rows[told.begin : told.end].tolist()


class Radio(Protocol):
    """The air between nodes."""

    @property
    def now_s(self) -> float:
        """How far the radio has run; nothing can be sent earlier than this."""

    @property
    def header_bytes(self) -> int:
        """What every frame has besides its message."""

    def broadcast(self, now_s: float, node: int, frame: int, size_bytes: int) -> bool:
        """False if the node's queue is full: the frame is gone."""

    def unicast(self, now_s: float, node: int, to: int, frame: int, size_bytes: int) -> bool: ...
    def advance(self, until_s: float) -> int:
        """How many happenings there are to tell; 0 if `until_s` was reached quietly."""

    def told(self) -> list[Told]:
        """The happenings that the last `advance` counted, in their order."""

    def be_quiet(self) -> None:
        """From now on nobody need be told that a frame was sent (`Happening.SENT`)."""

    @property
    def ended_s(self) -> float:
        """When the last frame was sent of which nobody was told: whatever follows is not earlier."""

    def take_ended(self, before_s: float) -> list[int]:
        """The numbers of frames that were sent before an instant and nobody was told of, each once."""

    def switch(self, now_s: float, node: int, on: bool) -> None: ...
    def traffic(self) -> list[RadioTotals]: ...
    def airtime_s(self) -> Mapping[str, Sequence[float]]:
        """Seconds per node in each radio state (transmit, receive, busy, idle, sleep), up to now, for energy."""
