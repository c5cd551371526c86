"""Encounters: the exact contacts of a movement.

Two nodes on straight legs are within range for one interval, the roots of a quadratic; nothing is sampled.
Time is cut into windows only to find candidates: in each window a grid over the nodes' bounding boxes leaves
the pairs that can come within range, and those are solved leg by leg. The cost grows with who is near whom,
not with the number of pairs. The loop is compiled: its functions take and return plain arrays, and a contact that
lasts over the edge of a window is carried on, so that there is one row per contact, in no particular order.
"""

from __future__ import annotations

import numpy as np

from thyme.compiled import compiled
from thyme.model.errors import InputError
from thyme.world.contacts.contact_table import Contacts, contacts_from
from thyme.world.movement import Floats, Ints, Movement

WINDOW_REACH = 2.0
"""A typical walker covers this share of the range in one window: longer windows check more pairs that never meet,
shorter ones rebuild the grid too often (measured at 100 and 1,000 nodes in 4 × 4 km; flat from 1 to 4)."""

MIN_WINDOWS, MAX_WINDOWS = 1, 1_000_000
EMPTY = -1
MAX_CELLS_PER_NODE = 4
"""The grid never has more cells than this per node, however short the range: empty cells cost time, too."""


def contacts_of(movement: Movement, range_m: float, until_s: float) -> Contacts:
    """Every interval in [0, `until_s`] during which two nodes are at most `range_m` apart."""
    if not (range_m > 0.0 and until_s > 0.0):
        raise InputError(f"contacts within {range_m:g} m until {until_s:g} s: both must be positive")
    edges_s = _window_edges(movement, range_m, until_s)
    a, b, start_s, end_s = find_encounters(
        movement.first,
        movement.start_s,
        movement.x_m,
        movement.y_m,
        movement.vx_mps,
        movement.vy_mps,
        edges_s,
        float(range_m),
    )
    return contacts_from(movement.nodes, start_s, end_s, a, b)


def _window_edges(movement: Movement, range_m: float, until_s: float) -> Floats:
    speeds_mps = np.hypot(movement.vx_mps, movement.vy_mps)
    moving_mps = speeds_mps[speeds_mps > 0.0]
    typical_mps = float(np.quantile(moving_mps, 0.75)) if len(moving_mps) else 0.0
    windows = np.ceil(until_s * typical_mps / (WINDOW_REACH * range_m))
    return np.linspace(0.0, until_s, int(np.clip(windows, MIN_WINDOWS, MAX_WINDOWS)) + 1)


@compiled
def _advance(cursor: Ints, first: Ints, leg_start_s: Floats, at_s: float) -> None:
    for node in range(len(cursor)):
        leg = cursor[node]
        while leg + 1 < first[node + 1] and leg_start_s[leg + 1] <= at_s:
            leg += 1
        cursor[node] = leg


@compiled
def _bound(
    cursor: Ints,
    first: Ints,
    start_s: Floats,
    x_m: Floats,
    y_m: Floats,
    vx_mps: Floats,
    vy_mps: Floats,
    from_s: float,
    to_s: float,
    centre_m: Floats,
    reach_m: Floats,
) -> None:
    """For each node, the middle of the box that holds it during the window, and half the box's diagonal."""
    for node in range(len(cursor)):
        low_x, high_x, low_y, high_y = np.inf, -np.inf, np.inf, -np.inf
        for leg in range(cursor[node], first[node + 1]):
            if leg > cursor[node] and start_s[leg] >= to_s:
                break
            until_s = to_s
            if leg + 1 < first[node + 1]:
                until_s = min(to_s, start_s[leg + 1])
            for at_s in (from_s, until_s):
                elapsed_s = max(0.0, max(at_s, from_s) - start_s[leg])
                x, y = x_m[leg] + vx_mps[leg] * elapsed_s, y_m[leg] + vy_mps[leg] * elapsed_s
                low_x, high_x = min(low_x, x), max(high_x, x)
                low_y, high_y = min(low_y, y), max(high_y, y)
        centre_m[node, 0] = 0.5 * (low_x + high_x)
        centre_m[node, 1] = 0.5 * (low_y + high_y)
        reach_m[node] = 0.5 * np.hypot(high_x - low_x, high_y - low_y)


@compiled
def _grid(centre_m: Floats, cell_m: float) -> tuple[Ints, Ints, Ints, int]:
    """Nodes sorted by cell: (first entry of each cell, nodes, each node's cell, columns)."""
    nodes = len(centre_m)
    left, bottom = centre_m[:, 0].min(), centre_m[:, 1].min()
    wide, high = centre_m[:, 0].max() - left, centre_m[:, 1].max() - bottom
    while (wide / cell_m + 3.0) * (high / cell_m + 3.0) > MAX_CELLS_PER_NODE * nodes + 64:
        cell_m *= 1.5
    columns, rows = int(wide / cell_m) + 3, int(high / cell_m) + 3
    cell = np.empty(nodes, np.int64)
    first = np.zeros(columns * rows + 1, np.int64)
    for node in range(nodes):
        column = 1 + int((centre_m[node, 0] - left) / cell_m)
        cell[node] = (1 + int((centre_m[node, 1] - bottom) / cell_m)) * columns + column
        first[cell[node] + 1] += 1
    first = np.cumsum(first)
    fill = first[:-1].copy()
    members = np.empty(nodes, np.int64)
    for node in range(nodes):
        members[fill[cell[node]]] = node
        fill[cell[node]] += 1
    return first, members, cell, columns


@compiled
def _slot(keys: Ints, key: int) -> int:
    """Where `key` is or would be in an open-addressing table whose length is a power of two."""
    mask = len(keys) - 1
    slot = (key * 0x9E3779B1 >> 7) & mask
    while keys[slot] not in (EMPTY, key):
        slot = (slot + 1) & mask
    return slot


@compiled
def _table(pairs: Ints, count: int) -> tuple[Ints, Ints]:
    size = 16
    while size < 2 * count:
        size *= 2
    keys, rows = np.full(size, EMPTY, np.int64), np.empty(size, np.int64)
    for row in range(count):
        slot = _slot(keys, pairs[row])
        keys[slot], rows[slot] = pairs[row], row
    return keys, rows


@compiled
def _solve(
    one: int,
    other: int,
    cursor: Ints,
    first: Ints,
    start_s: Floats,
    x_m: Floats,
    y_m: Floats,
    vx_mps: Floats,
    vy_mps: Floats,
    from_s: float,
    to_s: float,
    range_m: float,
    found_s: Floats,
) -> int:
    """When two nodes are within range during the window: intervals into `found_s`, and how many."""
    i, j = cursor[one], cursor[other]
    at_s, count = from_s, 0
    while at_s < to_s:
        until_s = to_s
        if i + 1 < first[one + 1]:
            until_s = min(until_s, start_s[i + 1])
        if j + 1 < first[other + 1]:
            until_s = min(until_s, start_s[j + 1])
        x = y = vx = vy = 0.0
        for leg, sign in ((i, -1.0), (j, 1.0)):
            elapsed_s = at_s - start_s[leg]
            if elapsed_s < 0.0:  # before its first leg a node stands at that leg's start
                until_s = min(until_s, start_s[leg])
                x, y = x + sign * x_m[leg], y + sign * y_m[leg]
            else:
                vx, vy = vx + sign * vx_mps[leg], vy + sign * vy_mps[leg]
                x += sign * (x_m[leg] + vx_mps[leg] * elapsed_s)
                y += sign * (y_m[leg] + vy_mps[leg] * elapsed_s)
        low_s, high_s = _within(x, y, vx, vy, range_m, until_s - at_s)
        if low_s < high_s:
            enter_s = at_s if low_s == 0.0 else at_s + low_s
            leave_s = until_s if high_s == until_s - at_s else at_s + high_s
            if count > 0 and found_s[count - 1, 1] == enter_s:
                found_s[count - 1, 1] = leave_s
            else:
                found_s[count, 0], found_s[count, 1] = enter_s, leave_s
                count += 1
        at_s = until_s
        if i + 1 < first[one + 1] and start_s[i + 1] <= at_s:
            i += 1
        if j + 1 < first[other + 1] and start_s[j + 1] <= at_s:
            j += 1
    return count


@compiled
def _within(x: float, y: float, vx: float, vy: float, range_m: float, lasting_s: float) -> tuple[float, float]:
    """From when to when |(x, y) + t (vx, vy)| ≤ range for t in [0, lasting]; low ≥ high if never."""
    apart = x * x + y * y - range_m * range_m
    speed = vx * vx + vy * vy
    if speed == 0.0:
        return (0.0, lasting_s) if apart <= 0.0 else (0.0, 0.0)
    toward = x * vx + y * vy
    root = toward * toward - speed * apart
    if root <= 0.0:
        return 0.0, 0.0
    root = np.sqrt(root)
    return max(0.0, (-toward - root) / speed), min(lasting_s, (-toward + root) / speed)


@compiled
def _with_room(rows: Floats, count: int) -> Floats:
    if count < len(rows):
        return rows
    wider = np.empty((2 * len(rows), rows.shape[1]))
    wider[:count] = rows[:count]
    return wider


@compiled
def _append(rows: Floats, count: int, pair: int, since_s: float, till_s: float) -> Floats:
    rows = _with_room(rows, count)
    rows[count, 0], rows[count, 1], rows[count, 2] = pair, since_s, till_s
    return rows


@compiled
def find_encounters(
    first: Ints,
    start_s: Floats,
    x_m: Floats,
    y_m: Floats,
    vx_mps: Floats,
    vy_mps: Floats,
    edges_s: Floats,
    range_m: float,
) -> tuple[Ints, Ints, Floats, Floats]:
    """Contacts between the first and the last edge, as columns a, b, start, end."""
    nodes = len(first) - 1
    legs = (first, start_s, x_m, y_m, vx_mps, vy_mps)
    cursor = first[:-1].copy()
    centre_m, reach_m = np.empty((nodes, 2)), np.empty(nodes)
    found_s = np.empty((2 * np.diff(first).max() + 2, 2))
    done, done_count = np.empty((1024, 3)), 0  # pair, start, end
    still_open, open_count = np.empty((1024, 3)), 0  # pair, start, end so far
    next_open = np.empty((1024, 3))
    for window in range(len(edges_s) - 1):
        from_s, to_s = edges_s[window], edges_s[window + 1]
        _advance(cursor, first, start_s, from_s)
        _bound(cursor, *legs, from_s, to_s, centre_m, reach_m)
        cell_first, members, cell, columns = _grid(centre_m, range_m + 2.0 * reach_m.max())
        keys, rows = _table(still_open[:open_count, 0].astype(np.int64), open_count)
        carried_on = np.zeros(open_count, np.bool_)
        next_count = 0
        for place in range(nodes):
            one = members[place]
            for step in (0, 1, columns - 1, columns, columns + 1):
                begin = place + 1 if step == 0 else cell_first[cell[one] + step]
                for entry in range(begin, cell_first[cell[one] + step + 1]):
                    other = members[entry]
                    x, y = centre_m[other, 0] - centre_m[one, 0], centre_m[other, 1] - centre_m[one, 1]
                    near_m = range_m + reach_m[one] + reach_m[other]
                    if x * x + y * y > near_m * near_m:
                        continue
                    low, high = min(one, other), max(one, other)
                    pieces = _solve(low, high, cursor, *legs, from_s, to_s, range_m, found_s)
                    for piece in range(pieces):
                        since_s, till_s = found_s[piece, 0], found_s[piece, 1]
                        pair = low * nodes + high
                        if since_s == from_s:
                            slot = _slot(keys, pair)
                            if keys[slot] == pair:
                                carried_on[rows[slot]] = True
                                since_s = still_open[rows[slot], 1]
                        if till_s == to_s:
                            next_open = _append(next_open, next_count, pair, since_s, till_s)
                            next_count += 1
                        else:
                            done = _append(done, done_count, pair, since_s, till_s)
                            done_count += 1
        for row in range(open_count):
            if not carried_on[row]:
                done = _append(done, done_count, still_open[row, 0], still_open[row, 1], still_open[row, 2])
                done_count += 1
        still_open, next_open = next_open, still_open
        open_count = next_count
    for row in range(open_count):
        done = _append(done, done_count, still_open[row, 0], still_open[row, 1], still_open[row, 2])
        done_count += 1
    pairs = done[:done_count, 0].astype(np.int64)
    return pairs // nodes, pairs % nodes, done[:done_count, 1].copy(), done[:done_count, 2].copy()
