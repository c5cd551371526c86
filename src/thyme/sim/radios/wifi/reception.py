"""Whether who locked on to a frame decodes it.

The chance is that of a chain of chunks of constant interference (`error_model`), which takes sums, roots and logarithms
for each. Most draws are decided without them: one is lost if it would be without interference, and won if it would be
though all that is heard came at once for the whole time. Both bounds are read from a table; what lies between them is
left to the chance itself.
"""

from __future__ import annotations

import math

from thyme.compiled import borrowing
from thyme.sim.radios.wifi.error_model import BITS_PER_NS, NIST, SURE_SNR, chunk_success, nist_rate
from thyme.sim.radios.wifi.interference import collect_steps, loudest
from thyme.sim.radios.wifi.positions import ROUNDING
from thyme.sim.radios.wifi.randomness import uniform
from thyme.sim.radios.wifi.state import BOUNDS, SURE, WifiTables
from thyme.sim.radios.wifi.timing import DSSS1, OFDM_HEADER_NS, OFDM_PREAMBLE_NS, header_ns, preamble_ns

LOST, HEADER, WHOLE = 0, 1, 2
"""What a node has of a frame that it locked on to."""


@borrowing
def prepare_bounds(e: WifiTables) -> None:
    """Fill the table of the NIST error curve."""
    for i in range(BOUNDS + 1):
        e.rate_bound[i] = nist_rate(i * (SURE_SNR / BOUNDS))
        e.header_bound[i] = math.exp((OFDM_HEADER_NS - OFDM_PREAMBLE_NS) * BITS_PER_NS * e.rate_bound[i])


@borrowing
def bound_below(snr: float) -> int:
    """The step that is at most `snr`."""
    return min(int(snr * (BOUNDS / SURE_SNR)), BOUNDS)


@borrowing
def span_success(e: WifiTables, f: int, k: int, begin: int, end: int) -> float:
    """The chance that hearer k decodes frame f from `begin` to `end`: the product over chunks of constant SINR."""
    config, mode, power = e.config[0], e.frame[f].mode, e.power[k]
    model = config.error_model
    steps = collect_steps(e, f, e.hearer[k].node, begin, end) if e.frame[f].overlaps >= 0 else 0
    chance, noise, since = 1.0, config.noise_mw, begin
    for step in range(steps):
        chance *= chunk_success(model, mode, power / noise, e.chunk[step].at - since)
        since = e.chunk[step].at
        noise = max(config.noise_mw, noise + e.chunk[step].change)
    return chance * chunk_success(model, mode, power / noise, end - since)


@borrowing
def has_header(e: WifiTables, f: int, k: int, arrival: int, draw: float) -> bool:
    mode = e.frame[f].mode
    return draw < span_success(e, f, k, arrival + preamble_ns(mode), arrival + header_ns(mode))


@borrowing
def has_payload(e: WifiTables, f: int, k: int, arrival: int, draw: float) -> bool:
    frame = e.frame[f]
    return draw < span_success(e, f, k, arrival + header_ns(frame.mode), arrival + frame.length)


@borrowing
def received(e: WifiTables, f: int, k: int, n: int, arrival: int) -> int:
    """What node n, which is hearer k, has of frame f; a draw for the header, another for the rest."""
    config, frame, power = e.config[0], e.frame[f], e.power[k]
    bounded = config.error_model == NIST and frame.mode != DSSS1
    draw = uniform(e.station, n)
    best = min(bound_below(power / config.noise_mw) + 1, BOUNDS)
    if bounded and draw > ROUNDING * e.header_bound[best]:
        return LOST
    noise = loudest(e, f, n, arrival)
    sure = e.hearer[k].said & SURE != 0 and power > ROUNDING * SURE_SNR * noise
    worst = bound_below(power / noise)
    likely = sure or (bounded and ROUNDING * draw < e.header_bound[worst])
    if not likely and not has_header(e, f, k, arrival, draw):
        return LOST
    if frame.cut != 0:
        return HEADER
    draw = uniform(e.station, n)
    if sure:
        return WHOLE
    if bounded:
        bits, lost = (frame.length - OFDM_HEADER_NS) * BITS_PER_NS, math.log(draw)
        if lost > bits * e.rate_bound[best] + (ROUNDING - 1.0):
            return HEADER
        if lost < bits * e.rate_bound[worst] - (ROUNDING - 1.0):
            return WHOLE
    return WHOLE if has_payload(e, f, k, arrival, draw) else HEADER
