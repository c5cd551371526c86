"""Frames on the air: how a transmission starts, and which receivers lock on to its preamble.

A transmission is three events, whatever the number of receivers: its start (receivers and overlaps), the decision about
its preamble `DETECTION_US` later at every receiver, and its arrival, when the last receiver has all of it. Each
receiver has its own times, by its propagation delay. A receiver decodes one frame at a time: within the detection
window the strongest preamble wins (ns-3's packet switch); once locked, it ignores other frames until the end, and a
transmitting node receives nothing. Any signal above the carrier sense threshold keeps the medium busy.
"""

from __future__ import annotations

from thyme.compiled import borrowing, prefetch_row
from thyme.sim.radios.wifi.access import take_idle_slots
from thyme.sim.radios.wifi.events import ARRIVED, DETECT, schedule
from thyme.sim.radios.wifi.interference import others_at, put_on_air, rivalled, stronger_follows
from thyme.sim.radios.wifi.positions import AHEAD, find_hearers
from thyme.sim.radios.wifi.state import BROADCAST, LOCKS, SAID_BITS, SENSED, Row, WifiTables
from thyme.sim.radios.wifi.timing import OFDM6, frame_ns


@borrowing
def transmit(e: WifiTables, n: int, kind: int, to: int, size_bytes: int, packet: int, nav: int, now: int) -> int:
    """Node n starts a transmission, whatever its state; returns when the frame ends."""
    scalars, node = e.scalars[0], e.node[n]
    take_idle_slots(e, n, now)
    mode = e.config[0].broadcast_mode if kind == BROADCAST else OFDM6
    length = frame_ns(mode, size_bytes)
    if node.lock >= 0:
        node.lock = -1
        node.rx_end = now
    node.rx_bad = 0
    node.tx_end = now + length
    f = scalars.free_frame
    me = e.frame[f]
    scalars.free_frame = me.next
    scalars.frames_left -= 1
    me.sender, me.to, me.kind, me.mode, me.cut = n, to, kind, mode, 0
    me.packet, me.bytes, me.nav = packet, size_bytes, nav
    me.token = e.packet[packet].token if packet >= 0 else -1
    me.start, me.length, me.overlaps, me.lockers = now, length, -1, 0
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
def sense(me: Row, begin: int, end: int) -> None:
    """The medium is busy at a node from `begin` to `end`."""
    me.sensed_ns += max(0, end - max(begin, me.busy_end))
    me.busy_end = max(me.busy_end, end)


@borrowing
def lock(e: WifiTables, n: int, f: int, arrival: int) -> None:
    """Node n starts to receive frame f."""
    me, length, detection = e.node[n], e.frame[f].length, e.config[0].detection
    take_idle_slots(e, n, arrival + detection)
    me.lock, me.lock_at = f, arrival
    me.rx_end, me.rx_bad = arrival + length, 0
    me.rx_ns += length - detection
    sense(me, arrival + detection, arrival + length)


@borrowing
def detect_among(e: WifiTables, f: int, k: int, n: int, arrival: int, rivals: bool) -> bool:
    """Whether receiver k, which is node n and free, locks on to frame f while other frames are on the air. Their summed
    power matters only if the receiver could not sense this frame alone, or must separate it from them."""
    config, power = e.config[0], e.power[k]
    noticed, until, others = arrival + config.detection, arrival + e.frame[f].length, 0.0
    if power < config.cca_mw or config.preamble_snr > 0.0:
        others, others_until = others_at(e, f, n, noticed)
        if power < config.cca_mw:
            until = min(until, others_until)
    if (
        power >= config.preamble_mw
        and not (rivals and stronger_follows(e, f, n, power, arrival))
        and power >= config.preamble_snr * (config.noise_mw + others)
    ):
        lock(e, n, f, arrival)
        return True
    if power + others >= config.cca_mw:
        take_idle_slots(e, n, noticed)
        sense(e.node[n], noticed, until)
        if power >= config.preamble_mw:
            e.tally[n].undetected += 1
    return False


@borrowing
def detect(e: WifiTables, f: int) -> None:
    """Every receiver has had the first microseconds of frame f: lock on to it, sense it, or miss it."""
    config, me = e.config[0], e.frame[f]
    alone, rivals = me.overlaps < 0, rivalled(e, f)
    start, length, detection = me.start, me.length, config.detection
    last, lockers = me.first + me.hearers, f * config.max_hearers
    for k in range(me.first, last):
        prefetch_row(e.node, e.hearer[min(k + AHEAD, last - 1)].node)
        said = e.hearer[k].said
        if alone and said & (LOCKS | SENSED) == 0:
            continue
        n = e.hearer[k].node
        hearer = e.node[n]
        if hearer.on == 0:
            continue
        arrival = start + (said >> SAID_BITS)
        if hearer.tx_end > arrival or hearer.rx_end > arrival:
            hearer.deaf += said & LOCKS
            if said & SENSED:
                sense(hearer, arrival + detection, arrival + length)
        elif not alone:
            if detect_among(e, f, k, n, arrival, rivals):
                e.locker[lockers] = k
                lockers += 1
        elif said & LOCKS and (config.preamble_snr == 0.0 or e.power[k] >= config.preamble_snr * config.noise_mw):
            lock(e, n, f, arrival)
            e.locker[lockers] = k
            lockers += 1
        elif said & SENSED:
            take_idle_slots(e, n, arrival + detection)
            sense(hearer, arrival + detection, arrival + length)
            if said & LOCKS:
                e.tally[n].undetected += 1
    me.lockers = lockers - f * config.max_hearers
