"""Nodes that are killed at any instant lose nothing that they acknowledged, and leave nothing half-visible."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from kills import Killing

PATIENCE_S = 240.0


@pytest.mark.parametrize(("approach", "nodes", "kills"), [("ls", 1, 6), ("ls", 3, 3), ("dcs", 1, 3)])
def test_nothing_acknowledged_is_lost(approach: str, nodes: int, kills: int, tmp_path: Path) -> None:
    async def play() -> None:
        async with asyncio.timeout(PATIENCE_S):
            tally = await Killing(approach, nodes, tmp_path, seed=1).play(kills)
        assert tally.kills == nodes * kills
        assert tally.acknowledged > 0
        assert (tally.lost, tally.half_visible, tally.back_again) == (0, 0, 0)
        assert tally.unread == 0
        if approach == "ls":  # members of a DCS cell that were killed at once may still differ: docs/reliability.md
            assert tally.unseen == 0

    asyncio.run(play())
