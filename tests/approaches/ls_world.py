"""Settings of Thyme-LS in small worlds, and what a node of it holds and is told."""

from __future__ import annotations

from small_world import SmallWorld

from thyme.model.frames import TimeFrame

QUIET = {"routing": "ondemand", "agreement": {"hello_s": 0.0}}
"""Routes on demand send nothing by themselves, so every frame counted is Thyme-LS's own; and nobody compares notes."""


def held(world: SmallWorld, node: int) -> int:
    return {name: count for name, count, _ in world.node(node).stored()}["subscriptions"]


def first_batch(world: SmallWorld, node: int, query: str, frame: TimeFrame | None = None) -> tuple[int, list[str]]:
    key = world.subscribe(node, query, frame)
    return key.sid, world.names(node)
