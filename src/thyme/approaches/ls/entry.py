"""Thyme-LS in the registry: its settings, with those of the router below it."""

from __future__ import annotations

from thyme.approaches.entry import Entry
from thyme.approaches.interface import ReactiveStore
from thyme.approaches.ls.options import LocalStorageOptions
from thyme.approaches.ls.protocol import LocalStorage
from thyme.approaches.unicast import Routing, unicast
from thyme.host import Host
from thyme.routing.dsdv.protocol import DsdvOptions
from thyme.routing.ondemand import OnDemandOptions


class LocalStorageSettings(LocalStorageOptions, frozen=True, forbid_unknown_fields=True):
    """Thyme-LS and the router below it."""

    routing: Routing = "dsdv"
    dsdv: DsdvOptions = DsdvOptions()
    ondemand: OnDemandOptions = OnDemandOptions()


def _make(host: Host, settings: LocalStorageSettings) -> ReactiveStore:
    return LocalStorage(host, unicast(settings.routing, settings.dsdv, settings.ondemand), settings)


ENTRY = Entry(LocalStorage.capabilities, LocalStorageSettings, _make)
