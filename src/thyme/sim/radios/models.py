"""The only list of radio models."""

from thyme.sim.radios.disc.model import DiscModel
from thyme.sim.radios.wifi.model import WifiModel

RadioModel = DiscModel | WifiModel

__all__ = ["DiscModel", "RadioModel", "WifiModel"]
