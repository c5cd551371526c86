"""What an 802.11g radio counted, over all nodes in one frozen record."""

from __future__ import annotations

import msgspec

from thyme.sim.radios.wifi.radio import WifiRadio
from thyme.sim.radios.wifi.state import ACK, BROADCAST, CTS, RTS, UNICAST


class WifiTotals(msgspec.Struct, frozen=True, kw_only=True):
    """Sums over all nodes. Bytes are PSDU bytes: MAC header and FCS included, PHY preamble not."""

    broadcast_frames: int
    unicast_frames: int
    ack_frames: int
    rts_frames: int
    cts_frames: int
    broadcast_bytes: int
    unicast_bytes: int
    ack_bytes: int
    rts_bytes: int
    cts_bytes: int
    unanswered_data: int  # data frames that no ACK came for
    unanswered_rts: int
    retransmissions: int
    given_up_retries: int
    given_up_lifetime: int
    refused_queue_full: int
    received: int  # frames decoded, for any receiver
    failed: int  # frames locked on to and lost to noise or a collision
    deaf: int  # frames that came while the node was sending or receiving another
    undetected: int  # preambles lost in interference
    duplicates: int
    airtime_s: float
    receiving_s: float
    sensed_s: float
    off_s: float

    @property
    def phy_tx_frames(self) -> int:
        return self.broadcast_frames + self.unicast_frames + self.ack_frames + self.rts_frames + self.cts_frames

    @property
    def phy_tx_bytes(self) -> int:
        return self.broadcast_bytes + self.unicast_bytes + self.ack_bytes + self.rts_bytes + self.cts_bytes


_KINDS = {"broadcast": BROADCAST, "unicast": UNICAST, "ack": ACK, "rts": RTS, "cts": CTS}
_PLAIN = (
    *(
        "unanswered_data",
        "unanswered_rts",
        "retransmissions",
        "given_up_retries",
        "given_up_lifetime",
        "refused_queue_full",
    ),
    *("received", "failed", "deaf", "undetected", "duplicates"),
)
_TIMES = {"airtime_s": "tx_ns", "receiving_s": "rx_ns", "sensed_s": "sensed_ns", "off_s": "off_ns"}


def totals_of(radio: WifiRadio) -> WifiTotals:
    count = radio.counters
    values: dict[str, float] = {}
    for name, kind in _KINDS.items():
        values[f"{name}_frames"] = int(count["frames"][:, kind].sum())
        values[f"{name}_bytes"] = int(count["bytes"][:, kind].sum())
    for name in _PLAIN:
        values[name] = int(count[name].sum())
    for name, column in _TIMES.items():
        values[name] = float(count[column].sum()) * 1e-9
    return msgspec.convert(values, WifiTotals)
