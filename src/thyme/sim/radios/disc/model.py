"""The unit disc as a scenario asks for it, over places or over contacts that are known beforehand."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from thyme.sim.energy import EnergyOptions
from thyme.sim.radios.disc.options import DiscOptions
from thyme.sim.radios.radio import Radio
from thyme.world.contacts.table import Contacts
from thyme.world.mobility.movement import Movement


class DiscModel(DiscOptions, frozen=True, tag_field="model", tag="disc"):
    """A unit disc: whoever is within range hears, with no contention and no interference."""

    plays_contacts: ClassVar[bool] = True
    """Whether who is in reach may come from contacts instead of places."""
    energy: EnergyOptions = EnergyOptions()

    def make(self, movement: Movement, contacts: Callable[[float], Contacts | None], seed: int) -> Radio:
        """The radio of a run; `contacts` tells of a range who is within it, where that is known beforehand."""
        # Compiled code takes a while to load, and whoever only reads a scenario does not need it.
        from thyme.sim.radios.disc.contacts import contact_radio
        from thyme.sim.radios.disc.radio import DiscRadio

        met = contacts(self.range_m)
        return DiscRadio(movement, self, seed) if met is None else contact_radio(movement, met, self, seed)
