"""The area of an emulated crowd: positions of the nodes, which datagrams get through, and the shared channel.

A datagram is lost if its ends are out of range, on two sides of a cut, or on a link that was cut by hand; of the rest,
a share is lost by chance. The channel is an access point's: one frame at a time. A datagram is as many frames as it
needs, and each goes over the channel twice, to the access point and from it. What is sent while the channel is busy
waits, and what would wait for too long is lost. A node sends a broadcast to each of its peers, one copy after the
other; on a channel that all hear, these are one frame.
"""

from __future__ import annotations

from math import isfinite
from random import Random

import msgspec

from thyme.model.errors import InputError
from thyme.model.geometry import Point
from thyme.model.settings.bounds import AtLeastOne, NotNegative, Positive

BITS_PER_MEGABIT = 1e6

TOGETHER_S = 0.002
"""Datagrams of one size that a node sends to different peers within this time are copies of one."""


class MediumOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    rate_mbps: NotNegative = 0.0
    """Of the channel; 0: unlimited."""
    frame_s: NotNegative = 0.0002
    """Overhead of a frame: channel access, preamble and acknowledgement of 802.11."""
    frame_bytes: AtLeastOne = 1_472
    """Payload of one frame."""
    passes: AtLeastOne = 2
    """How often each frame is sent: by the device and by the access point."""
    queue_s: Positive = 0.5
    """Datagrams that would wait longer are lost."""

    def airtime_s(self, size_bytes: int) -> float:
        """Channel time of a datagram."""
        frames = -(-max(size_bytes, 1) // self.frame_bytes)
        return self.passes * (frames * self.frame_s + 8.0 * size_bytes / (self.rate_mbps * BITS_PER_MEGABIT))


class _Copies(msgspec.Struct):
    """A datagram that may be on its way to several."""

    size_bytes: int
    sent_s: float
    ends_s: float
    to: set[int]


class Medium:
    """One channel."""

    def __init__(self, options: MediumOptions) -> None:
        self._options = options
        self._free_s = 0.0
        self._last: dict[int, _Copies] = {}
        self.busy_s = 0.0
        """How long the channel was busy."""

    def turn_s(self, now_s: float, sender: int, to: int, size_bytes: int) -> float | None:
        """Delay until a datagram has been sent; None if it is lost because the queue is full."""
        options = self._options
        if not options.rate_mbps:
            return 0.0
        last = self._last.get(sender)
        if (
            last is not None
            and last.size_bytes == size_bytes
            and to not in last.to
            and now_s - last.sent_s <= TOGETHER_S
        ):
            last.to.add(to)
            return max(0.0, last.ends_s - now_s)
        begins_s = max(now_s, self._free_s)
        if begins_s - now_s > options.queue_s:
            return None
        airtime_s = options.airtime_s(size_bytes)
        self.busy_s += airtime_s
        self._free_s = begins_s + airtime_s
        self._last[sender] = _Copies(size_bytes, now_s, self._free_s, {to})
        return self._free_s - now_s


MAX_NODES = 64
"""Each pair of nodes needs two sockets of its own, and each node a process."""
MAX_RATE_MBPS = 1e6


class AirOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    width_m: float
    height_m: float
    range_m: float = 113.0
    """The papers': nodes of neighbouring cells of 40 m hear each other."""
    loss: float = 0.01
    """Share of datagrams that is lost although both ends are in range."""
    delay_s: float = 0.002
    """Delay of a datagram, and …"""
    jitter_s: float = 0.001
    """… up to how much more, drawn uniformly."""
    medium: MediumOptions = MediumOptions()

    def __post_init__(self) -> None:
        for name in ("width_m", "height_m", "range_m"):
            if not (isfinite(getattr(self, name)) and getattr(self, name) > 0.0):
                raise InputError(f"the area's {name} is {getattr(self, name)}; expected a positive number of metres")
        if not 0.0 <= self.loss < 1.0:
            raise InputError(f"loss is {self.loss}; expected a part from 0 to below 1")
        if not 0.0 <= self.medium.rate_mbps < MAX_RATE_MBPS:
            raise InputError(f"the channel's rate is {self.medium.rate_mbps} Mb/s; expected 0 (no limit) or more")
        if not (0.0 <= self.delay_s < 10.0 and 0.0 <= self.jitter_s < 10.0):
            raise InputError(f"delay is {self.delay_s} s and jitter {self.jitter_s} s; expected 0 to below 10 s")


class EmulatedArea:
    """Positions and cuts, which change while the crowd runs."""

    def __init__(self, options: AirOptions, places: list[Point], seed: int) -> None:
        if not 1 <= len(places) <= MAX_NODES:
            raise InputError(f"a crowd of {len(places)}; expected 1 to {MAX_NODES} nodes")
        self.options = options
        self.places = places
        self.cut_at_m: float | None = None
        """Nodes west of it and nodes east of it do not receive each other's frames."""
        self.cut_links: set[tuple[int, int]] = set()
        self._random = Random(f"{seed}/air")

    def place(self, node: int, where: Point) -> None:
        options = self.options
        x_m, y_m = min(max(where.x_m, 0.0), options.width_m), min(max(where.y_m, 0.0), options.height_m)
        self.places[node] = Point(x_m, y_m)

    def cut_link(self, one: int, other: int) -> bool:
        """Cut the link between two nodes, or mend it; whether it is cut now."""
        link = (min(one, other), max(one, other))
        self.cut_links ^= {link}
        return link in self.cut_links

    def hears(self, one: int, other: int) -> bool:
        """Whether two nodes are in range of each other, apart from random loss."""
        a, b = self.places[one], self.places[other]
        if self.cut_at_m is not None and (a.x_m < self.cut_at_m) != (b.x_m < self.cut_at_m):
            return False
        if self.cut_links and (min(one, other), max(one, other)) in self.cut_links:
            return False
        return a.distance_m(b) <= self.options.range_m

    def delay_s(self, one: int, other: int) -> float | None:
        """Delay of a datagram between two nodes; None if it is lost."""
        if not self.hears(one, other) or self._random.random() < self.options.loss:
            return None
        return self.options.delay_s + self.options.jitter_s * self._random.random()

    def links(self) -> list[tuple[int, int]]:
        nodes = range(len(self.places))
        return [(one, other) for one in nodes for other in range(one + 1, len(nodes)) if self.hears(one, other)]


def scattered(options: AirOptions, nodes: int, seed: int) -> list[Point]:
    """Places drawn uniformly."""
    random = Random(f"{seed}/places")
    return [Point(random.uniform(0.0, options.width_m), random.uniform(0.0, options.height_m)) for _ in range(nodes)]
