"""Thyme-DCS in the registry."""

from __future__ import annotations

from thyme.approaches.dcs.options import CellStorageOptions
from thyme.approaches.dcs.store import CellStorage
from thyme.approaches.entry import Entry
from thyme.approaches.interface import ReactiveStore
from thyme.host import Host


class CellStorageSettings(CellStorageOptions, frozen=True, forbid_unknown_fields=True):
    """Thyme-DCS; `paper` switches off whatever the papers did not implement."""

    paper: bool = False


def _make(host: Host, settings: CellStorageSettings) -> ReactiveStore:
    return CellStorage(host, settings.as_in_the_papers() if settings.paper else settings)


ONE_CELL = {"width_m": 40.0, "height_m": 40.0}
"""The area of live nodes unless one is given: all in range of each other, wherever they are."""
_LIVE = {"notify_together": True, "confirmed": True, "cast": False, "fetches": 8, "grid": ONE_CELL}

ENTRY = Entry(CellStorage.capabilities, CellStorageSettings, _make, _LIVE)
