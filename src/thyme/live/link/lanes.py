"""A lane: the queue of messages to one peer and the parcels that are not yet acknowledged.

Small messages share a datagram. When nothing is under way, a message is sent at once; further messages of the same turn
are sent together at its end. While much is under way, messages are gathered until an acknowledgement comes, a parcel is
full, or a short time has passed. So a single message does not wait, and the busier a lane, the fuller its parcels.
Parts of contents are sent after all other messages.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from math import inf

import msgspec

from thyme.live.link.frames import HEADER_BYTES, Kind
from thyme.live.link.parcels import LENGTH_BYTES, pack_message, pack_messages, split
from thyme.live.link.timers import LinkTimer
from thyme.model.ids import NodeId

Failed = Callable[[], None] | None
UNIT_BYTES = 2_048
"""Unit of a window: about the memory that the system reserves for the smallest datagram."""


class Unacknowledged(msgspec.Struct):
    """A message that is not yet acknowledged."""

    body: bytes
    failed: Failed

    def fail(self) -> None:
        """Call back once, whichever of its pieces was lost."""
        failed, self.failed = self.failed, None
        if failed:
            failed()


class Parcel(msgspec.Struct):
    """The contents of one datagram to a peer."""

    kind: Kind
    body: bytes
    messages: tuple[Unacknowledged, ...]
    number: int = 0
    order: int = 0
    """Its place among those to this peer."""
    begun_s: float = 0.0
    tries: int = 0
    hurried: bool = False
    """Sent again before its time, because later ones have arrived."""
    timer: LinkTimer | None = None

    @property
    def units(self) -> int:
        return 1 + len(self.body) // UNIT_BYTES


class Lane:
    """The window is in units."""

    def __init__(self, to: NodeId, window: float, together: int) -> None:
        self.to = to
        self._together = together
        self.window = window
        self.under_way: dict[int, Parcel] = {}
        self.units_under_way = 0
        self.urgent: deque[Unacknowledged] = deque()
        self.bulk: deque[Unacknowledged] = deque()
        """Parts of contents, which are sent after all other messages."""
        self.waiting_bytes = 0
        self.pieces: deque[Parcel] = deque()
        """Of the message that is being sent."""
        self.orders = 0
        self.arrived = 0
        """The latest that is known to have arrived, by order."""
        self.acknowledged_s = -inf
        self.narrowed_s = -inf
        self.leaves: LinkTimer | None = None
        """When waiting messages are sent at the latest."""

    def reset(self, window: float) -> None:
        """Nothing is under way or queued: the next message starts with a new window."""
        self.window = window
        self.narrowed_s = -inf

    @property
    def stalled(self) -> bool:
        return self.narrowed_s > self.acknowledged_s

    @property
    def waiting(self) -> int:
        return len(self.urgent) + len(self.bulk)

    @property
    def idle(self) -> bool:
        return not self.under_way and not self.waiting and not self.pieces

    @property
    def open(self) -> bool:
        return self.units_under_way < int(self.window)

    def widen(self, units: int, most: int) -> None:
        """Units were acknowledged: the window doubles per round trip until something was late, then grows by one."""
        untried = self.narrowed_s == -inf
        self.window = min(self.window + (units if untried else units / self.window), float(most))

    def add(self, message: Unacknowledged, *, bulk: bool) -> None:
        (self.bulk if bulk else self.urgent).append(message)
        self.waiting_bytes += len(message.body) + LENGTH_BYTES

    def full_parcel_waits(self, datagram_bytes: int) -> bool:
        return self.waiting >= self._together or self.waiting_bytes + HEADER_BYTES >= datagram_bytes

    def alone(self, message: Unacknowledged, datagram_bytes: int) -> Parcel | None:
        """A parcel of a message that need not wait, as nothing else does; None if it takes several."""
        if len(message.body) + LENGTH_BYTES + 1 > datagram_bytes - HEADER_BYTES:
            return None
        return Parcel(Kind.PARCEL, pack_message(message.body), (message,))

    def next_parcel(self, datagram_bytes: int, number: Callable[[], int]) -> Parcel:
        """For a path of this many bytes. The queue must not be empty."""
        room_bytes = datagram_bytes - HEADER_BYTES
        if not self.pieces:
            first = self._pop()
            if len(first.body) + LENGTH_BYTES + 1 > room_bytes:
                bodies = split(number(), first.body, room_bytes)
                self.pieces.extend(Parcel(Kind.PIECE, body, (first,)) for body in bodies)
            else:
                return self._gather(first, room_bytes)
        return self.pieces.popleft()

    def _gather(self, first: Unacknowledged, room_bytes: int) -> Parcel:
        messages, left_bytes = [first], room_bytes - 1 - LENGTH_BYTES - len(first.body)
        while (queue := self.urgent or self.bulk) and len(messages) < self._together:
            left_bytes -= LENGTH_BYTES + len(queue[0].body)
            if left_bytes < 0:
                break
            messages.append(self._pop())
        return Parcel(Kind.PARCEL, pack_messages([message.body for message in messages]), tuple(messages))

    def _pop(self) -> Unacknowledged:
        message = (self.urgent or self.bulk).popleft()
        self.waiting_bytes -= len(message.body) + LENGTH_BYTES
        return message

    def unsent(self) -> list[Unacknowledged]:
        """Messages that were not sent, or only in part."""
        begun = self.pieces[0].messages if self.pieces else ()
        return [*begun, *self.urgent, *self.bulk]
