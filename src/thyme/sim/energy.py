"""Energy: what each radio state costs (802.11 currents at 3 V unless a scenario says otherwise)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from thyme.model.records import EnergyUsed
from thyme.sim.recorder import Recorder


class EnergyOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Current drawn in each state of a radio."""

    volts: float = 3.0
    """Voltage of the supply."""
    transmit_a: float = 0.38
    """Current while sending, in amperes."""
    receive_a: float = 0.313
    """Current while receiving."""
    busy_a: float = 0.273
    """Current while the medium is busy."""
    idle_a: float = 0.273
    """Current while the medium is idle."""
    sleep_a: float = 0.033
    """Current while switched off."""

    def watts(self, state: str) -> float:
        currents = {
            "transmit": self.transmit_a,
            "receive": self.receive_a,
            "busy": self.busy_a,
            "idle": self.idle_a,
            "sleep": self.sleep_a,
        }
        return self.volts * currents[state]


def record_energy(
    recorder: Recorder, end_s: float, seconds: Mapping[str, Sequence[float]], options: EnergyOptions
) -> None:
    """Write, per node and state, the time spent and the joules it took."""
    for state, per_node in seconds.items():
        watts = options.watts(state)
        for node, spent_s in enumerate(per_node):
            if spent_s > 0.0:
                recorder.record(end_s, node, EnergyUsed(state, spent_s * watts, round(spent_s * 1000.0)))
