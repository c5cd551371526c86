"""The only list of radio models."""

from thyme.sim.radios.disc import DiscModel
from thyme.sim.radios.wifi.profiles import WifiModel

RadioModel = DiscModel | WifiModel

__all__ = ["DiscModel", "RadioModel", "WifiModel"]
