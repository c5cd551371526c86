"""The only list of radio models, and how a scenario's model makes the radio of a run.

Compiled code takes a while to load and is not needed to read a scenario, so radios are imported when they are made.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Literal

from thyme.sim.energy import EnergyOptions
from thyme.sim.radios.disc.radio import DiscOptions
from thyme.sim.radios.radio import Radio
from thyme.sim.radios.wifi.profiles import WifiOptions, profile_named
from thyme.world.contacts.contact_table import Contacts
from thyme.world.movement import Movement

__all__ = ["DiscModel", "RadioModel", "WifiModel"]


class DiscModel(DiscOptions, frozen=True, tag_field="model", tag="disc"):
    """A unit disc: every node within range receives, without contention or interference."""

    plays_contacts: ClassVar[bool] = True
    """Whether contacts may replace positions."""
    energy: EnergyOptions = EnergyOptions()

    def make(self, movement: Movement, contacts: Callable[[float], Contacts | None], seed: int) -> Radio:
        """The radio of a run; `contacts` returns the contacts for a range, if they are known in advance."""
        from thyme.sim.radios.disc.contacts import contact_radio
        from thyme.sim.radios.disc.radio import DiscRadio

        met = contacts(self.range_m)
        return DiscRadio(movement, self, seed) if met is None else contact_radio(movement, met, self, seed)


class WifiModel(WifiOptions, frozen=True, tag_field="model", tag="wifi"):
    """802.11g as ns-3 models it, with contention, interference and capture (docs/explanation/radio.md)."""

    plays_contacts: ClassVar[bool] = False
    profile: Literal["thyme", "def", "p27", "ns3"] = "thyme"
    """The 802.11g world: ours (113 m), ns-3.44's defaults (51 m), ns-3.27's (100 m), or `ns3`: those with broadcasts at
    1 Mb/s."""
    energy: EnergyOptions = EnergyOptions()

    def make(self, movement: Movement, contacts: Callable[[float], Contacts | None], seed: int) -> Radio:
        """The radio of a run; contacts play no part."""
        from thyme.sim.radios.wifi.radio import WifiRadio

        return WifiRadio(movement, profile_named(self.profile), self, seed)


RadioModel = DiscModel | WifiModel
