"""Frames on the air: how one leaves its sender and which hearers lock on to its preamble.

A transmission is three events however many hear it: its start (who will hear it, what it overlaps), the decision
about its preamble `detection_us` later at every hearer, and its arrival, when the last hearer has it all. Each hearer
keeps its own times, by its propagation delay. A hearer decodes one frame at a time: within the detection window the
strongest preamble wins (ns-3's packet switch); once locked, it is deaf to others until the frame ends, and a node
that transmits is deaf altogether. Whatever reaches the carrier sense threshold keeps the medium busy.
"""

from __future__ import annotations

from thyme.compiled import borrowing
from thyme.sim.radios.wifi.access import take_idle_slots
from thyme.sim.radios.wifi.events import ARRIVED, DETECT, schedule
from thyme.sim.radios.wifi.interference import others_at, put_on_air, stronger_follows
from thyme.sim.radios.wifi.places import bin_nodes, gather, locate
from thyme.sim.radios.wifi.state import BROADCAST, Ether
from thyme.sim.radios.wifi.timing import OFDM6, frame_ns


@borrowing
def find_hearers(e: Ether, f: int, now: int) -> None:
    """Who may sense frame f, nearest delays included."""
    me, n = e.frame[f], e.frame[f].sender
    if e.config[0].static != 0:
        me.first = e.hearer_first[n]
        me.hearers = e.hearer_first[n + 1] - e.hearer_first[n]
    else:
        if now > e.desk[0].grid_until:
            bin_nodes(e, now)
        locate(e, n, now)
        me.first = f * e.config[0].max_hearers
        me.hearers = gather(e, n, now, me.first, e.config[0].max_hearers)
    me.x, me.y = e.node[n].x, e.node[n].y
    late = 0
    for k in range(me.first, me.first + me.hearers):
        late = max(late, e.hearer[k].delay)
    me.late = late


@borrowing
def transmit(e: Ether, n: int, kind: int, to: int, size_bytes: int, packet: int, nav: int, now: int) -> int:
    """Node n starts a frame now, whatever else it was doing; returns when the frame ends."""
    desk, node = e.desk[0], e.node[n]
    take_idle_slots(e, n, now)
    mode = e.config[0].broadcast_mode if kind == BROADCAST else OFDM6
    length = frame_ns(mode, size_bytes)
    if node.lock >= 0:
        node.lock = -1
        node.rx_end = now
    node.rx_bad = 0
    node.tx_end = now + length
    f = desk.free_frame
    me = e.frame[f]
    desk.free_frame = me.next
    desk.frames_left -= 1
    me.sender, me.to, me.kind, me.mode, me.cut = n, to, kind, mode, 0
    me.packet, me.bytes, me.nav = packet, size_bytes, nav
    me.token = e.packet[packet].token if packet >= 0 else -1
    me.start, me.length, me.overlaps = now, length, -1
    find_hearers(e, f, now)
    put_on_air(e, f)
    if me.hearers > 0:
        schedule(e, now + e.config[0].detection, DETECT, f, 0, 0)
    schedule(e, now + length + me.late, ARRIVED, f, 0, 0)
    count = e.tally[n]
    count.frames[kind] += 1
    count.bytes[kind] += size_bytes
    count.tx_ns += length
    return int(now + length)


@borrowing
def sense(e: Ether, n: int, begin: int, end: int) -> None:
    """The medium is busy at node n from `begin` to `end`."""
    me = e.node[n]
    e.tally[n].sensed_ns += max(0, end - max(begin, me.sensed_end))
    me.sensed_end = max(me.sensed_end, end)


@borrowing
def detect(e: Ether, f: int) -> None:
    """Every hearer has had the first microseconds of frame f: lock, sense or miss it."""
    config, me = e.config[0], e.frame[f]
    for k in range(me.first, me.first + me.hearers):
        n, power = e.hearer[k].node, e.hearer[k].power
        hearer = e.node[n]
        if hearer.on == 0:
            continue
        arrival = me.start + e.hearer[k].delay
        noticed, end = arrival + config.detection, arrival + me.length
        if hearer.tx_end > arrival or hearer.rx_end > arrival:
            if power >= config.preamble_mw:
                e.tally[n].deaf += 1
            if power >= config.cca_mw:
                hearer.busy_end = max(hearer.busy_end, end)
                sense(e, n, noticed, end)
            continue
        locked = power >= config.preamble_mw
        total, until = power, end
        if me.overlaps >= 0:
            others, others_until = others_at(e, f, n, noticed)
            total += others
            if power < config.cca_mw:
                until = min(end, others_until)
            if locked and stronger_follows(e, f, n, power, arrival):
                locked = False
            if locked and power < config.preamble_snr * (config.noise_mw + others):
                locked = False
        elif locked and power < config.preamble_snr * config.noise_mw:
            locked = False
        if locked:
            take_idle_slots(e, n, noticed)
            hearer.lock, hearer.lock_power, hearer.lock_at = f, power, arrival
            hearer.rx_end, hearer.rx_bad = end, 0
            hearer.busy_end = max(hearer.busy_end, end)
            e.tally[n].rx_ns += me.length - config.detection
            sense(e, n, noticed, end)
        elif total >= config.cca_mw:
            take_idle_slots(e, n, noticed)
            hearer.busy_end = max(hearer.busy_end, until)
            sense(e, n, noticed, until)
            if power >= config.preamble_mw:
                e.tally[n].undetected += 1
