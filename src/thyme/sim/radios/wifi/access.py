"""Channel access: DIFS, EIFS and a backoff that freezes (the DCF as in ns-3's channel access manager).

Nothing counts down. A node stores when its backoff may run (`backoff_from`), the slots left, and the end of everything
that keeps the medium busy; on every change, the idle slots that passed are subtracted first. A frame that finds the
medium idle and no backoff pending is sent after one DIFS; one that finds it busy draws a backoff; and every
transmission is followed by a backoff, whether or not another frame waits.
"""

from __future__ import annotations

from thyme.compiled import borrowing
from thyme.sim.radios.wifi.events import ACCESS, schedule
from thyme.sim.radios.wifi.randomness import below
from thyme.sim.radios.wifi.state import IDLE, NEVER, REQUESTED, WifiTables


@borrowing
def backoff_start(e: WifiTables, n: int, now: int) -> int:
    """When the backoff of node n may start or continue, as known at `now`."""
    node, me, config = e.node[n], e.station[n], e.config[0]
    free_from = node.rx_end
    if node.rx_bad != 0 and node.rx_end <= now:
        free_from += config.eifs_extra
    free_from = max(free_from, node.busy_end, node.tx_end, me.nav_end, me.wait_end)
    return int(max(me.backoff_from, free_from + config.difs))


@borrowing
def backoff_end(e: WifiTables, n: int, now: int) -> int:
    return int(backoff_start(e, n, now) + e.node[n].slots * e.config[0].slot)


@borrowing
def take_idle_slots(e: WifiTables, n: int, now: int) -> None:
    """Subtract the idle slots up to `now` from the backoff."""
    node, slot = e.node[n], e.config[0].slot
    slots = node.slots
    if slots == 0:
        return
    start = backoff_start(e, n, now)
    if start > now:
        return
    if now - start < slots * slot:
        slots = (now - start) // slot
    node.slots -= slots
    e.station[n].backoff_from = start + slots * slot


@borrowing
def draw_backoff(e: WifiTables, n: int, now: int) -> None:
    e.node[n].slots = below(e.station, n, e.station[n].cw + 1)
    e.station[n].backoff_from = now


@borrowing
def narrow_window(e: WifiTables, n: int) -> None:
    e.station[n].cw, e.station[n].failures = e.config[0].cw_min, 0


@borrowing
def widen_window(e: WifiTables, n: int) -> None:
    """After a failure. A node that failed `retry_limit` times in a row, whatever it sent, starts again with the
    smallest window."""
    me, config = e.station[n], e.config[0]
    if me.failures < config.retry_limit:
        me.failures += 1
        me.cw = min(2 * me.cw + 1, config.cw_max)
    else:
        narrow_window(e, n)


@borrowing
def medium_busy(e: WifiTables, n: int, now: int) -> bool:
    me = e.node[n]
    return bool(me.rx_end > now or me.tx_end > now or e.station[n].nav_end > now or me.busy_end > now)


@borrowing
def set_alarm(e: WifiTables, n: int, now: int) -> None:
    """Schedule node n's next check of the medium for the end of its backoff, as known now."""
    me = e.station[n]
    if me.access != REQUESTED:
        return
    due = max(now, backoff_end(e, n, now))
    if me.alarm <= due:
        return
    me.alarm = due
    me.alarm_number += 1
    schedule(e, due, ACCESS, n, me.alarm_number, 0)


@borrowing
def request_access(e: WifiTables, n: int, now: int) -> None:
    take_idle_slots(e, n, now)
    e.station[n].access = REQUESTED
    set_alarm(e, n, now)


@borrowing
def release_medium(e: WifiTables, n: int, now: int) -> None:
    """The exchange ended, in success or failure: back off, and request access if a packet waits."""
    me = e.station[n]
    me.access = IDLE
    draw_backoff(e, n, now)
    if me.queued > 0:
        request_access(e, n, now)


@borrowing
def forget_access(e: WifiTables, n: int) -> None:
    me = e.station[n]
    me.access = IDLE
    me.alarm = NEVER
    me.alarm_number += 1
