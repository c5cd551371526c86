"""The only list of radio models, and how a scenario's model makes the radio of a run.

The compiled code of 802.11g takes a while to load and is not needed to read a scenario, so it is imported when a radio
is made.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Literal

from thyme.sim.energy import EnergyOptions
from thyme.sim.radios.disc.neighbours import ContactReach
from thyme.sim.radios.disc.radio import DiscOptions, DiscRadio
from thyme.sim.radios.radio import Radio
from thyme.sim.radios.wifi.profiles import WifiOptions, profile_named
from thyme.world.contacts.contact_table import Contacts
from thyme.world.movement import Movement

__all__ = ["DiscModel", "RadioModel", "WifiModel"]

WIFI_RANGES_M = {"thyme": 113.0, "def": 51.0, "p27": 100.0, "ns3": 100.0}
"""About how far the profiles of the 802.11g radio reach."""


class DiscModel(DiscOptions, frozen=True, tag_field="model", tag="disc"):
    """A unit disc: every node within range receives, without contention or interference."""

    plays_contacts: ClassVar[bool] = True
    """Whether contacts may replace positions."""
    energy: EnergyOptions = EnergyOptions()

    def make(self, movement: Movement, contacts: Callable[[float], Contacts | None], seed: int) -> Radio:
        """The radio of a run; `contacts` returns the contacts for a range, if they are known in advance."""
        met = contacts(self.range_m)
        return DiscRadio(movement, self, seed, None if met is None else ContactReach(met))

    @property
    def reach_m(self) -> float:
        """About how far it reaches."""
        return self.range_m


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

    @property
    def reach_m(self) -> float:
        return WIFI_RANGES_M[self.profile]


RadioModel = DiscModel | WifiModel
