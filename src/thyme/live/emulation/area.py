"""The area of an emulated crowd: where everybody stands, and which datagrams get through.

The rules are few and each says no by itself: who is out of range is not heard, neither is who stands on the other side
of a cut or whose link was cut by hand, and of the rest a part is lost by chance.
"""

from __future__ import annotations

from math import isfinite
from random import Random

import msgspec

from thyme.live.emulation.medium import MediumOptions
from thyme.model.errors import InputError
from thyme.model.geometry import Point

MAX_NODES = 64
"""Each pair of nodes needs two sockets of its own, and each node a process."""
MAX_RATE_MBPS = 1e6


class AirOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    width_m: float
    height_m: float
    range_m: float = 113.0
    """The papers': nodes of neighbouring cells of 40 m hear each other."""
    loss: float = 0.01
    """Part of the datagrams that is lost although everybody is in range."""
    delay_s: float = 0.002
    """What a datagram takes, and …"""
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


class Area:
    """Positions and cuts, which change while the crowd runs."""

    def __init__(self, options: AirOptions, places: list[Point], seed: int) -> None:
        if not 1 <= len(places) <= MAX_NODES:
            raise InputError(f"a crowd of {len(places)}; expected 1 to {MAX_NODES} nodes")
        self.options = options
        self.places = places
        self.cut_at_m: float | None = None
        """Who stands west of it and who stands east of it do not hear each other."""
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
        """Whether two nodes hear each other, chance aside."""
        a, b = self.places[one], self.places[other]
        if self.cut_at_m is not None and (a.x_m < self.cut_at_m) != (b.x_m < self.cut_at_m):
            return False
        if self.cut_links and (min(one, other), max(one, other)) in self.cut_links:
            return False
        return a.distance_m(b) <= self.options.range_m

    def delay_s(self, one: int, other: int) -> float | None:
        """How long a datagram takes from one to the other; None if it does not get there."""
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
