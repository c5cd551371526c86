"""Thyme-ES in the registry: its settings, with those of the router below it."""

from __future__ import annotations

from thyme.approaches.entry import Entry
from thyme.approaches.es.protocol import ExternalStorage, ExternalStorageOptions
from thyme.approaches.interface import ReactiveStore
from thyme.approaches.unicast import Routing, unicast, without_wide_ids
from thyme.host import Host
from thyme.routing.dsdv.protocol import DsdvOptions
from thyme.routing.ondemand import OnDemandOptions


class ExternalStorageSettings(ExternalStorageOptions, frozen=True, forbid_unknown_fields=True):
    """Thyme-ES and the router below it."""

    routing: Routing = "ondemand"
    """On-demand routes, as on live nodes, or DSDV, on which the papers' measurements stand."""
    dsdv: DsdvOptions = DsdvOptions()
    ondemand: OnDemandOptions = OnDemandOptions()


def _make(host: Host, settings: ExternalStorageSettings) -> ReactiveStore:
    return ExternalStorage(host, unicast(settings.routing, settings.dsdv, settings.ondemand), settings)


ENTRY = Entry(
    ExternalStorage.capabilities,
    ExternalStorageSettings,
    _make,
    {},
    lambda settings: without_wide_ids(settings.routing),
)
