"""The router below an approach that has none of its own, as its settings name it."""

from __future__ import annotations

from typing import Literal

from thyme.host import Host
from thyme.model.settings import SettingsRecord
from thyme.routing.dsdv.protocol import Dsdv, DsdvOptions
from thyme.routing.layer import Deliver, UnicastRouter
from thyme.routing.ondemand import OnDemandOptions, OnDemandRouter


class RoutedOptions(SettingsRecord, frozen=True, forbid_unknown_fields=True):
    routing: Literal["dsdv", "ondemand"] = "ondemand"
    """On-demand routes, as on live nodes, or DSDV, on which the papers' measurements stand."""
    dsdv: DsdvOptions = DsdvOptions()
    ondemand: OnDemandOptions = OnDemandOptions()

    def router(self, host: Host, deliver: Deliver) -> UnicastRouter:
        return (
            Dsdv(host, deliver, self.dsdv) if self.routing == "dsdv" else OnDemandRouter(host, deliver, self.ondemand)
        )

    def wide_ids(self) -> str:
        """An `Entry.wide_ids`."""
        if self.routing == "ondemand":
            return ""
        return "routing=dsdv names nodes by 32 bits, and the number of a key has 62: use routing=ondemand"
