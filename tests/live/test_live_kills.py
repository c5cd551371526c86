"""Nodes that are killed at any instant lose nothing that they acknowledged, and leave nothing half-visible."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from kills import Killing

PATIENCE_S = 240.0


@pytest.mark.parametrize(
    ("approach", "nodes", "kills", "one"),
    [
        ("ls", 1, 5, False),
        ("ls", 3, 2, False),
        ("dcs", 1, 3, False),
        ("dcs", 3, 2, False),
        ("ls", 3, 5, True),
        ("dcs", 3, 5, True),
    ],
)
def test_nothing_acknowledged_is_lost(approach: str, nodes: int, kills: int, one: bool, tmp_path: Path) -> None:
    async def play() -> None:
        async with asyncio.timeout(PATIENCE_S):
            tally = await Killing(approach, nodes, tmp_path, seed=1, one=one).play(kills)
        assert tally.kills == (1 if one else nodes) * kills
        assert tally.acknowledged > 0
        assert (tally.lost, tally.half_visible, tally.back_again) == (0, 0, 0)
        assert (tally.unseen, tally.unread) == (0, 0)

    asyncio.run(play())
