"""Frame exchanges: data and its acknowledgement, RTS and CTS, retries, the NAV (IEEE 802.11-2016 §10.3).

A response follows one SIFS after its frame, without channel access. A node that waits for a response times out one slot
and a PHY header after it was due, unless it is receiving a frame by then: that frame decides.
"""

from __future__ import annotations

from thyme.compiled import borrowing, prefetch_row
from thyme.sim.radios.wifi.access import (
    backoff_end,
    draw_backoff,
    medium_busy,
    narrow_window,
    release_medium,
    request_access,
    set_alarm,
    take_idle_slots,
    widen_window,
)
from thyme.sim.radios.wifi.air import transmit
from thyme.sim.radios.wifi.events import AFTER_CTS, ANSWER, NAV_RESET, SENT_OUT, WAITED, schedule
from thyme.sim.radios.wifi.interference import take_off_air
from thyme.sim.radios.wifi.positions import AHEAD
from thyme.sim.radios.wifi.queues import GIVEN_UP, RECEIVED, SENT, append_packet, drop_expired, finish_head, tell
from thyme.sim.radios.wifi.reception import HEADER, WHOLE, received
from thyme.sim.radios.wifi.state import (
    ACK,
    BROADCAST,
    CTS,
    GRANTED,
    IDLE,
    NEVER,
    NOTHING,
    REQUESTED,
    RTS,
    UNICAST,
    WAIT_ACK,
    WAIT_CTS,
    WifiTables,
)
from thyme.sim.radios.wifi.timing import ACK_BYTES, CTS_BYTES, OFDM6, OFDM_HEADER_NS, RTS_BYTES, SHORT_NS, frame_ns

TELL_AT_ONCE = 64  # most expired packets reported by one access to a queue; the next access continues


@borrowing
def await_answer(e: WifiTables, n: int, what: int, sent: int) -> None:
    me, config = e.station[n], e.config[0]
    me.wait = what
    me.wait_number += 1
    me.wait_end = sent + config.sifs + config.slot + OFDM_HEADER_NS
    schedule(e, me.wait_end, WAITED, n, me.wait_number, 0)


@borrowing
def send_data(e: WifiTables, n: int, now: int) -> None:
    """Transmit the packet at the head of node n's queue."""
    k = e.station[n].head
    row = e.packet[k]
    if row.to < 0:
        end = transmit(e, n, BROADCAST, row.to, row.bytes, k, 0, now)
        e.station[n].wait_number += 1
        schedule(e, end, SENT_OUT, n, e.station[n].wait_number, 0)
        return
    if row.tries > 0:
        e.tally[n].retransmissions += 1
    end = transmit(e, n, UNICAST, row.to, row.bytes, k, e.config[0].sifs + SHORT_NS, now)
    await_answer(e, n, WAIT_ACK, end)


@borrowing
def begin_exchange(e: WifiTables, n: int, now: int) -> None:
    """Node n won the medium: send its first packet, after an RTS if it is long."""
    drop_expired(e, n, now, TELL_AT_ONCE)
    me, config = e.station[n], e.config[0]
    if me.queued == 0:
        release_medium(e, n, now)
        return
    me.access = GRANTED
    row = e.packet[me.head]
    if row.to < 0 or row.bytes <= config.rts_bytes:
        send_data(e, n, now)
        return
    nav = 3 * config.sifs + 2 * SHORT_NS + frame_ns(OFDM6, row.bytes)
    end = transmit(e, n, RTS, row.to, RTS_BYTES, -1, nav, now)
    await_answer(e, n, WAIT_CTS, end)


@borrowing
def look_at_medium(e: WifiTables, n: int, number: int, now: int) -> None:
    """The alarm of node n: its backoff may be over."""
    me = e.station[n]
    if number != me.alarm_number or me.access != REQUESTED:
        return
    me.alarm = NEVER
    take_idle_slots(e, n, now)
    if backoff_end(e, n, now) <= now:
        begin_exchange(e, n, now)
    else:
        set_alarm(e, n, now)


@borrowing
def try_failed(e: WifiTables, n: int, now: int) -> None:
    """No response came: count the failure, widen the window, give up or retry."""
    me, config = e.station[n], e.config[0]
    if me.wait == WAIT_ACK:
        e.tally[n].unanswered_data += 1
    else:
        e.tally[n].unanswered_rts += 1
    me.wait = NOTHING
    me.wait_number += 1
    row = e.packet[me.head]
    row.tries += 1
    if row.tries >= config.retry_limit:
        e.tally[n].given_up_retries += 1
        finish_head(e, n, GIVEN_UP, now)
    widen_window(e, n)
    release_medium(e, n, now)


@borrowing
def waited(e: WifiTables, n: int, number: int, now: int) -> None:
    me, node = e.station[n], e.node[n]
    if number != me.wait_number or me.wait == NOTHING:
        return
    if node.lock >= 0 and node.lock_at + OFDM_HEADER_NS <= now:
        return
    try_failed(e, n, now)


@borrowing
def after_cts(e: WifiTables, n: int, number: int, now: int) -> None:
    if number == e.station[n].wait_number:
        send_data(e, n, now)


@borrowing
def answer(e: WifiTables, n: int, kind: int, to: int, nav: int, now: int) -> None:
    if e.node[n].on != 0 and e.node[n].tx_end <= now:
        transmit(e, n, kind, to, ACK_BYTES if kind == ACK else CTS_BYTES, -1, nav, now)


@borrowing
def obey_nav(e: WifiTables, n: int, f: int, end: int) -> None:
    """A frame for another node reserves the medium."""
    me, frame, config = e.station[n], e.frame[f], e.config[0]
    if frame.nav == 0:
        return
    take_idle_slots(e, n, end)
    if end + frame.nav > me.nav_end:
        me.nav_end = end + frame.nav
        if frame.kind == RTS:
            me.nav_set = end
            reset = end + 2 * config.sifs + SHORT_NS + OFDM_HEADER_NS + 2 * config.slot
            schedule(e, reset, NAV_RESET, n, end, 0)


@borrowing
def nav_reset(e: WifiTables, n: int, since: int, now: int) -> None:
    """The exchange that an RTS announced did not start: the medium is free again."""
    me = e.station[n]
    heard = e.node[n].lock_at + OFDM_HEADER_NS
    if me.nav_set != since or since < heard <= now:
        return
    me.nav_end = min(me.nav_end, now)
    set_alarm(e, n, now)


@borrowing
def decoded(e: WifiTables, n: int, f: int, end: int) -> None:
    """Node n received frame f without error."""
    me, frame, config = e.station[n], e.frame[f], e.config[0]
    me.received += 1
    if frame.kind == BROADCAST:
        tell(e, end, RECEIVED, n, frame.sender, frame.token)
    elif frame.to != n:
        obey_nav(e, n, f, end)
    elif frame.kind == UNICAST:
        schedule(e, end + config.sifs, ANSWER, n, ACK, frame.sender)
        if e.packet[frame.packet].heard != 0:
            e.tally[n].duplicates += 1
        else:
            e.packet[frame.packet].heard = 1
            tell(e, end, RECEIVED, n, frame.sender, frame.token)
    elif frame.kind == RTS:
        if me.nav_end <= end:
            schedule(e, end + config.sifs, ANSWER, n, CTS + 8 * (frame.nav - config.sifs - SHORT_NS), frame.sender)
    elif frame.kind == CTS and me.wait == WAIT_CTS:
        me.wait, me.wait_end = NOTHING, end
        me.wait_number += 1
        schedule(e, end + config.sifs, AFTER_CTS, n, me.wait_number, 0)
    elif frame.kind == ACK and me.wait == WAIT_ACK:
        me.wait, me.wait_end = NOTHING, end
        me.wait_number += 1
        narrow_window(e, n)
        finish_head(e, n, SENT, end)
        release_medium(e, n, end)


@borrowing
def decide(e: WifiTables, f: int, k: int, n: int) -> None:
    """Node n, which is receiver k, locked on to frame f and now has all of it: decide whether it decodes it."""
    node, me, frame = e.node[n], e.station[n], e.frame[f]
    node.lock = -1
    waiting, end = me.wait, node.lock_at + frame.length
    has = received(e, f, k, n, node.lock_at)
    if has == WHOLE:
        decoded(e, n, f, end)
    else:
        me.failed += 1
        node.rx_bad = 1 if has == HEADER else 0
    if waiting != NOTHING and me.wait == waiting:
        try_failed(e, n, end)


@borrowing
def arrived(e: WifiTables, f: int) -> None:
    """The last receiver has all of frame f: decide for every locked receiver whether it decodes it."""
    first = f * e.config[0].max_hearers
    last = first + e.frame[f].lockers
    for place in range(first, last):
        ahead = e.hearer[e.locker[min(place + AHEAD, last - 1)]].node
        prefetch_row(e.node, ahead)
        prefetch_row(e.station, ahead)
        k = e.locker[place]
        if e.node[e.hearer[k].node].lock == f:
            decide(e, f, k, e.hearer[k].node)
    take_off_air(e, f)


@borrowing
def sent_out(e: WifiTables, n: int, number: int, now: int) -> None:
    """A broadcast has left the air."""
    if number != e.station[n].wait_number:
        return
    finish_head(e, n, SENT, now)
    release_medium(e, n, now)


@borrowing
def enqueue(e: WifiTables, n: int, to: int, token: int, size_bytes: int, bulk: bool, now: int) -> bool:
    """Queue a frame of a protocol; False if the queue is full."""
    me, config = e.station[n], e.config[0]
    if me.access != GRANTED:
        drop_expired(e, n, now, TELL_AT_ONCE)
    if e.node[n].on == 0:
        return False
    if me.queued >= (config.queue_max // 2 if bulk else config.queue_max):
        e.tally[n].refused_queue_full += 1
        return False
    first = me.queued == 0
    append_packet(e, n, to, token, size_bytes, bulk, now)
    if me.access != IDLE:
        return True
    take_idle_slots(e, n, now)
    if first and e.node[n].slots == 0:
        if medium_busy(e, n, now):
            draw_backoff(e, n, now)
        else:
            me.backoff_from = now + config.difs
    request_access(e, n, now)
    return True
