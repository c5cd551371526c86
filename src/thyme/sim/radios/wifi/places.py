"""Where nodes are and who can hear whom.

A node's position is that of its movement leg at the instant a transmission starts. Nodes are binned into a uniform
grid whose cells are as wide as the hearing range plus some slack, so that three by three cells hold every hearer
(and those beside them, for a sender that may have crossed a border before it is looked again);
in each of them they stand in the order of their names, so the order of hearers depends on nothing else;
the bins stay good until the fastest node could have used up the slack (or somebody jumps), then all are rebinned.
Where each was seen a moment ago stands beside the bins, so that of the many in three by three cells only those have to
be located that may be near; who they are is found once between two looks.
When nobody moves the hearers of every node are found once, with the power they receive.
"""

from __future__ import annotations

import math

import numpy as np

from thyme.compiled import borrowing, prefetch_row
from thyme.sim.radios.wifi.state import LOCKS, NEVER, SAID_BITS, SENSED, SURE, Ether, Row
from thyme.sim.radios.wifi.timing import LIGHT_M_PER_NS

AHEAD = 8
"""So many hearers before it is looked at, a node is fetched from memory."""
ROUNDING = 1.001
"""So much farther than it can be surely is not reached, however the last digits come out."""


@borrowing
def find_leg(e: Ether, n: int, at_s: float) -> None:
    """Have the leg at hand that node n is on."""
    me, leg, name = e.place[n], e.station[n].leg, e.name[n]
    while leg + 1 < e.leg_first[name + 1] and e.leg[leg + 1].start_s <= at_s:
        leg += 1
    while leg > e.leg_first[name] and e.leg[leg].start_s > at_s:
        leg -= 1
    e.station[n].leg = leg
    row = e.leg[leg]
    me.start_s, me.from_x, me.from_y, me.vx, me.vy = row.start_s, row.x, row.y, row.vx, row.vy
    me.until_s = e.leg[leg + 1].start_s if leg + 1 < e.leg_first[name + 1] else math.inf


@borrowing
def locate(e: Ether, n: int, now: int) -> None:
    """Bring node n's position up to date."""
    me = e.place[n]
    at_s = now * 1e-9
    if not me.start_s <= at_s < me.until_s:
        find_leg(e, n, at_s)
    elapsed_s = max(0.0, at_s - me.start_s)
    me.x = me.from_x + me.vx * elapsed_s
    me.y = me.from_y + me.vy * elapsed_s


@borrowing
def received_mw(config: Row, distance2_m2: float) -> float:
    """Log-distance path loss; nothing is louder than at one metre."""
    if distance2_m2 <= 1.0:
        return float(config.power_1m_mw)
    if config.exponent == 3.0:
        return float(config.power_1m_mw / (distance2_m2 * math.sqrt(distance2_m2)))
    return float(config.power_1m_mw * distance2_m2 ** (-0.5 * config.exponent))


@borrowing
def delay_ns(distance2_m2: float) -> int:
    """How long light takes."""
    return int(math.sqrt(distance2_m2) * (1.0 / LIGHT_M_PER_NS) + 0.5)


@borrowing
def column(grid: Row, x: float) -> int:
    return int(min(max(math.floor((x - grid.x) / grid.cell_m), 0.0), grid.across - 1.0))


@borrowing
def line(grid: Row, y: float) -> int:
    return int(min(max(math.floor((y - grid.y) / grid.cell_m), 0.0), grid.down - 1.0))


@borrowing
def bin_nodes(e: Ether, now: int) -> None:
    """Sort all nodes into cells and say how long that stays good."""
    grid, place = e.grid[0], e.place
    for cell in range(len(e.cell_first)):
        e.cell_first[cell] = 0
    for n in range(len(place)):
        locate(e, n, now)
        e.cell_first[line(grid, place[n].y) * grid.across + column(grid, place[n].x) + 1] += 1
    for cell in range(grid.across * grid.down):
        e.cell_first[cell + 1] += e.cell_first[cell]
    for name in range(len(place) - 1, -1, -1):
        n = e.number[name]
        cell = line(grid, place[n].y) * grid.across + column(grid, place[n].x)
        e.cell_first[cell + 1] -= 1
        e.cell_node[e.cell_first[cell + 1]] = n
    for cell in range(grid.across * grid.down):
        e.cell_first[cell] = e.cell_first[cell + 1]
    e.cell_first[grid.across * grid.down] = len(place)
    desk = e.desk[0]
    desk.grid_until = NEVER
    if grid.speed_mps > 0.0:
        desk.grid_until = now + np.int64(grid.slack_m / grid.speed_mps * 1e9)
    while desk.next_jump < len(e.jump) and e.jump[desk.next_jump] <= now:
        desk.next_jump += 1
    if desk.next_jump < len(e.jump):
        desk.grid_until = min(desk.grid_until, e.jump[desk.next_jump] - 1)
    look_around(e, now)


@borrowing
def look_around(e: Ether, now: int) -> None:
    """Note where everybody is, in the order of the bins."""
    grid = e.grid[0]
    for k in range(len(e.cell_node)):
        n = e.cell_node[k]
        locate(e, n, now)
        e.seen[k].x, e.seen[k].y = e.place[n].x, e.place[n].y
    e.desk[0].listed = 0
    e.desk[0].looks += 1
    e.desk[0].seen_until = NEVER
    if grid.speed_mps > 0.0:
        e.desk[0].seen_until = now + np.int64(grid.drift_m / grid.speed_mps * 1e9)


@borrowing
def describe(e: Ether, k: int, n: int, distance2_m2: float) -> None:
    """Write what a frame is to hearer k, which is node n."""
    config = e.config[0]
    power = received_mw(config, distance2_m2)
    e.power[k] = power
    said = delay_ns(distance2_m2) << SAID_BITS
    if power >= config.preamble_mw:
        said |= LOCKS
    if power >= config.cca_mw:
        said |= SENSED
    if power >= config.sure_mw:
        said |= SURE
    e.hearer[k].node, e.hearer[k].said = n, said


@borrowing
def find_near(e: Ether, n: int, first: int) -> int:
    """List the nodes that may hear node n until it is looked again where everybody is, by their places in the bins and
    from place `first` on; how many there are. By then both it and they may have strayed."""
    grid, me, near = e.grid[0], e.place[n], e.near
    stray_m = ROUNDING * grid.drift_m
    near_m = e.config[0].hear_m + 2.0 * stray_m
    near2, place = near_m * near_m, first
    left, right = max(0, column(grid, me.x - stray_m) - 1), min(grid.across, column(grid, me.x + stray_m) + 2)
    bottom, top = max(0, line(grid, me.y - stray_m) - 1), min(grid.down, line(grid, me.y + stray_m) + 2)
    for y in range(bottom, top):
        # the cells of a line follow each other, and so do who are in them
        for k in range(e.cell_first[y * grid.across + left], e.cell_first[y * grid.across + right]):
            dx, dy = e.seen[k].x - me.x, e.seen[k].y - me.y
            near[place] = k
            place += dx * dx + dy * dy <= near2
    return place - first


@borrowing
def those_near(e: Ether, n: int) -> tuple[int, int]:
    """Where the nodes that may hear node n are listed, and how many they are. A list is good until it is looked again
    where everybody is; when there is no room for another, all are made anew."""
    desk, mine = e.desk[0], e.nearby[n]
    if mine.looked != desk.looks:
        if desk.listed + len(e.place) >= len(e.near):
            desk.listed = 0
            desk.looks += 1
        mine.looked, mine.first = desk.looks, desk.listed
        mine.count = find_near(e, n, desk.listed)
        desk.listed += mine.count
    return mine.first, mine.count


@borrowing
def gather(e: Ether, n: int, now: int, first: int, room: int) -> int:
    """Write the hearers of node n from row `first` on (counting only, when there is no `room`)."""
    config, me = e.config[0], e.place[n]
    near_m = config.hear_m + ROUNDING * e.grid[0].drift_m
    reach2, near2, found = config.hear_m * config.hear_m, near_m * near_m, 0
    begin, near = those_near(e, n)
    for k in range(begin, begin + near):
        prefetch_row(e.place, e.cell_node[e.near[min(k + AHEAD, begin + near - 1)]])
        other, seen = e.cell_node[e.near[k]], e.seen[e.near[k]]
        dx, dy = seen.x - me.x, seen.y - me.y
        if dx * dx + dy * dy > near2:
            continue
        if config.static == 0:
            locate(e, other, now)
        dx, dy = e.place[other].x - me.x, e.place[other].y - me.y
        d2 = dx * dx + dy * dy
        if d2 > reach2 or other == n:
            continue
        if found < room:
            describe(e, first + found, other, d2)
        found += 1
    return found
