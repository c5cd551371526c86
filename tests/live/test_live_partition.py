"""Two cells that fall apart and come together again: what both parts did meanwhile is told to all within seconds. One
cell, and LS, fall apart on the virtual clock (`test_live_histories`)."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import Any

from taps import Tap

from thyme.live import Node

PATIENCE_S = 90.0
HEALED_S = 5.0
BUSY_S = 20.0
"""More than the five seconds: other tests run beside this one."""
DCS = {"grid": {"width_m": 80.0, "height_m": 40.0}, "join_wait_s": 0.3, "settle_s": 0.2}
PLACES = [(10.0, 20.0), (20.0, 20.0), (60.0, 20.0)]


class Cut:
    """A node whose radio hears and says nothing, until it does again."""

    def __init__(self, node: Node) -> None:
        self._tap = Tap(node.device.host.link, sends=False, receives=False)

    def heal(self) -> None:
        self._tap.remove()


async def told_of(wanted: set[str], told: list[set[str]], patience_s: float) -> bool:
    for _ in range(int(patience_s / 0.05)):
        if all(wanted <= names for names in told):
            return True
        await asyncio.sleep(0.05)
    return False


def test_what_was_inserted_while_the_network_was_in_two_parts_is_told_across_when_it_heals() -> None:
    async def scene() -> None:
        async with AsyncExitStack() as stack:
            nodes: list[Node] = []
            for index in range(3):
                peers = [node.address for node in nodes]
                place: dict[str, Any] = {"settings": DCS, "position": PLACES[index]}
                node = Node(index + 1, store="memory", peers=peers, approach="dcs", **place)
                nodes.append(await stack.enter_async_context(node))
            told: list[set[str]] = [set() for _ in nodes]
            for node, names in zip(nodes, told, strict=True):
                await node.device.joined.wait()
                node.on_notice = lambda notice, names=names: names.add(notice.metadata.key.oid)
            await asyncio.sleep(1.0)
            for node in nodes:
                await node.subscribe("goal")
            await nodes[0].insert("before", b"x", ["goal"])
            assert await told_of({"before"}, told, BUSY_S)
            cut = Cut(nodes[2])
            await asyncio.sleep(6.0)
            inserted = [nodes[i].insert(f"cut{number}by{i}", b"x", ["goal"]) for i in (0, 2) for number in range(5)]
            under_way = [asyncio.ensure_future(one) for one in inserted]
            await asyncio.sleep(2.0)
            cut.heal()
            await asyncio.gather(*under_way)
            wanted = {f"cut{number}by{i}" for i in (0, 2) for number in range(5)}
            assert await told_of(wanted, told, BUSY_S), [sorted(wanted - names) for names in told]

    async def run() -> None:
        async with asyncio.timeout(PATIENCE_S):
            await scene()

    asyncio.run(run())
