"""The crowds against which every approach's promises are held, as far as its declared capabilities go.

DRIP, SocialCast and the walks hand contents only to those who were notified, and send all past matches (if any) by
themselves. People stand in a row here, where SocialCast's own carriers would wait for somebody to walk on; everybody
carries instead.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from small_world import SmallWorld, line

from thyme.approaches.registry import find_approach

CROWDS: dict[str, tuple[str, dict[str, Any]]] = {
    "es over dsdv": ("es", {}),
    "es over ondemand": ("es", {"routing": "ondemand"}),
    "ls over dsdv": ("ls", {}),
    "ls over ondemand": ("ls", {"routing": "ondemand"}),
    "dcs": ("dcs", {}),
    "dcs of the papers": ("dcs", {"paper": True}),
    "drip": ("drip", {"likely_brokers": 1, "copies": 1}),
    "walks": ("walks", {}),
    "walks of the paper": ("walks", {"paper": True}),
    "socialcast": ("socialcast", {"routing": "epidemic", "period_s": 5.0}),
}
ANYBODY_RETRIEVES = ("es", "ls", "dcs")


def in_a_row(nodes: int, crowd: str) -> list[tuple[float, float]]:
    """Nodes of which each reaches the next; Thyme-DCS hops from cell to adjacent cell, of 40 m."""
    return line(nodes, 40.0 if CROWDS[crowd][0] == "dcs" else 80.0)


def needs(crowd: str, *capabilities: str) -> None:
    """Leave the test out where the approach declares that it cannot do this."""
    declared = find_approach(CROWDS[crowd][0]).capabilities
    if crowd == "walks of the paper":
        declared = replace(declared, answers_past=False)
    lacking = [name for name in capabilities if not getattr(declared, name)]
    if lacking:
        pytest.skip(f"{crowd} declares no {lacking[0]}")


def needs_free_retrieval(crowd: str) -> None:
    if CROWDS[crowd][0] not in ANYBODY_RETRIEVES:
        pytest.skip(f"{crowd} hands contents to those who were notified")


def narrow(crowd: str, tmp_path: Path, **limits: Any) -> SmallWorld:
    """A row of three whose bounds are small."""
    approach, settings = CROWDS[crowd]
    world = SmallWorld(tmp_path, in_a_row(3, crowd), approach, {**settings, "limits": limits})
    world.wait(60.0)
    return world


def five_in_a_row(crowd: str, tmp_path: Path) -> SmallWorld:
    """Five who have had the time to find each other."""
    world = SmallWorld(tmp_path, in_a_row(5, crowd), *CROWDS[crowd])
    world.wait(60.0)
    return world
