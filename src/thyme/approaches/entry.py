"""What the registry knows of an approach besides its name, the `ENTRY` in the module `protocol` of its package."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from thyme.approaches.interface import Capabilities, ReactiveStore
from thyme.host import Host


class Entry(msgspec.Struct, frozen=True):
    """What an approach can do, its settings, and how one node of it is made on its host."""

    capabilities: Capabilities
    settings: type[msgspec.Struct]
    make: Callable[[Host, Any], ReactiveStore]
    live_defaults: Mapping[str, Any] = {}
    """Settings of live nodes, unless a person says otherwise; records within them are merged."""
    wide_ids: Callable[[Any], str] = lambda settings: ""
    """Why these settings do not go with node ids of more than 32 bits, which nodes with a key have; "" if they do."""
    advice: Callable[[Any, int], str] = lambda settings, nodes: ""
    """A warning about these settings in a crowd of so many; "" if there is none."""
    relative_cost: int = 1
    """How many times as long as most a simulated run takes. Long runs of a sweep start first."""


def with_defaults(given: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """The settings given, and the defaults for the others, within records too."""
    merged = {**defaults, **given}
    for name, default in defaults.items():
        if isinstance(default, Mapping) and isinstance(merged[name], Mapping):
            merged[name] = with_defaults(merged[name], default)
    return merged
