"""Alarms, compiled: a heap by (time, order), like the engine's and in one order with it.

An alarm that was cancelled stays in the heap and never rings; one that was set in an earlier life of its node rings and
nothing happens, as timers of the engine do.
"""

from __future__ import annotations

import numpy as np

from thyme.compiled import borrowing
from thyme.routing.dsdv.duties import SETTLE
from thyme.sim.updates.state import DUTIES, Updates


@borrowing
def earlier(u: Updates, left: int, right: int) -> bool:
    a, b = u.waiting[left], u.waiting[right]
    return bool(a.at_s < b.at_s or (a.at_s == b.at_s and a.order < b.order))


@borrowing
def place_of(node: int, duty: int) -> int:
    return node * DUTIES + (0 if duty == SETTLE else 1)


@borrowing
def cancel_alarm(u: Updates, node: int, duty: int) -> None:
    place = place_of(node, duty)
    if u.alarm_set[place] >= 0:
        u.alarm[u.alarm_set[place]].cancelled = 1
        u.alarm_set[place] = -1


@borrowing
def set_alarm(u: Updates, node: int, duty: int, at_s: float) -> None:
    """Let it ring then, and not when it was to ring before."""
    desk = u.desk[0]
    cancel_alarm(u, node, duty)
    k = desk.free_alarm
    row = u.alarm[k]
    desk.free_alarm = row.next
    desk.alarms_left -= 1
    row.node, row.duty, row.life, row.cancelled = node, duty, u.life[node], 0
    u.alarm_set[place_of(node, duty)] = k
    desk.order += 1
    place = desk.waiting
    desk.waiting += 1
    u.waiting[place].at_s, u.waiting[place].order, u.waiting[place].alarm = at_s, desk.order, k
    while place > 0:
        parent = (place - 1) >> 1
        if not earlier(u, place, parent):
            break
        swap(u, place, parent)
        place = parent


@borrowing
def swap(u: Updates, left: int, right: int) -> None:
    a, b = u.waiting[left], u.waiting[right]
    at_s, order, alarm = a.at_s, a.order, a.alarm
    a.at_s, a.order, a.alarm = b.at_s, b.order, b.alarm
    b.at_s, b.order, b.alarm = at_s, order, alarm


@borrowing
def remove_first(u: Updates) -> None:
    desk = u.desk[0]
    k = u.waiting[0].alarm
    u.alarm[k].next = desk.free_alarm
    desk.free_alarm = k
    desk.alarms_left += 1
    desk.waiting -= 1
    swap(u, 0, desk.waiting)
    place = 0
    while True:
        child = 2 * place + 1
        if child >= desk.waiting:
            break
        if child + 1 < desk.waiting and earlier(u, child + 1, child):
            child += 1
        if not earlier(u, child, place):
            break
        swap(u, child, place)
        place = child


@borrowing
def first_alarm_s(u: Updates) -> float:
    """When the next one rings; infinity if none does."""
    desk = u.desk[0]
    while desk.waiting > 0 and u.alarm[u.waiting[0].alarm].cancelled != 0:
        remove_first(u)
    return u.waiting[0].at_s if desk.waiting > 0 else np.inf
