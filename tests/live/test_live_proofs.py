"""Objects that nobody needed a proof of when they were inserted: whoever needs one later is given it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from thyme.live import Node
from thyme.live.link.addresses import LOOPBACK

PATIENCE_S = 60.0
AREA = {"grid": {"width_m": 40.0, "height_m": 40.0}, "join_wait_s": 1.0, "settle_s": 0.5, "past_matches": 500}
QUICK = {"join": {"wait_s": 0.05, "delay_s": 0.01}}
MANY = 150


@pytest.mark.parametrize("restarted", [True, False])
def test_a_member_that_joins_later_tells_others_when_the_owner_is_gone(tmp_path: Path, restarted: bool) -> None:
    def member(store: str, *peers: str) -> Node:
        return Node(
            approach="dcs", settings=AREA, store=store, peers=list(peers), signed=True, leave_s=0.2, listen=LOOPBACK
        )

    async def run() -> None:
        names = [f"o{i}" for i in range(MANY)]
        async with asyncio.timeout(PATIENCE_S):
            owner = member(str(tmp_path))
            async with owner:
                await owner.device.joined.wait()
                made = [await owner.insert(name, b"x", ["goal"]) for name in names[:20]]
                made += await asyncio.gather(*(owner.insert(name, b"x", ["goal"]) for name in names[20:]))
                assert {metadata.proof for metadata in made} == {b""}
                if restarted:
                    await owner.close()
                    await owner.open()
                    await owner.join()
                async with member("memory", owner.address) as keeper:
                    holdings = keeper.device.approach.cell.holdings  # type: ignore[attr-defined]
                    while sum(1 for _ in holdings.objects()) < MANY:
                        await asyncio.sleep(0.05)
                    await owner.close()
                    async with member("memory", keeper.address) as reader:
                        await reader.device.joined.wait()
                        found: set[str] = set()
                        while found != set(names):
                            found = {metadata.key.oid for metadata in await reader.find("goal")}

    asyncio.run(run())


def test_a_neighbour_is_told_without_a_proof_and_who_is_further_away_with_it() -> None:
    async def run() -> None:
        async with (
            asyncio.timeout(PATIENCE_S),
            Node(1, settings=QUICK, signed=True, only_peers=True) as owner,
            Node(2, settings=QUICK, signed=True, only_peers=True, peers=[owner.address]) as beside,
            Node(3, settings=QUICK, signed=True, only_peers=True, peers=[beside.address]) as beyond,
        ):
            await owner.connect([beside.address])
            await beside.connect([beyond.address])
            for node in (owner, beside, beyond):
                await node.device.joined.wait()
            near, far = await beside.subscribe("goal"), await beyond.subscribe("goal")
            await owner.insert("first", b"x", ["goal"])  # for which ways are looked for
            await anext(near), await anext(far)
            made = await owner.insert("second", b"x", ["goal"])
            told, relayed = await anext(near), await anext(far)
            assert told.metadata.proof == b""
            assert relayed.metadata.proof == made.proof != b""
            assert await beyond.retrieve(relayed.metadata) == await beside.retrieve(told.metadata) == b"x"

    asyncio.run(run())
