"""Options of the unit-disc radio."""

from __future__ import annotations

from typing import Annotated

import msgspec

from thyme.model.settings import check_bounds
from thyme.model.settings.bounds import Count, Positive

HEADER_BYTES = 64
"""Charged per frame on top of the message: UDP 8, IP 20, LLC 8, MAC 24, FCS 4."""
ACK_BYTES = 14
"""Of 802.11's acknowledgement."""
RETRY_WAIT_S = 0.002
"""Between two tries of a unicast: about the time of one full frame at the default rate."""


class DiscOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How far the disc reaches, and what its link does."""

    range_m: Positive = 113.0
    """Who is nearer than this hears."""
    loss: Annotated[float, msgspec.Meta(ge=0.0, lt=1.0)] = 0.0
    """Probability that a receiver in range misses a frame."""
    rate_bps: Positive = 6_000_000.0
    retries: Count = 7
    """How often a unicast that was not heard is tried again."""
    queue_frames: Count = 0
    """Frames that may wait at a node; what comes on top is dropped. 0 for no limit."""

    def __post_init__(self) -> None:
        check_bounds(self)
