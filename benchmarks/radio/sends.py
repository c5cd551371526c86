"""Runs a list of sends on the radio and keeps its reports, for measurements without protocols."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from random import Random

import numpy as np
from numpy.typing import NDArray

from thyme.sim.radios.radio import RadioReport
from thyme.sim.radios.wifi.radio import RECEIVED, WifiRadio
from thyme.sim.radios.wifi.state import EVERYBODY
from thyme.world.movement import Movement

Send = tuple[float, int, int]  # time, sender, receiver (EVERYBODY for a broadcast)


def standing(points: Iterable[tuple[float, float]]) -> Movement:
    """A movement in which no node moves."""
    xy = np.array(list(points), dtype=np.float64).reshape(-1, 2)
    none = np.zeros(len(xy))
    first = np.arange(len(xy) + 1, dtype=np.int64)
    width_m, height_m = (max(1.0, float(np.ptp(xy[:, axis]))) for axis in (0, 1))
    return Movement(width_m, height_m, first, none, xy[:, 0].copy(), xy[:, 1].copy(), none, none)


def on_circle(count: int, radius_m: float) -> list[tuple[float, float]]:
    turns = (2.0 * math.pi * k / count for k in range(count))
    return [(radius_m * math.cos(turn), radius_m * math.sin(turn)) for turn in turns]


def in_disc(count: int, radius_m: float, random: Random) -> list[tuple[float, float]]:
    """Points uniform in a disc."""
    points = []
    for _ in range(count):
        distance_m, turn = radius_m * math.sqrt(random.random()), 2.0 * math.pi * random.random()
        points.append((distance_m * math.cos(turn), distance_m * math.sin(turn)))
    return points


def periodic(node: int, to: int, period_s: float, from_s: float, until_s: float, random: Random) -> Iterator[Send]:
    at_s = from_s + period_s * random.random()
    while at_s < until_s:
        yield at_s, node, to
        at_s += period_s


def poisson(node: int, to: int, rate_hz: float, from_s: float, until_s: float, random: Random) -> Iterator[Send]:
    at_s = from_s + random.expovariate(rate_hz)
    while at_s < until_s:
        yield at_s, node, to
        at_s += random.expovariate(rate_hz)


def jittered(
    node: int, to: int, low_s: float, high_s: float, from_s: float, until_s: float, random: Random
) -> Iterator[Send]:
    at_s = from_s + high_s * random.random()
    while at_s < until_s:
        yield at_s, node, to
        at_s += random.uniform(low_s, high_s)


@dataclass(frozen=True, slots=True)
class Played:
    """The sends (by token) and their receptions."""

    sent_at_s: NDArray[np.float64]
    sender: NDArray[np.int64]
    refused: int
    at_s: NDArray[np.float64]
    node: NDArray[np.int64]
    peer: NDArray[np.int64]
    token: NDArray[np.int64]

    @property
    def sent(self) -> int:
        return len(self.sent_at_s)

    def latencies_s(self) -> NDArray[np.float64]:
        return self.at_s - self.sent_at_s[self.token]


def play(radio: WifiRadio, sends: Iterable[Send], payload_bytes: int, until_s: float) -> Played:
    """Send in the order of time, run on to `until_s`, and return every reception."""
    sent_at: list[float] = []
    senders: list[int] = []
    rows, kept, refused = np.zeros(1024, radio.happened().dtype), 0, 0
    advance, broadcast, unicast, happened = radio.advance, radio.broadcast, radio.unicast, radio.happened
    for at_s, node, to in sends:
        while count := advance(at_s):
            if kept + count > len(rows):
                rows = np.resize(rows, 2 * len(rows) + count)
            rows[kept : kept + count] = happened()
            kept += count
        token = len(sent_at)
        if to == EVERYBODY:
            taken = broadcast(at_s, node, token, payload_bytes)
        else:
            taken = unicast(at_s, node, to, token, payload_bytes)
        refused += not taken
        sent_at.append(at_s)
        senders.append(node)
    while count := advance(until_s):
        rows = np.concatenate((rows[:kept], happened()))
        kept += count
    rows = rows[:kept][rows["kind"][:kept] == RECEIVED]
    return Played(
        sent_at_s=np.array(sent_at),
        sender=np.array(senders, dtype=np.int64),
        refused=refused,
        at_s=rows["at_s"].copy(),
        node=rows["node"].astype(np.int64),
        peer=rows["peer"].astype(np.int64),
        token=rows["frame"].copy(),
    )


def one_by_one(reports: Iterable[RadioReport]) -> Iterator[tuple[float, int, int, int, int]]:
    """The rows of reports: when, which frame, at which node, from or to which other node, and what happened."""
    for report in reports:
        yield from report.among.rows[report.begin : report.end].tolist()
