"""The only list of approaches: their names, what they are, their options and how one node of each is made.

Everything that needs to know which approaches there are asks here: scenarios, studies, live nodes, the help text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import msgspec

from thyme.approaches.dcs.options import CellStorageOptions
from thyme.approaches.dcs.store import CellStorage
from thyme.approaches.drip.options import DripOptions
from thyme.approaches.drip.protocol import Drip
from thyme.approaches.es.protocol import ExternalStorage, ExternalStorageOptions
from thyme.approaches.interface import Capabilities, ReactiveStore
from thyme.approaches.ls.protocol import LocalStorage, LocalStorageOptions
from thyme.approaches.socialcast.options import SocialCastOptions
from thyme.approaches.socialcast.protocol import SocialCast
from thyme.approaches.walks.options import DirectionalWalksOptions
from thyme.approaches.walks.protocol import DirectionalWalks
from thyme.host import Host
from thyme.model.errors import InputError
from thyme.routing.dsdv.protocol import Dsdv, DsdvOptions
from thyme.routing.layer import Deliver, UnicastRouter
from thyme.routing.ondemand import OnDemandOptions, OnDemandRouter


class ExternalStorageSettings(ExternalStorageOptions, frozen=True, forbid_unknown_fields=True):
    """Thyme-ES and the router below it."""

    routing: Literal["dsdv", "ondemand"] = "dsdv"
    dsdv: DsdvOptions = DsdvOptions()
    ondemand: OnDemandOptions = OnDemandOptions()


class LocalStorageSettings(LocalStorageOptions, frozen=True, forbid_unknown_fields=True):
    """Thyme-LS and the router below it."""

    routing: Literal["dsdv", "ondemand"] = "dsdv"
    dsdv: DsdvOptions = DsdvOptions()
    ondemand: OnDemandOptions = OnDemandOptions()


def _unicast(settings: ExternalStorageSettings | LocalStorageSettings) -> Callable[[Host, Deliver], UnicastRouter]:
    if settings.routing == "dsdv":
        return lambda host, deliver: Dsdv(host, deliver, settings.dsdv)
    return lambda host, deliver: OnDemandRouter(host, deliver, settings.ondemand)


def _external_storage(host: Host, settings: ExternalStorageSettings) -> ReactiveStore:
    return ExternalStorage(host, _unicast(settings), settings)


def _local_storage(host: Host, settings: LocalStorageSettings) -> ReactiveStore:
    return LocalStorage(host, _unicast(settings), settings)


class CellStorageSettings(CellStorageOptions, frozen=True, forbid_unknown_fields=True):
    """Thyme-DCS; `paper` switches off whatever the papers did not implement."""

    paper: bool = False


def _cell_storage(host: Host, settings: CellStorageSettings) -> ReactiveStore:
    return CellStorage(host, settings.as_in_the_papers() if settings.paper else settings)


class Approach(msgspec.Struct, frozen=True):
    """One entry of the registry. `make` builds one node's protocol on its host."""

    name: str
    title: str
    summary: str
    capabilities: Capabilities
    settings: type[msgspec.Struct]
    make: Callable[[Host, Any], ReactiveStore]

    def configure(self, given: Mapping[str, Any], where: str = "[approach]") -> Any:
        """Check the settings that a person gave for this approach."""
        try:
            return msgspec.convert(dict(given), self.settings, strict=True)
        except msgspec.ValidationError as error:
            raise InputError(f"{where} settings of {self.name!r}: {error}") from error


APPROACHES: dict[str, Approach] = {
    approach.name: approach
    for approach in (
        Approach(
            "es",
            "Thyme-ES",
            "a server that everybody knows stores and matches everything",
            ExternalStorage.capabilities,
            ExternalStorageSettings,
            _external_storage,
        ),
        Approach(
            "ls",
            "Thyme-LS",
            "objects stay with their owners, subscriptions are flooded to everybody",
            LocalStorage.capabilities,
            LocalStorageSettings,
            _local_storage,
        ),
        Approach(
            "dcs",
            "Thyme-DCS",
            "cells of the venue share storage and matching, by hashing tags to places",
            CellStorage.capabilities,
            CellStorageSettings,
            _cell_storage,
        ),
        Approach(
            "socialcast",
            "SocialCast",
            "messages travel with people who are likely to meet those interested",
            SocialCast.capabilities,
            SocialCastOptions,
            SocialCast,
        ),
        Approach(
            "drip",
            "DRIP",
            "the most able nodes are brokers of the regions around them and relay matching events",
            Drip.capabilities,
            DripOptions,
            Drip,
        ),
        Approach(
            "walks",
            "Directional walks",
            "publishers and subscribers meet where their random walks cross",
            DirectionalWalks.capabilities,
            DirectionalWalksOptions,
            DirectionalWalks,
        ),
    )
}


def find_approach(name: str, where: str = "approach") -> Approach:
    approach = APPROACHES.get(name)
    if approach is None:
        raise InputError(f"{where}: there is no approach {name!r}; expected one of {', '.join(APPROACHES)}")
    return approach
