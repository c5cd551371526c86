"""802.11g as a scenario asks for it: the MAC's options, the world they are played in, and how the radio is made."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Literal

from thyme.sim.energy import EnergyOptions
from thyme.sim.radios.radio import Radio
from thyme.sim.radios.wifi.profiles import WifiOptions
from thyme.world.contacts.table import Contacts
from thyme.world.mobility.movement import Movement


class WifiModel(WifiOptions, frozen=True, tag_field="model", tag="wifi"):
    """802.11g as ns-3 models it, with contention, interference and capture (docs/radio.md)."""

    plays_contacts: ClassVar[bool] = False
    profile: Literal["thyme", "def", "p27"] = "thyme"
    """The 802.11g world: ours (113 m), ns-3.44's defaults (51 m) or ns-3.27's (100 m)."""
    energy: EnergyOptions = EnergyOptions()

    def make(self, movement: Movement, contacts: Callable[[float], Contacts | None], seed: int) -> Radio:
        """The radio of a run; contacts play no part."""
        # Compiled code takes a while to load, and whoever only reads a scenario does not need it.
        from thyme.sim.radios.wifi.radio import WifiRadio

        return WifiRadio(movement, self.profile, self, seed)
