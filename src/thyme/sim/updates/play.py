"""Playing updates, compiled: the radio and the alarms of DSDV run by themselves until something is to be done that only
Python knows of: an action of the engine, or a frame that is told there."""

from __future__ import annotations

import numpy as np

from thyme.compiled import borrowing, entry, inner
from thyme.routing.dsdv.duties import SETTLE
from thyme.routing.dsdv.rows import opened as table_opened
from thyme.routing.dsdv.writing import settle_next, tell_news
from thyme.sim.radios.wifi.book import opened as radio_opened
from thyme.sim.radios.wifi.kernel import SHORT, note_due, put_heads, run_until
from thyme.sim.radios.wifi.state import Ether
from thyme.sim.stops import END, GO, ROOM, STEP
from thyme.sim.updates.alarms import cancel_alarm, first_alarm_s, place_of, remove_first, set_alarm
from thyme.sim.updates.sending import forget_ended, nanoseconds, put_out, send_out
from thyme.sim.updates.state import Updates, opened
from thyme.sim.updates.telling import tell_next

PIECES = 64
"""More frames than one update ever makes."""


@inner
def settle_on(u: Updates) -> None:
    """End what has settled at a node: one frame at a time, since what ends later may depend on what was told."""
    desk, node = u.desk[0], u.desk[0].settling
    tables, rows = table_opened(u.table[node])
    table, clock_s = tables[0], desk.now_s + u.skew_s[node]
    size = settle_next(table, rows, table.sequence, clock_s)
    if size > 0:
        put_out(u, node, size)
        if table.due_s <= clock_s:
            return
    desk.settling = -1
    if table.settled_s < np.inf:
        set_alarm(u, node, SETTLE, desk.now_s + (table.settled_s - clock_s))


@inner
def ring(u: Updates) -> None:
    """The first alarm rings."""
    desk, first = u.desk[0], u.waiting[0]
    alarm = u.alarm[first.alarm]
    node, duty, alive = alarm.node, alarm.duty, alarm.life == u.life[alarm.node]
    desk.now_s = max(desk.now_s, first.at_s)
    desk.actions += 1
    remove_first(u)
    if not alive:
        return
    u.alarm_set[place_of(node, duty)] = -1
    if duty == SETTLE:
        desk.settling = node
        return
    tables, rows = table_opened(u.table[node])
    size = tell_news(tables[0], rows, tables[0].sequence)
    if size > 0:
        put_out(u, node, size)


@borrowing
def go_on(u: Updates, e: Ether, next_s: float, next_order: int, until_s: float) -> int:
    """Do what is next, up to the engine's next action."""
    desk = u.desk[0]
    if desk.out_first >= 0:
        return send_out(u, e)
    if desk.frames_left < PIECES or desk.alarms_left < 1 or desk.waiting >= len(u.waiting):
        return ROOM
    if desk.settling >= 0:
        settle_on(u)
        return GO
    if desk.head < e.desk[0].heads:
        return tell_next(u, e)
    desk.now_s = max(desk.now_s, e.desk[0].ended_s)
    forget_ended(u)
    ring_s = first_alarm_s(u)
    rings = ring_s < next_s or (ring_s == next_s and desk.waiting > 0 and u.waiting[0].order < next_order)
    due_s = ring_s if rings else next_s
    done = run_until(e, nanoseconds(min(due_s, until_s)))
    desk.head = desk.row = e.desk[0].heads = 0
    if done == SHORT:
        return ROOM
    if done > 0:
        put_heads(e)
        return GO
    if due_s > until_s:
        return END
    if not rings:
        return STEP
    ring(u)
    return GO


@entry
def play(book: int, next_s: float, next_order: int, until_s: float) -> int:
    """What is next for Python to do (`stops`)."""
    u = opened(book)
    e = radio_opened(u.desk[0].radio)
    done = GO
    while done == GO:
        done = go_on(u, e, next_s, next_order, until_s)
    note_due(e)
    return done


@entry
def keep_alarm(book: int, node: int, duty: int, at_s: float) -> None:
    """Set an alarm of one node, or cancel it if it is never to ring."""
    u = opened(book)
    if at_s < np.inf:
        set_alarm(u, node, duty, at_s)
    else:
        cancel_alarm(u, node, duty)
