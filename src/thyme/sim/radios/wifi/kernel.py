"""The entry points of the compiled radio: run until somebody must be told something, enqueue, switch, look around.

Each returns SHORT when a table may run out of rows; nothing has been done then, and the caller gives the tables more
room and calls again. `run` goes on for `together` nanoseconds (about the longest propagation delay) after the first
thing to be told, so that all hearers of one frame are told in one stop; and likewise after a frame was sent of which
nobody is told, so that stops are where they would be if somebody were.
"""

from __future__ import annotations

from thyme.compiled import borrowing, entry
from thyme.sim.radios.wifi.access import draw_backoff, forget_access, narrow_window
from thyme.sim.radios.wifi.air import detect
from thyme.sim.radios.wifi.book import opened
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
from thyme.sim.radios.wifi.places import bin_nodes, gather
from thyme.sim.radios.wifi.queues import DROPPED, finish_head
from thyme.sim.radios.wifi.randomness import seeded
from thyme.sim.radios.wifi.reception import prepare_bounds
from thyme.sim.radios.wifi.state import NEVER, NOTHING, Ether

SHORT, OUT_OF_ORDER = -1, -2


@borrowing
def short_of_rows(e: Ether) -> bool:
    desk, most = e.desk[0], e.config[0].max_hearers
    return bool(
        desk.frames_left < 1
        or desk.packets_left < 1
        or desk.overlaps_left < 2 * desk.active + 2
        or len(e.event) - desk.events < most + 8
        or len(e.told) - desk.told < most + TELL_AT_ONCE + 8
        or len(e.ended) - desk.ended < most + 8
    )


@borrowing
def happen(e: Ether, kind: int, who: int, a: int, b: int, now: int) -> None:
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
def run_until(e: Ether, until: int) -> int:
    desk = e.desk[0]
    waiting = desk.told - desk.reported
    if waiting > 0:
        for k in range(waiting):
            e.told[k] = e.told[desk.reported + k]
        desk.told = desk.reported = waiting
        return int(waiting)
    desk.told = desk.reported = 0
    limit, ended = until, desk.ended
    while desk.events > 0 and e.event[0].at <= until:
        if e.event[0].at > limit:
            if desk.told > 0:
                break
            limit, ended = until, desk.ended
        if short_of_rows(e):
            if desk.told > 0:
                break
            return SHORT
        top = e.event[0]
        at, kind, who, a, b = top.at, top.kind, top.who, top.a, top.b
        remove_first(e)
        desk.now = at
        happen(e, kind, who, a, b, at)
        if limit == until and (desk.told > 0 or desk.ended > ended):
            limit = min(until, at + e.config[0].together)
    if desk.told == 0:
        desk.now = max(desk.now, until)
    desk.reported = desk.told
    return int(desk.told)


@borrowing
def enqueue_now(e: Ether, now: int, n: int, to: int, token: int, size_bytes: int) -> int:
    desk = e.desk[0]
    # a stop may end twice the longest delay after the first thing it tells, and reactions are dated by what was told
    if now < desk.now - 2 * e.config[0].together or (desk.events > 0 and e.event[0].at < now):
        return OUT_OF_ORDER
    if short_of_rows(e):
        return SHORT
    return 1 if enqueue(e, n, to, token, size_bytes, now) else 0


@borrowing
def switch_node(e: Ether, now: int, n: int, on: int) -> int:
    node, me, desk = e.node[n], e.station[n], e.desk[0]
    if len(e.told) - desk.told < me.queued + e.config[0].max_hearers + TELL_AT_ONCE + 8:
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
def seed_nodes(e: Ether, seed: int) -> None:
    for n in range(len(e.node)):
        e.station[n].stream = seeded(seed, e.name[n])
        draw_backoff(e, n, 0)


@borrowing
def count_hearers(e: Ether) -> None:
    """How many hear every node, for a world in which nobody moves."""
    bin_nodes(e, 0)
    for n in range(len(e.node)):
        e.hearer_first[n + 1] = e.hearer_first[n] + gather(e, n, 0, 0, 0)


@borrowing
def write_hearers(e: Ether) -> None:
    for n in range(len(e.node)):
        gather(e, n, 0, e.hearer_first[n], e.hearer_first[n + 1] - e.hearer_first[n])


@borrowing
def put_heads(e: Ether) -> None:
    """Say which rows of what is told belong together."""
    heads = 0
    for k in range(e.desk[0].told):
        row = e.told[k]
        if k == 0 or row.frame != e.told[k - 1].frame or row.kind != e.told[k - 1].kind:
            head = e.head[heads]
            head.frame, head.peer, head.kind, head.node = row.frame, row.peer, row.kind, row.node
            head.begin, head.at_s = k, row.at_s
            heads += 1
        e.head[heads - 1].end = k + 1
    e.desk[0].heads = heads


@borrowing
def note_due(e: Ether) -> None:
    """When there is something to run for."""
    desk = e.desk[0]
    if desk.told > desk.reported:
        desk.due = -1
    else:
        desk.due = e.event[0].at if desk.events > 0 else NEVER


@entry
def run(book: int, until: int) -> int:
    e = opened(book)
    done = run_until(e, until)
    if done > 0:
        put_heads(e)
    note_due(e)
    return done


@entry
def queue(book: int, now: int, n: int, to: int, token: int, size_bytes: int) -> int:
    e = opened(book)
    done = enqueue_now(e, now, e.number[n], e.number[to] if to >= 0 else to, token, size_bytes)
    note_due(e)
    return done


@entry
def switch(book: int, now: int, n: int, on: int) -> int:
    e = opened(book)
    done = switch_node(e, now, e.number[n], on)
    note_due(e)
    return done


@entry
def prepare(book: int, seed: int, write: bool) -> None:
    e = opened(book)
    if write:
        write_hearers(e)
    else:
        seed_nodes(e, seed)
        prepare_bounds(e)
        if e.config[0].static != 0:
            count_hearers(e)
