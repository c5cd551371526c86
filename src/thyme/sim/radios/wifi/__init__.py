"""802.11g as ns-3 models it: PHY and MAC of all nodes as one compiled state machine over arrays."""

from thyme.sim.radios.wifi.ether import DROPPED, GIVEN_UP, RECEIVED, SENT, Wifi
from thyme.sim.radios.wifi.profiles import PROFILES, WifiOptions, WifiProfile, profile_named

__all__ = [
    "DROPPED",
    "GIVEN_UP",
    "PROFILES",
    "RECEIVED",
    "SENT",
    "Wifi",
    "WifiOptions",
    "WifiProfile",
    "profile_named",
]
