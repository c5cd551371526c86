"""What a person decides about the store of a node."""

from __future__ import annotations

from typing import Literal

import msgspec

from thyme.model.settings.bounds import Count, NotNegative, Positive, Share

Durability = Literal["full", "batched"]


class DiskOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    durability: Durability = "full"
    batch_s: Positive = 0.5
    """How often `batched` writes."""
    most_bytes: Count = 0
    """Records and contents may take so much; 0: as much as the disk has."""
    most_age_s: NotNegative = 0.0
    """Others' contents go when they were published so long ago; 0: they stay."""
    headroom: Share = 0.05
    """Of `most_bytes`: with less than this free, others' contents make room until it is free twice."""
    reserve_bytes: Count = 64_000_000
    """Left free on the disk, so that what was accepted can always be written."""
    retry_s: Positive = 1.0
    """How long a write that failed waits before it is tried again."""
    close_s: Positive = 5.0
    """How long closing waits for the last write."""
