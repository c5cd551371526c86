"""What DSDV makes of one entry of a neighbour's update: a new route, a better one, a confirmed one or a loss."""

from __future__ import annotations

from typing import Any

import numpy as np

from thyme.compiled import inner
from thyme.routing.dsdv.rows import follow, lose_over, note, note_route, take_out


@inner
def put_new(desk: Any, row: Any, sender: int, hops: int, sequence: int, now_s: float) -> None:
    row.known, row.changed, row.lost = 1, 1, 0
    row.next_hop, row.hops, row.sequence = sender, hops, sequence
    row.heard_s, row.settling_s = now_s, desk.settling_s
    desk.known += 1
    note_route(row)


@inner
def read_loss(desk: Any, rows: Any, at: int, sender: int, sequence: int, now_s: float) -> bool:
    """Whether routes were lost."""
    row = rows[at]
    if desk.remember_lost and sequence < row.news_sequence:
        return False
    if sender != (row.next_hop if desk.remember_lost else row.news_next_hop):
        if row.due_s == np.inf:
            row.news = 0
        return False
    next_hop, hops = row.news_next_hop, row.news_hops
    heard_s, settling_s = row.news_heard_s, row.news_settling_s
    lose_over(desk, rows, row.destination, now_s, False)
    take_out(desk, row, sequence, now_s)
    note(row, next_hop, hops, sequence, heard_s, settling_s, 1)
    if desk.remember_lost:
        row.due_s = np.inf
    return True


@inner
def settle(desk: Any, row: Any, sender: int, hops: int, sequence: int, now_s: float) -> None:
    """Another metric: follow it at once, tell of it when it has settled."""
    wait_s = row.settling_s
    if desk.weight >= 0.0 and wait_s > 0.0:
        wait_s = desk.weight * wait_s + (1.0 - desk.weight) * (now_s - row.heard_s)
    note(row, sender, hops, sequence, now_s, wait_s, 1)
    follow(row, 1)
    desk.orders += 1
    row.due_s, row.due_order = now_s + wait_s, desk.orders


@inner
def read_route(desk: Any, row: Any, sender: int, hops: int, sequence: int, now_s: float) -> None:
    """What a neighbour says of a destination to which there is a route. Where there are no news, the route is."""
    news = row.news != 0
    known_hops, known_sequence = (row.news_hops, row.news_sequence) if news else (row.hops, row.sequence)
    newer, same = sequence > known_sequence, sequence == known_sequence
    if newer and hops == known_hops:
        note(row, sender, hops, sequence, now_s, row.news_settling_s if news else row.settling_s, 1)
        row.due_s = np.inf
    elif newer or (same and hops < known_hops):
        settle(desk, row, sender, hops, sequence, now_s)
    elif row.due_s < np.inf:
        note_route(row)
    else:
        if same and news and row.news_next_hop == sender:
            row.news_heard_s = now_s
            follow(row, row.news_changed)
        elif same and not news and row.next_hop == sender:
            row.heard_s = now_s
        row.news = 0


@inner
def read_entry(desk: Any, rows: Any, at: int, sender: int, hops: int, sequence: int, now_s: float) -> bool:
    """Whether other rows than this one have news of losses now."""
    row = rows[at]
    if row.known:
        if sequence & 1:
            note_route(row)
            return read_loss(desk, rows, at, sender, sequence, now_s)
        read_route(desk, row, sender, hops, sequence, now_s)
    elif sequence & 1 == 0 and desk.known < desk.max_routes and not (row.lost and sequence <= row.lost_sequence):
        put_new(desk, row, sender, hops, sequence, now_s)
    return False
