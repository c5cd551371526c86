"""Objects as others than a neighbour see them: with the proof of who said so."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

import pytest

from thyme.live.trust.identity import Identity
from thyme.model.objects import Metadata
from thyme.wire.cells import CellState, Held
from thyme.wire.signing import Codec


def noted(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """What is signed from now on."""
    made: list[bytes] = []
    sign = Identity.sign

    def note(identity: Identity, text: bytes) -> bytes:
        made.append(text)
        return sign(identity, text)

    monkeypatch.setattr(Identity, "sign", note)
    return made


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
