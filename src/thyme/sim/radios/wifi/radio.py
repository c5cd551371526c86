"""The 802.11g radio as a scenario's radio: `Wifi` with its counters told as traffic and airtime."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from thyme.model.records import TrafficKind
from thyme.sim.radios.radio import RadioTotals
from thyme.sim.radios.wifi.ether import Wifi
from thyme.sim.radios.wifi.profiles import WifiOptions, profile_named
from thyme.sim.radios.wifi.state import ACK, BROADCAST, CTS, RTS, UNICAST
from thyme.world.mobility.movement import Movement

_SENT = (("broadcast", BROADCAST), ("unicast", UNICAST), ("ack", ACK), ("rts", RTS), ("cts", CTS))
_LOST = (("failed", "collision or noise"), ("deaf", "busy with another frame"), ("undetected", "preamble lost"))
_GIVEN_UP = (
    ("given_up_retries", "retry limit"),
    ("given_up_lifetime", "lifetime"),
    ("refused_queue_full", "queue full"),
)


class WifiRadio(Wifi):
    """A `Radio`."""

    def __init__(self, movement: Movement, profile: str, options: WifiOptions, seed: int) -> None:
        super().__init__(movement, profile_named(profile), options, seed)

    def traffic(self) -> list[RadioTotals]:
        count = self.counters
        none = [0] * len(count)
        rows = [
            RadioTotals(TrafficKind.PHY_SENT, name, count["frames"][:, kind].tolist(), count["bytes"][:, kind].tolist())
            for name, kind in _SENT
        ]
        rows.append(RadioTotals(TrafficKind.PHY_RECEIVED, "any", count["received"].tolist(), none))
        rows += [
            RadioTotals(TrafficKind.PHY_LOST, "any", count[column].tolist(), none, reason) for column, reason in _LOST
        ]
        rows.append(RadioTotals(TrafficKind.RETRANSMITTED, "unicast", count["retransmissions"].tolist(), none))
        rows += [
            RadioTotals(TrafficKind.GIVEN_UP, "any", count[column].tolist(), none, reason)
            for column, reason in _GIVEN_UP
        ]
        return rows

    def airtime_s(self) -> dict[str, Sequence[float]]:
        count = self.counters
        transmit, receive = count["tx_ns"] * 1e-9, count["rx_ns"] * 1e-9
        # The medium is sensed busy during receptions too; what remains is other nodes' undecodable energy.
        busy = np.maximum(0.0, count["sensed_ns"] * 1e-9 - receive)
        asleep = count["off_ns"] * 1e-9
        idle = np.maximum(0.0, self.now_s - transmit - receive - busy - asleep)
        states = {"transmit": transmit, "receive": receive, "busy": busy, "idle": idle, "sleep": asleep}
        return {state: seconds.tolist() for state, seconds in states.items()}
