"""What can be set in DSDV. Defaults are ns-3's, except where `DsdvOptions.ns3` says otherwise."""

from __future__ import annotations

import msgspec

from thyme.model.errors import InputError

SEQUENCE_TICK_S = 4.0
"""The clock from which sequence numbers start; dumps must be rarer."""


class DsdvOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    period_s: float = 15.0
    period_jitter_s: float = 0.025
    trigger_jitter_s: float = 0.001
    settling_s: float = 5.0
    weighted_settling: bool = True
    weight: float = 0.875
    hold_periods: int = 3
    max_routes: int = 10_000
    max_entries: int = 189
    """Entries in one update; a fuller dump is sent in several. 189 fill ns-3's Wi-Fi frames of 2,296 bytes."""
    max_waiting: int = 500
    max_waiting_per_node: int = 5
    max_wait_s: float = 30.0
    release_gap_s: float = 0.1
    """Longest random gap between two waiting packets that leave when a route was found."""
    hop_limit: int = 64
    resends: int = 1
    """How often the origin of a packet, and whoever carries it, waits for another route after its link failed."""
    memory: int = 2000
    """Packets that arrived here and are remembered, to deliver each only once."""
    broken_after_failures: int = 1
    """Frames that the radio gives up on, with nothing heard in between, before a link counts as broken; 0: never,
    as in ns-3."""
    remember_lost: bool = True
    """Whether an older route to a lost destination is refused, which keeps routes free of loops."""

    def __post_init__(self) -> None:
        if self.period_s <= SEQUENCE_TICK_S:
            raise InputError(f"DSDV period_s is {self.period_s}; expected more than {SEQUENCE_TICK_S} seconds")
        for name in ("settling_s", "max_wait_s"):
            if getattr(self, name) <= 0.0:
                raise InputError(f"DSDV {name} is {getattr(self, name)}; expected a positive number of seconds")
        for name in ("max_routes", "max_entries", "hop_limit", "hold_periods"):
            if getattr(self, name) < 1:
                raise InputError(f"DSDV {name} is {getattr(self, name)}; expected at least 1")

    @classmethod
    def ns3(cls) -> DsdvOptions:
        """ns-3's behaviour: links are never broken by the MAC, and lost routes are forgotten."""
        return cls(broken_after_failures=0, resends=0, remember_lost=False)
