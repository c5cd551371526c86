"""Interference: powers of overlapping frames at one receiver (for their effect see `reception`).

Every frame has a list of the frames that overlapped it, each with its sender's position and its span; a receiver sums
their powers only when it has to decide something. Frames without overlap cost nothing.
"""

from __future__ import annotations

from thyme.compiled import borrowing
from thyme.sim.radios.wifi.positions import ROUNDING, column, delay_ns, line, received_mw
from thyme.sim.radios.wifi.state import WifiTables
from thyme.sim.radios.wifi.timing import LIGHT_M_PER_NS


@borrowing
def note_overlap(e: WifiTables, f: int, other: int) -> None:
    scalars, frame = e.scalars[0], e.frame
    k = scalars.free_overlap
    row = e.overlap[k]
    scalars.free_overlap = row.next
    scalars.overlaps_left -= 1
    row.x, row.y = frame[other].x, frame[other].y
    row.start = frame[other].start
    row.end = frame[other].start + frame[other].length
    row.next = frame[f].overlaps
    frame[f].overlaps = k


@borrowing
def put_on_air(e: WifiTables, f: int) -> None:
    """Record overlaps with the frames on the air that are near enough, then add the frame to them."""
    grid, me, frame = e.grid[1], e.frame[f], e.frame
    middle_x, middle_y = column(grid, me.x), line(grid, me.y)
    reach = e.config[0].hear_m + e.config[0].audible_m
    for y in range(max(0, middle_y - 1), min(grid.down, middle_y + 2)):
        for x in range(max(0, middle_x - 1), min(grid.across, middle_x + 2)):
            other = e.air_head[y * grid.across + x]
            while other >= 0:
                dx, dy = frame[other].x - me.x, frame[other].y - me.y
                if dx * dx + dy * dy <= reach * reach:
                    note_overlap(e, f, other)
                    note_overlap(e, other, f)
                other = frame[other].next
    cell = middle_y * grid.across + middle_x
    me.cell = cell
    me.next = e.air_head[cell]
    e.air_head[cell] = f
    e.scalars[0].active += 1


@borrowing
def take_off_air(e: WifiTables, f: int) -> None:
    """Remove the frame from the air and free its rows."""
    frame, scalars = e.frame, e.scalars[0]
    cell = frame[f].cell
    if e.air_head[cell] == f:
        e.air_head[cell] = frame[f].next
    else:
        before = e.air_head[cell]
        while frame[before].next != f:
            before = frame[before].next
        frame[before].next = frame[f].next
    k = frame[f].overlaps
    while k >= 0:
        following = e.overlap[k].next
        e.overlap[k].next = scalars.free_overlap
        scalars.free_overlap = k
        scalars.overlaps_left += 1
        k = following
    frame[f].next = scalars.free_frame
    scalars.free_frame = f
    scalars.frames_left += 1
    scalars.active -= 1


@borrowing
def latest(e: WifiTables) -> int:
    """Slightly more than the longest delay with which a frame can reach any receiver."""
    return int(ROUNDING * e.config[0].audible_m / LIGHT_M_PER_NS) + 2


@borrowing
def heard_at(e: WifiTables, k: int, n: int) -> tuple[float, int]:
    """The power and the delay of overlap k at node n; no power when it is inaudible."""
    config, row, me = e.config[0], e.overlap[k], e.place[n]
    dx, dy = row.x - me.x, row.y - me.y
    d2 = dx * dx + dy * dy
    surely_m = ROUNDING * config.audible_m
    if d2 > surely_m * surely_m:
        return 0.0, 0
    power = received_mw(config, d2)
    if power < config.floor_mw:
        power = 0.0
    return power, delay_ns(d2)


@borrowing
def others_at(e: WifiTables, f: int, n: int, at: int) -> tuple[float, int]:
    """The summed power of all overlapping frames at node n at one time, and when the last of them ends."""
    total, until, late = 0.0, 0, latest(e)
    k = e.frame[f].overlaps
    while k >= 0:
        if e.overlap[k].start < at < e.overlap[k].end + late:
            power, delay = heard_at(e, k, n)
            if power > 0.0 and e.overlap[k].start + delay < at < e.overlap[k].end + delay:
                total += power
                until = max(until, e.overlap[k].end + delay)
        k = e.overlap[k].next
    return total, until


@borrowing
def rivalled(e: WifiTables, f: int) -> bool:
    """Whether any frame started so close to frame f that it may be detected instead."""
    me, late = e.frame[f], latest(e)
    k = me.overlaps
    while k >= 0:
        if me.start - late <= e.overlap[k].start < me.start + me.late + e.config[0].detection:
            return True
        k = e.overlap[k].next
    return False


@borrowing
def stronger_follows(e: WifiTables, f: int, n: int, power: float, arrival: int) -> bool:
    """Whether a stronger preamble reaches node n before this one is detected."""
    k, noticed, late = e.frame[f].overlaps, arrival + e.config[0].detection, latest(e)
    while k >= 0:
        if arrival - late <= e.overlap[k].start < noticed:
            other, delay = heard_at(e, k, n)
            if other > power and arrival <= e.overlap[k].start + delay < noticed:
                return True
        k = e.overlap[k].next
    return False


@borrowing
def collect_steps(e: WifiTables, f: int, n: int, begin: int, end: int) -> int:
    """Steps of interference at node n within a span as sorted (instant, change) rows of the scratch table."""
    steps, late = 0, latest(e)
    k = e.frame[f].overlaps
    while k >= 0:
        if e.overlap[k].start >= end or e.overlap[k].end + late <= begin:
            k = e.overlap[k].next
            continue
        power, delay = heard_at(e, k, n)
        start, stop = max(begin, e.overlap[k].start + delay), min(end, e.overlap[k].end + delay)
        if power > 0.0 and start < stop and steps + 2 <= len(e.chunk):
            for half in range(2):
                at = start if half == 0 else stop
                place = steps
                while place > 0 and e.chunk[place - 1].at > at:
                    e.chunk[place] = e.chunk[place - 1]
                    place -= 1
                e.chunk[place].at = at
                e.chunk[place].change = power if half == 0 else -power
                steps += 1
        k = e.overlap[k].next
    return steps


@borrowing
def loudest(e: WifiTables, f: int, n: int, arrival: int) -> float:
    """Upper bound of noise and interference at node n besides frame f, as if all other frames overlapped it: most
    receivers are near the sender, and most interferers are far away."""
    noise, late = e.config[0].noise_mw, latest(e)
    end = arrival + e.frame[f].length
    o = e.frame[f].overlaps
    while o >= 0:
        if e.overlap[o].start < end and e.overlap[o].end + late > arrival:
            noise += heard_at(e, o, n)[0]
        o = e.overlap[o].next
    return float(noise)
