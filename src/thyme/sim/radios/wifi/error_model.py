"""The chance that a stretch of a frame is decoded, given its signal to interference and noise ratio.

Three curves: the NIST upper bound for the BPSK 1/2 convolutional code (Pursley and Taipale's union bound with the
code's distance spectrum), which `p27` uses; our own fit to ns-3.44's table-driven model, made from the measured
reception ratios of `calib_prr_vs_distance.csv` (a polynomial in dB for the logarithm of the error rate per byte,
one for chunks under 400 bytes and one for longer ones, continued by its tangents); and DBPSK with an 11-chip spreading
gain for DSSS at 1 Mbit/s. A frame is a chain of chunks of constant interference: its chance is the product.
"""

from __future__ import annotations

import math

from thyme.compiled import borrowing
from thyme.sim.radios.wifi.timing import DSSS1

NIST, TABLE = 0, 1

SURE_SNR = 6.0  # 7.8 dB: from here on no curve loses one frame in 10^9
FIT_LONG_BYTES = 400.0
BITS_PER_NS = 6e-3  # at 6 Mbit/s


@borrowing
def nist_rate(snr: float) -> float:
    """The logarithm of the chance that one bit is decoded."""
    if snr >= SURE_SNR:
        return 0.0
    bit_error = 0.5 * math.erfc(math.sqrt(snr))
    d2 = 4.0 * bit_error * (1.0 - bit_error)
    d10 = d2 * d2 * d2 * d2 * d2
    series = 77433.0 + d2 * (502690.0 + d2 * (3322763.0 + d2 * (21292910.0 + d2 * 134365911.0)))
    series = 36.0 + d2 * (211.0 + d2 * (1404.0 + d2 * (11633.0 + d2 * series)))
    event = 0.5 * d10 * series
    return -math.inf if event >= 1.0 else math.log1p(-event)


@borrowing
def nist_success(snr: float, bits: float) -> float:
    return math.exp(bits * nist_rate(snr))


@borrowing
def table_success(snr: float, bits: float) -> float:
    if snr <= 0.0:
        return 0.0
    snr_db = 10.0 * math.log10(snr)
    size_bytes = bits / 8.0
    low_db, high_db = -1.1, 1.5
    constant, linear, square, cube = -6.6158, -2.7295, -0.3843, 0.1686
    if size_bytes >= FIT_LONG_BYTES:
        low_db, high_db = -0.8, 2.3
        constant, linear, square, cube = -6.8965, -2.5825, -0.2995, 0.0
    inside_db = min(max(snr_db, low_db), high_db)
    log_rate = constant + (linear + (square + cube * inside_db) * inside_db) * inside_db
    log_rate += (linear + (2.0 * square + 3.0 * cube * inside_db) * inside_db) * (snr_db - inside_db)
    return math.exp(-math.exp(log_rate) * size_bytes)


@borrowing
def dsss_success(snr: float, bits: float) -> float:
    bit_error = 0.5 * math.exp(-22.0 * snr)
    return math.exp(bits * math.log1p(-bit_error))


@borrowing
def chunk_success(model: int, mode: int, snr: float, length_ns: int) -> float:
    """The chance that `length_ns` of payload or header at a constant `snr` (a ratio) holds no error."""
    if length_ns <= 0 or snr >= SURE_SNR:
        return 1.0
    if mode == DSSS1:
        return dsss_success(snr, length_ns * 1e-3)
    bits = length_ns * BITS_PER_NS
    if model == NIST:
        return nist_success(snr, bits)
    return table_success(snr, bits)
