"""Where nodes are and who can hear whom.

A node's position is that of its movement leg at the instant a transmission starts. Nodes are binned into a uniform
grid whose cells are as wide as the hearing range plus some slack, so that three by three cells hold every hearer;
the bins stay good until the fastest node could have used up the slack (or somebody jumps), then all are rebinned.
When nobody moves the hearers of every node are found once, with the power they receive.
"""

from __future__ import annotations

import math

import numpy as np

from thyme.compiled import borrowing
from thyme.sim.radios.wifi.error_model import nist_rate
from thyme.sim.radios.wifi.state import NEVER, Ether, Row
from thyme.sim.radios.wifi.timing import LIGHT_M_PER_NS


@borrowing
def locate(e: Ether, n: int, now: int) -> None:
    """Bring node n's position up to date."""
    me = e.node[n]
    at_s = now * 1e-9
    leg = me.leg
    while leg + 1 < e.leg_first[n + 1] and e.leg[leg + 1].start_s <= at_s:
        leg += 1
    while leg > e.leg_first[n] and e.leg[leg].start_s > at_s:
        leg -= 1
    me.leg = leg
    elapsed_s = max(0.0, at_s - e.leg[leg].start_s)
    me.x = e.leg[leg].x + e.leg[leg].vx * elapsed_s
    me.y = e.leg[leg].y + e.leg[leg].vy * elapsed_s


@borrowing
def received_mw(config: Row, distance2_m2: float) -> float:
    """Log-distance path loss; nothing is louder than at one metre."""
    d2 = max(1.0, distance2_m2)
    if config.exponent == 3.0:
        return float(config.power_1m_mw / (d2 * math.sqrt(d2)))
    return float(config.power_1m_mw * d2 ** (-0.5 * config.exponent))


@borrowing
def column(grid: Row, x: float) -> int:
    return int(min(max(math.floor((x - grid.x) / grid.cell_m), 0.0), grid.across - 1.0))


@borrowing
def line(grid: Row, y: float) -> int:
    return int(min(max(math.floor((y - grid.y) / grid.cell_m), 0.0), grid.down - 1.0))


@borrowing
def bin_nodes(e: Ether, now: int) -> None:
    """Sort all nodes into cells and say how long that stays good."""
    grid, node = e.grid[0], e.node
    for cell in range(len(e.cell_first)):
        e.cell_first[cell] = 0
    for n in range(len(node)):
        locate(e, n, now)
        e.cell_first[line(grid, node[n].y) * grid.across + column(grid, node[n].x) + 1] += 1
    for cell in range(grid.across * grid.down):
        e.cell_first[cell + 1] += e.cell_first[cell]
    for n in range(len(node) - 1, -1, -1):
        cell = line(grid, node[n].y) * grid.across + column(grid, node[n].x)
        e.cell_first[cell + 1] -= 1
        e.cell_node[e.cell_first[cell + 1]] = n
    for cell in range(grid.across * grid.down):
        e.cell_first[cell] = e.cell_first[cell + 1]
    e.cell_first[grid.across * grid.down] = len(node)
    desk = e.desk[0]
    desk.grid_until = NEVER
    if grid.speed_mps > 0.0:
        desk.grid_until = now + np.int64(grid.slack_m / grid.speed_mps * 1e9)
    while desk.next_jump < len(e.jump) and e.jump[desk.next_jump] <= now:
        desk.next_jump += 1
    if desk.next_jump < len(e.jump):
        desk.grid_until = min(desk.grid_until, e.jump[desk.next_jump] - 1)


@borrowing
def gather(e: Ether, n: int, now: int, first: int, room: int) -> int:
    """Write the hearers of node n from row `first` on (counting only, when there is no `room`)."""
    config, grid, me = e.config[0], e.grid[0], e.node[n]
    reach2 = config.hear_m * config.hear_m
    found = 0
    middle_x, middle_y = column(grid, me.x), line(grid, me.y)
    for y in range(max(0, middle_y - 1), min(grid.down, middle_y + 2)):
        for x in range(max(0, middle_x - 1), min(grid.across, middle_x + 2)):
            cell = y * grid.across + x
            for k in range(e.cell_first[cell], e.cell_first[cell + 1]):
                other = e.cell_node[k]
                if other == n:
                    continue
                if config.static == 0:
                    locate(e, other, now)
                dx, dy = e.node[other].x - me.x, e.node[other].y - me.y
                d2 = dx * dx + dy * dy
                if d2 > reach2:
                    continue
                if found < room:
                    row = e.hearer[first + found]
                    row.node = other
                    row.power = received_mw(config, d2)
                    row.delay = int(math.sqrt(d2) / LIGHT_M_PER_NS + 0.5)
                    if config.static != 0:
                        row.clear = nist_rate(row.power / config.noise_mw)
                found += 1
    return found
