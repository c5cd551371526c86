"""Settings of an approach, at random and often at their bounds: 1 where one is allowed, off where something can be."""

from __future__ import annotations

from random import Random
from typing import Any

_SHARED: tuple[tuple[str, tuple[Any, ...]], ...] = (
    ("limits.own_subscriptions", (1, 3)),
    ("retry.pending", (1, 4)),
)
_PARTS: tuple[tuple[str, tuple[Any, ...]], ...] = (
    ("contents.part_bytes", (100,)),
    ("contents.window", (1,)),
    ("contents.fetches", (1,)),
)
_BOUNDS: dict[str, tuple[tuple[str, tuple[Any, ...]], ...]] = {
    "es": (*_SHARED, *_PARTS, ("past_matches", (1, 2, 100)), ("routing", ("ondemand",))),
    "ls": (
        *_SHARED,
        *_PARTS,
        ("past_matches", (1, 2, 100)),
        ("routing", ("ondemand",)),
        ("matches_per_notification", (1,)),
    ),
    "dcs": (
        *_SHARED,
        *_PARTS,
        ("past_matches", (1, 2, 100)),
        ("replicas_in_cell", (1, 2)),
        ("sure_members", (0, 1)),
        ("replication_list", (1, 2)),
        ("active_replication", (False,)),
        ("spread_load", (1, 3)),
        ("spread_cells", (2, 8)),
        ("undelivered", (1,)),
        ("brokered", (1,)),
        ("paper", (True,)),
    ),
    "drip": (
        *_SHARED,
        ("relay", ("sf",)),
        ("passing", ("copies",)),
        ("known_events", (0, 2)),
        ("catch_up_events", (1,)),
        ("past_matches", (1,)),
        ("memory_events", (1, 5)),
        ("content_bytes", (100,)),
    ),
    "socialcast": (
        ("limits.own_subscriptions", (1, 3)),
        ("routing", ("none", "epidemic", "prophet", "spray")),
        ("copies", (1, 8)),
        ("ttl_hops", (1, 0)),
        ("lifetime_s", (30.0,)),
        ("memory_ids", (1, 5)),
        ("buffer_copies", (1, 5)),
        ("handover", ("link",)),
        ("pending_handovers", (1,)),
    ),
    "walks": (
        *_SHARED,
        *_PARTS,
        ("walker.pure", (True,)),
        ("walker.eager_steps", (0,)),
        ("settle_s", (0.0, 5.0)),
        ("late_events", (1,)),
        ("link_tries", (1,)),
    ),
}
_ALWAYS: dict[str, dict[str, Any]] = {
    "drip": {"brokers": 4, "likely_brokers": 1, "copies": 1},
    "socialcast": {"period_s": 5.0},
}
"""Small crowds in short worlds: fewer brokers than the twenty of 200 nodes, and a shorter period."""


def draw_settings(approach: str, draws: Random) -> dict[str, Any]:
    """A few settings at a bound, in most worlds none."""
    settings: dict[str, Any] = dict(_ALWAYS.get(approach, {}))
    bounds = _BOUNDS.get(approach, ())
    for key, values in draws.sample(bounds, min(len(bounds), draws.choice((0, 0, 0, 1, 2, 3)))):
        section, _, name = key.rpartition(".")
        table = settings.setdefault(section, {}) if section else settings
        table[name] = draws.choice(values)
    return settings
