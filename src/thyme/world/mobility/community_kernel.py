"""The compiled loop of community mobility: who decides next, where the friends are, and the way there.

`walk_on` works on the arrays it is given and returns the legs walked, and the host that has used up its random
numbers (or −1 when time is up), so that the caller can draw more and call again. Each decision uses
`DRAWS_PER_STEP` numbers of the host, whatever it decides.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thyme.compiled import compiled
from thyme.world.movement import Floats, Ints

DRAWS_PER_STEP = 5
"""Square, x, y, speed, pause."""


@compiled
def walk_on(
    ties: Floats,
    community: Ints,
    squares: Ints,
    grid: int,
    side_m: Floats,
    settings: Floats,
    until_s: float,
    square: Ints,
    place_m: Floats,
    speed_mps: Floats,
    due_s: Floats,
    arrived: NDArray[np.bool_],
    period: Ints,
    draws: Floats,
    used: Ints,
) -> tuple[Floats, int]:
    """Let hosts walk until time is up or one of them needs more random numbers."""
    deterministic, mean, members, drift, low_mps, high_mps, per_trip, low_s, high_s, renewed_s = settings
    legs, count = np.empty((4096, 6)), 0
    pull, there = np.zeros(grid * grid), np.zeros(grid * grid)
    while True:
        host = int(np.argmin(due_s))
        at_s = due_s[host]
        if at_s == np.inf:
            return legs[:count], -1
        if used[host] + DRAWS_PER_STEP > draws.shape[1]:
            return legs[:count], host
        if count == len(legs):
            wider = np.empty((2 * count, 6))
            wider[:count] = legs
            legs = wider
        own = draws[host, used[host] : used[host] + DRAWS_PER_STEP]
        pause_s = low_s + own[4] * (high_s - low_s)
        legs[count, 0], legs[count, 1] = host, at_s
        legs[count, 2:4], legs[count, 4:6] = place_m[host], 0.0
        if at_s >= until_s:
            count += arrived[host]
            due_s[host] = np.inf
            continue
        if arrived[host] and pause_s > 0.0:
            count += 1
            arrived[host], due_s[host] = False, at_s + pause_s
            continue
        used[host] += DRAWS_PER_STEP
        now = int(at_s // renewed_s)
        if now > period[host]:
            period[host] = now
            goal = squares[now, community[host]]
        else:
            homes = squares[now][community]
            _attract(ties[host], homes if members else square, host, mean, pull, there)
            goal = _choose(pull, square[host], deterministic, drift, own[0])
        square[host] = goal
        if per_trip:
            speed_mps[host] = low_mps + own[3] * (high_mps - low_mps)
        x_m, y_m = (goal % grid + own[1]) * side_m[0], (goal // grid + own[2]) * side_m[1]
        way_x_m, way_y_m = x_m - place_m[host, 0], y_m - place_m[host, 1]
        lasting_s = np.hypot(way_x_m, way_y_m) / speed_mps[host]
        legs[count, 4], legs[count, 5] = way_x_m / lasting_s, way_y_m / lasting_s
        count += 1
        place_m[host, 0], place_m[host, 1] = x_m, y_m
        due_s[host], arrived[host] = at_s + lasting_s, True


@compiled
def _attract(tie: Floats, square: Ints, host: int, mean: bool, pull: Floats, there: Floats) -> None:
    """The attraction of each square: ties of the host to the others there, summed or averaged."""
    pull[:], there[:] = 0.0, 0.0
    for other in range(len(square)):
        if other != host:
            pull[square[other]] += tie[other]
            there[square[other]] += 1.0
    if mean:
        for place in range(len(pull)):
            if there[place] > 0.0:
                pull[place] /= there[place]


@compiled
def _choose(pull: Floats, here: int, deterministic: bool, drift: float, draw: float) -> int:
    if deterministic:
        best = int(np.argmax(pull))
        return best if pull[best] > pull[here] else here
    target = draw * (pull.sum() + drift * len(pull))
    for place in range(len(pull)):
        target -= pull[place] + drift
        if target < 0.0 and pull[place] + drift > 0.0:
            return place
    return here
