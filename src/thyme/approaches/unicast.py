"""The routers that an approach without routing of its own may stand on, as its settings name them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from thyme.host import Host
from thyme.routing.dsdv.protocol import Dsdv, DsdvOptions
from thyme.routing.layer import Deliver, UnicastRouter
from thyme.routing.ondemand import OnDemandOptions, OnDemandRouter

Routing = Literal["dsdv", "ondemand"]


def unicast(routing: Routing, dsdv: DsdvOptions, ondemand: OnDemandOptions) -> Callable[[Host, Deliver], UnicastRouter]:
    if routing == "dsdv":
        return lambda host, deliver: Dsdv(host, deliver, dsdv)
    return lambda host, deliver: OnDemandRouter(host, deliver, ondemand)


def without_wide_ids(routing: Routing) -> str:
    """An `Entry.wide_ids`."""
    if routing == "ondemand":
        return ""
    return "routing=dsdv names nodes by 32 bits, and the number of a key has 62: use routing=ondemand"
