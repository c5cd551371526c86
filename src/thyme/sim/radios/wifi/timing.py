"""How long frames last on the air, in nanoseconds (IEEE 802.11-2016 §16, §17 and §18).

ERP-OFDM at 6 Mbit/s: 16 µs preamble, 4 µs SIGNAL, 4 µs symbols of 24 bits that carry 16 service bits, the PSDU and
6 tail bits, then 6 µs of signal extension. DSSS at 1 Mbit/s: 192 µs long preamble and header, then 1 µs a bit.
"""

from __future__ import annotations

from thyme.compiled import borrowing

OFDM6, DSSS1 = 0, 1

OFDM_PREAMBLE_NS, OFDM_HEADER_NS = 16_000, 20_000
DSSS_PREAMBLE_NS, DSSS_HEADER_NS = 144_000, 192_000
ACK_BYTES, CTS_BYTES, RTS_BYTES = 14, 14, 20
SHORT_NS = 50_000  # an ACK or a CTS at 6 Mbit/s
DSSS_ACK_NS = 304_000  # what EIFS allows for: an ACK at the lowest rate
LIGHT_M_PER_NS = 0.299792458


@borrowing
def frame_ns(mode: int, psdu_bytes: int) -> int:
    """The whole PPDU: preamble, header, payload and extension."""
    if mode == DSSS1:
        return DSSS_HEADER_NS + psdu_bytes * 8_000
    symbols = (16 + 8 * psdu_bytes + 6 + 23) // 24
    return OFDM_HEADER_NS + symbols * 4_000 + 6_000


@borrowing
def preamble_ns(mode: int) -> int:
    return DSSS_PREAMBLE_NS if mode == DSSS1 else OFDM_PREAMBLE_NS


@borrowing
def header_ns(mode: int) -> int:
    """Duration of preamble and header."""
    return DSSS_HEADER_NS if mode == DSSS1 else OFDM_HEADER_NS
