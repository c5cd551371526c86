"""Entry points of the compiled radio: run until there is something to report, enqueue, switch a node, find neighbours.

Each returns SHORT, with nothing changed, when a table may run out of rows; the caller enlarges the tables and calls
again. After the first report, `run` continues for `together` nanoseconds (about the longest propagation delay), so that
one stop covers all receivers of a frame. It does the same after a transmission that nobody subscribes to, so that stops
do not depend on subscribers.
"""

from __future__ import annotations

from thyme.compiled import borrowing, entry
from thyme.sim.radios.wifi.access import draw_backoff, forget_access, narrow_window
from thyme.sim.radios.wifi.air import detect
from thyme.sim.radios.wifi.events import (
    ACCESS,
    AFTER_CTS,
    ANSWER,
    ARRIVED,
    DETECT,
    NAV_RESET,
    SENT_OUT,
    WAITED,
    remove_first,
)
from thyme.sim.radios.wifi.exchange import (
    TELL_AT_ONCE,
    after_cts,
    answer,
    arrived,
    enqueue,
    look_at_medium,
    nav_reset,
    sent_out,
    waited,
)
from thyme.sim.radios.wifi.positions import bin_nodes, gather
from thyme.sim.radios.wifi.queues import DROPPED, finish_head
from thyme.sim.radios.wifi.randomness import seeded
from thyme.sim.radios.wifi.reception import prepare_bounds
from thyme.sim.radios.wifi.state import NEVER, NOTHING, WifiTables, opened

SHORT, OUT_OF_ORDER = -1, -2


@borrowing
def short_of_rows(e: WifiTables) -> bool:
    scalars, most = e.scalars[0], e.config[0].max_hearers
    return bool(
        scalars.frames_left < 1
        or scalars.packets_left < 1
        or scalars.overlaps_left < 2 * scalars.active + 2
        or len(e.event) - scalars.events < most + 8
        or len(e.report) - scalars.reports < most + TELL_AT_ONCE + 8
        or len(e.ended) - scalars.ended < most + 8
    )


@borrowing
def happen(e: WifiTables, kind: int, who: int, a: int, b: int, now: int) -> None:
    if kind == ACCESS:
        look_at_medium(e, who, a, now)
    elif kind == DETECT:
        detect(e, who)
    elif kind == ARRIVED:
        arrived(e, who)
    elif kind == SENT_OUT:
        sent_out(e, who, a, now)
    elif kind == WAITED:
        waited(e, who, a, now)
    elif kind == ANSWER:
        answer(e, who, a & 7, b, a >> 3, now)
    elif kind == AFTER_CTS:
        after_cts(e, who, a, now)
    elif kind == NAV_RESET:
        nav_reset(e, who, a, now)


@borrowing
def run_until(e: WifiTables, until: int) -> int:
    scalars = e.scalars[0]
    waiting = scalars.reports - scalars.reported
    if waiting > 0:
        for k in range(waiting):
            e.report[k] = e.report[scalars.reported + k]
        scalars.reports = scalars.reported = waiting
        return int(waiting)
    scalars.reports = scalars.reported = 0
    limit, ended = until, scalars.ended
    while scalars.events > 0 and e.event[0].at <= until:
        if e.event[0].at > limit:
            if scalars.reports > 0:
                break
            limit, ended = until, scalars.ended
        if short_of_rows(e):
            if scalars.reports > 0:
                break
            return SHORT
        top = e.event[0]
        at, kind, who, a, b = top.at, top.kind, top.who, top.a, top.b
        remove_first(e)
        scalars.now = at
        happen(e, kind, who, a, b, at)
        if limit == until and (scalars.reports > 0 or scalars.ended > ended):
            limit = min(until, at + e.config[0].together)
    if scalars.reports == 0:
        scalars.now = max(scalars.now, until)
    scalars.reported = scalars.reports
    return int(scalars.reports)


@borrowing
def enqueue_now(e: WifiTables, now: int, n: int, to: int, token: int, size_bytes: int, bulk: bool) -> int:
    scalars = e.scalars[0]
    # a stop may end two maximal delays after its first report; reactions use the time of the report
    if now < scalars.now - 2 * e.config[0].together or (scalars.events > 0 and e.event[0].at < now):
        return OUT_OF_ORDER
    if short_of_rows(e):
        return SHORT
    return 1 if enqueue(e, n, to, token, size_bytes, bulk, now) else 0


@borrowing
def switch_node(e: WifiTables, now: int, n: int, on: int) -> int:
    node, me, scalars = e.node[n], e.station[n], e.scalars[0]
    if len(e.report) - scalars.reports < me.queued + e.config[0].max_hearers + TELL_AT_ONCE + 8:
        return SHORT
    if node.on == on:
        return 0
    node.on = on
    if on != 0:
        e.tally[n].off_ns += now - me.off_since
        narrow_window(e, n)
        draw_backoff(e, n, now)
        return 0
    me.off_since = now
    node.tx_end = min(node.tx_end, now)
    for f in range(len(e.frame)):
        if e.frame[f].sender == n and e.frame[f].start + e.frame[f].length + e.frame[f].late >= now:
            e.frame[f].cut = 1
    node.lock, me.wait = -1, NOTHING
    me.wait_number += 1
    me.nav_end = min(me.nav_end, now)
    forget_access(e, n)
    while me.queued > 0:
        finish_head(e, n, DROPPED, now)
    return 0


@borrowing
def seed_nodes(e: WifiTables, seed: int) -> None:
    for n in range(len(e.node)):
        e.station[n].stream = seeded(seed, e.name[n])
        draw_backoff(e, n, 0)


@borrowing
def count_hearers(e: WifiTables) -> None:
    """Number of receivers of every node, if no node moves."""
    bin_nodes(e, 0)
    for n in range(len(e.node)):
        e.hearer_first[n + 1] = e.hearer_first[n] + gather(e, n, 0, 0, 0)


@borrowing
def write_hearers(e: WifiTables) -> None:
    for n in range(len(e.node)):
        gather(e, n, 0, e.hearer_first[n], e.hearer_first[n + 1] - e.hearer_first[n])


@borrowing
def put_heads(e: WifiTables) -> None:
    """Mark the ranges of reports that belong together."""
    heads = 0
    for k in range(e.scalars[0].reports):
        row = e.report[k]
        if k == 0 or row.frame != e.report[k - 1].frame or row.kind != e.report[k - 1].kind:
            head = e.head[heads]
            head.frame, head.peer, head.kind, head.node = row.frame, row.peer, row.kind, row.node
            head.begin, head.at_s = k, row.at_s
            heads += 1
        e.head[heads - 1].end = k + 1
    e.scalars[0].heads = heads


@borrowing
def note_due(e: WifiTables) -> None:
    """Time of the next event."""
    scalars = e.scalars[0]
    if scalars.reports > scalars.reported:
        scalars.due = -1
    else:
        scalars.due = e.event[0].at if scalars.events > 0 else NEVER


@entry
def run(addresses: int, until: int) -> int:
    e = opened(addresses)
    done = run_until(e, until)
    if done > 0:
        put_heads(e)
    note_due(e)
    return done


@entry
def queue(addresses: int, now: int, n: int, to: int, token: int, size_bytes: int, bulk: bool) -> int:
    e = opened(addresses)
    done = enqueue_now(e, now, e.number[n], e.number[to] if to >= 0 else to, token, size_bytes, bulk)
    note_due(e)
    return done


@entry
def switch(addresses: int, now: int, n: int, on: int) -> int:
    e = opened(addresses)
    done = switch_node(e, now, e.number[n], on)
    note_due(e)
    return done


@entry
def prepare(addresses: int, seed: int, write: bool) -> None:
    e = opened(addresses)
    if write:
        write_hearers(e)
    else:
        seed_nodes(e, seed)
        prepare_bounds(e)
        if e.config[0].static != 0:
            count_hearers(e)
