"""Node positions, and which nodes can receive from each other.

A node's position is that of its movement leg when a transmission starts. Nodes are binned into a uniform grid whose
cells are as wide as the reception range plus some slack, so that three by three cells hold every receiver (and the
cells beside them, for a sender that may have crossed a border since the last scan). Within a cell, nodes are ordered by
number, so that the order of receivers depends on nothing else. The bins are valid until the fastest node could have
used up the slack, or a node jumps; then all nodes are binned again. The position of each node at the last scan is
stored beside the bins, so that only the nodes that may be near have to be located; these candidates are computed once
per scan. If no node moves, the receivers of every node and their received power are computed once.
"""

from __future__ import annotations

import math

import numpy as np

from thyme.compiled import borrowing, prefetch_row
from thyme.sim.radios.wifi.state import LOCKS, NEVER, SAID_BITS, SENSED, SURE, Row, WifiTables
from thyme.sim.radios.wifi.timing import LIGHT_M_PER_NS

AHEAD = 8
"""How many receivers ahead a node is prefetched from memory."""
ROUNDING = 1.001
"""A relative margin beyond the range that no rounding error exceeds."""


@borrowing
def find_leg(e: WifiTables, n: int, at_s: float) -> None:
    """Find the current leg of node n."""
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
def locate(e: WifiTables, n: int, now: int) -> None:
    """Update the position of node n."""
    me = e.place[n]
    at_s = now * 1e-9
    if not me.start_s <= at_s < me.until_s:
        find_leg(e, n, at_s)
    elapsed_s = max(0.0, at_s - me.start_s)
    me.x = me.from_x + me.vx * elapsed_s
    me.y = me.from_y + me.vy * elapsed_s


@borrowing
def received_mw(config: Row, distance2_m2: float) -> float:
    """Log-distance path loss; the power is constant within one metre."""
    if distance2_m2 <= 1.0:
        return float(config.power_1m_mw)
    if config.exponent == 3.0:
        return float(config.power_1m_mw / (distance2_m2 * math.sqrt(distance2_m2)))
    return float(config.power_1m_mw * distance2_m2 ** (-0.5 * config.exponent))


@borrowing
def delay_ns(distance2_m2: float) -> int:
    """Propagation delay."""
    return int(math.sqrt(distance2_m2) * (1.0 / LIGHT_M_PER_NS) + 0.5)


@borrowing
def column(grid: Row, x: float) -> int:
    return int(min(max(math.floor((x - grid.x) / grid.cell_m), 0.0), grid.across - 1.0))


@borrowing
def line(grid: Row, y: float) -> int:
    return int(min(max(math.floor((y - grid.y) / grid.cell_m), 0.0), grid.down - 1.0))


@borrowing
def bin_nodes(e: WifiTables, now: int) -> None:
    """Sort all nodes into cells and set how long that is valid."""
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
    scalars = e.scalars[0]
    scalars.grid_until = NEVER
    if grid.speed_mps > 0.0:
        scalars.grid_until = now + np.int64(grid.slack_m / grid.speed_mps * 1e9)
    while scalars.next_jump < len(e.jump) and e.jump[scalars.next_jump] <= now:
        scalars.next_jump += 1
    if scalars.next_jump < len(e.jump):
        scalars.grid_until = min(scalars.grid_until, e.jump[scalars.next_jump] - 1)
    look_around(e, now)


@borrowing
def look_around(e: WifiTables, now: int) -> None:
    """Scan the positions of all nodes, in the order of the bins."""
    grid = e.grid[0]
    for k in range(len(e.cell_node)):
        n = e.cell_node[k]
        locate(e, n, now)
        e.seen[k].x, e.seen[k].y = e.place[n].x, e.place[n].y
    e.scalars[0].listed = 0
    e.scalars[0].looks += 1
    e.scalars[0].seen_until = NEVER
    if grid.speed_mps > 0.0:
        e.scalars[0].seen_until = now + np.int64(grid.drift_m / grid.speed_mps * 1e9)


@borrowing
def describe(e: WifiTables, k: int, n: int, distance2_m2: float) -> None:
    """Write how receiver k, which is node n, gets a frame."""
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
def find_near(e: WifiTables, n: int, first: int) -> int:
    """List the nodes that may receive from node n until the next scan, as positions in the bins, from row `first` on;
    returns their number. By then both ends may have moved."""
    grid, me, near = e.grid[0], e.place[n], e.near
    stray_m = ROUNDING * grid.drift_m
    near_m = e.config[0].hear_m + 2.0 * stray_m
    near2, place = near_m * near_m, first
    left, right = max(0, column(grid, me.x - stray_m) - 1), min(grid.across, column(grid, me.x + stray_m) + 2)
    bottom, top = max(0, line(grid, me.y - stray_m) - 1), min(grid.down, line(grid, me.y + stray_m) + 2)
    for y in range(bottom, top):
        # the cells of a row are adjacent in memory, and so are their nodes
        for k in range(e.cell_first[y * grid.across + left], e.cell_first[y * grid.across + right]):
            dx, dy = e.seen[k].x - me.x, e.seen[k].y - me.y
            near[place] = k
            place += dx * dx + dy * dy <= near2
    return place - first


@borrowing
def those_near(e: WifiTables, n: int) -> tuple[int, int]:
    """The range of rows that lists the candidate receivers of node n. A list is valid until the next scan; if there is
    no room for another, all lists are dropped."""
    scalars, mine = e.scalars[0], e.nearby[n]
    if mine.looked != scalars.looks:
        if scalars.listed + len(e.place) >= len(e.near):
            scalars.listed = 0
            scalars.looks += 1
        mine.looked, mine.first = scalars.looks, scalars.listed
        mine.count = find_near(e, n, scalars.listed)
        scalars.listed += mine.count
    return mine.first, mine.count


@borrowing
def gather(e: WifiTables, n: int, now: int, first: int, room: int) -> int:
    """Write the receivers of node n from row `first` on (only count them if there is no `room`)."""
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


@borrowing
def find_hearers(e: WifiTables, f: int, now: int) -> None:
    """Find the nodes that may sense frame f, and their delays."""
    me, n = e.frame[f], e.frame[f].sender
    if e.config[0].static != 0:
        me.first = e.hearer_first[n]
        me.hearers = e.hearer_first[n + 1] - e.hearer_first[n]
    else:
        if now > e.scalars[0].grid_until:
            bin_nodes(e, now)
        elif now > e.scalars[0].seen_until:
            look_around(e, now)
        locate(e, n, now)
        me.first = f * e.config[0].max_hearers
        me.hearers = gather(e, n, now, me.first, e.config[0].max_hearers)
    me.x, me.y = e.place[n].x, e.place[n].y
    late = 0
    for k in range(me.first, me.first + me.hearers):
        late = max(late, e.hearer[k].said)
    me.late = late >> SAID_BITS
