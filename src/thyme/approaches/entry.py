"""What the registry has to know of an approach besides its name, in the module `entry` of the approach's own folder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from thyme.approaches.interface import Capabilities, ReactiveStore
from thyme.host import Host


class Entry(msgspec.Struct, frozen=True):
    """What an approach can do, the settings that it takes, and how one node of it is made on its host."""

    capabilities: Capabilities
    settings: type[msgspec.Struct]
    make: Callable[[Host, Any], ReactiveStore]
