"""A model of what devices spend (Thyme FGCS §10.3.3), from what their meters counted. Nothing here was measured on a
battery.

Above its standby current, a device spends on three things: its CPU while it computes, its radio while it is awake
instead of saving power, and every frame that it sends or receives. The radio's currents are the simulator's
(`sim.energy`); the standby current and the battery are the paper's own measurements.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from thyme.live.emulation.area import MediumOptions
from thyme.live.emulation.meter import ISSUING, MAINTAINING, PROCESSING, Account, WorkCount
from thyme.papers.thyme.devices.runs import OPERATIONS, DeviceRun
from thyme.sim.energy import EnergyOptions

MINUTE_S = 60.0
PACE_S = 0.2
"""What an operation takes in the paper, about, and so how often one follows the other; ours are faster."""
ACK_BYTES = 80
"""Every unicast is answered by an acknowledgement of the link."""


class EnergyModel(msgspec.Struct, frozen=True):
    radio: EnergyOptions = EnergyOptions()
    channel: MediumOptions = MediumOptions(rate_mbps=54.0, passes=1)
    """As each device sees it: a frame is sent once, or received once."""
    processor_w: float = 2.0
    """A busy core of a tablet, above its rest. Seconds of this machine's processor are taken as they are."""
    standby_w: float = 61.0 / MINUTE_S
    """The paper's: 61 J in a minute, connected to the access point and nothing else."""

    @property
    def awake_w(self) -> float:
        return self.radio.watts("idle") - self.radio.watts("sleep")


class Spent(msgspec.Struct, frozen=True):
    """Joules by purpose."""

    processor: float = 0.0
    awake: float = 0.0
    frames: float = 0.0

    @property
    def total(self) -> float:
        return self.processor + self.awake + self.frames

    @property
    def busy(self) -> float:
        """Without waiting: the rest if the radio is awake anyway."""
        return self.processor + self.frames

    def times(self, factor: float) -> Spent:
        return Spent(self.processor * factor, self.awake * factor, self.frames * factor)


def spent_on(tally: WorkCount, model: EnergyModel) -> Spent:
    radio, channel = model.radio, model.channel
    sent_s = tally.sent * channel.frame_s + _bytes_s(tally.sent_bytes + ACK_BYTES * tally.received, model)
    heard_s = tally.received * channel.frame_s + _bytes_s(tally.received_bytes + ACK_BYTES * tally.sent, model)
    idle_w = radio.watts("idle")
    frames = sent_s * (radio.watts("transmit") - idle_w) + heard_s * (radio.watts("receive") - idle_w)
    return Spent(tally.cpu_s * model.processor_w, tally.awake_s * model.awake_w, frames)


def _bytes_s(size_bytes: int, model: EnergyModel) -> float:
    return 8.0 * size_bytes / (model.channel.rate_mbps * 1e6)


def whole_tallies(account: Account) -> dict[str, WorkCount]:
    """With the processor's time outside of handlers shared among purposes, by the frames of each."""
    tallies = account.tallies
    left_s = max(0.0, account.cpu_s - sum(tally.cpu_s for tally in tallies.values()))
    frames = sum(tally.sent + tally.received for tally in tallies.values()) or 1
    whole = {}
    for name, tally in tallies.items():
        share = (tally.sent + tally.received) / frames
        whole[name] = msgspec.structs.replace(tally, cpu_s=tally.cpu_s + left_s * share)
    return whole


def each(runs: Iterable[DeviceRun], role: str, kind: str, model: EnergyModel) -> Spent | None:
    """What one operation of a kind costs in a role, on average over all devices of all runs."""
    sum_of = WorkCount()
    for run in runs:
        for account in run.played.used.values():
            if (tally := whole_tallies(account).get(f"{role}/{kind}")) is not None:
                sum_of.add(tally)
    return spent_on(sum_of, model).times(1.0 / sum_of.count) if sum_of.count else None


def running(runs: Iterable[DeviceRun], model: EnergyModel) -> Spent:
    """Cost of an idle minute above standby."""
    sum_of, seconds = WorkCount(), 0.0
    for run in runs:
        for account in run.played.idle.values():
            seconds += account.seconds
            for tally in whole_tallies(account).values():
                sum_of.add(tally)
    return spent_on(sum_of, model).times(MINUTE_S / seconds) if seconds else Spent()


def loop_minute(runs: Iterable[DeviceRun], role: str, kind: str, model: EnergyModel) -> float | None:
    """Energy of a minute of back-to-back operations of one kind at the paper's rate: standby, a radio that is always
    awake, and the work of each operation."""
    runs = list(runs)
    one = each(runs, role, kind, model)
    if one is None:
        return None
    watts = model.standby_w + model.awake_w
    return MINUTE_S * watts + running(runs, model).busy + MINUTE_S / PACE_S * one.busy


def ten_minutes(runs: Sequence[DeviceRun], model: EnergyModel) -> dict[str, float]:
    """What ten minutes of a closed loop cost in each role, the mean over the operations, counted as the paper does."""
    found = {}
    for role in (ISSUING, PROCESSING, MAINTAINING):
        minutes = [spent for kind in OPERATIONS if (spent := loop_minute(runs, role, kind, model)) is not None]
        if minutes:
            found[role] = 10.0 * sum(minutes) / len(minutes)
    return found
