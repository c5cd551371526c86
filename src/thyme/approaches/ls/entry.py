"""Thyme-LS in the registry: its settings, with those of the router below it."""

from __future__ import annotations

from thyme.approaches.entry import Entry
from thyme.approaches.interface import ReactiveStore
from thyme.approaches.ls.options import LocalStorageOptions
from thyme.approaches.ls.protocol import LocalStorage
from thyme.approaches.unicast import Routing, unicast, without_wide_ids
from thyme.host import Host
from thyme.routing.dsdv.protocol import DsdvOptions
from thyme.routing.ondemand import OnDemandOptions


class LocalStorageSettings(LocalStorageOptions, frozen=True, forbid_unknown_fields=True):
    """Thyme-LS and the router below it."""

    routing: Routing = "ondemand"
    """On-demand routes, as on live nodes, or DSDV, on which the papers' measurements stand."""
    dsdv: DsdvOptions = DsdvOptions()
    ondemand: OnDemandOptions = OnDemandOptions()


def _make(host: Host, settings: LocalStorageSettings) -> ReactiveStore:
    return LocalStorage(host, unicast(settings.routing, settings.dsdv, settings.ondemand), settings)


LIVE_JITTER_S = 0.005
"""Longest random wait before a live node floods a message or answers a subscription. In the simulator the wait keeps
frames of one instant from colliding in the air; below a live node there is a network that takes turns by itself, and a
link that repeats what is lost."""

ENTRY = Entry(
    LocalStorage.capabilities,
    LocalStorageSettings,
    _make,
    {
        "telling": {"sure": True},
        "answers": {"jitter_s": LIVE_JITTER_S},
        "flooding": {"jitter_s": LIVE_JITTER_S},
    },
    lambda settings: without_wide_ids(settings.routing),
)
