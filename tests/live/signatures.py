"""Objects as others than a neighbour see them: with the proof of who said so."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

from thyme.model.objects import Metadata
from thyme.wire.cells import CellState, Held
from thyme.wire.signing import Codec


def signed(codec: Codec, metadata: Metadata) -> Metadata:
    """One that is signed alone, as it is told to a member that is to keep it."""
    proved = copy(metadata)
    codec.encode(CellState(held=(Held(1, proved),)))  # type: ignore[arg-type]
    return proved


def signed_together(codec: Codec, objects: Sequence[Metadata]) -> list[Metadata]:
    """Several that were inserted together."""
    together = [copy(metadata) for metadata in objects]
    codec.insert_together(together)
    for metadata in together:
        codec.encode(CellState(held=(Held(1, metadata),)))  # type: ignore[arg-type]
    return together
