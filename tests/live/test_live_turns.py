"""Operations that come together: begun together, signed together, and each with its own end."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest
from signatures import noted

from thyme.live import Node
from thyme.live.node.operations import BURST
from thyme.model.errors import InputError
from thyme.model.ids import CellId, NodeId
from thyme.model.objects import Metadata
from thyme.wire.cells import CellState, Held
from thyme.wire.proving import PROOF_BYTES

PATIENCE_S = 60.0
AREA = {"grid": {"width_m": 40.0, "height_m": 40.0}, "join_wait_s": 0.1, "settle_s": 0.1}
QUICK = {"join": {"wait_s": 0.05, "delay_s": 0.01}}


def alone(approach: str, store: str, play: Callable[[Node], Awaitable[None]]) -> None:
    async def run() -> None:
        settings = AREA if approach == "dcs" else QUICK
        async with asyncio.timeout(PATIENCE_S), Node(1, store=store, approach=approach, settings=settings) as node:
            await node.device.joined.wait()
            await play(node)

    asyncio.run(run())


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("approach", ["ls", "dcs"])
def test_objects_that_are_inserted_at_one_time_share_signatures(
    approach: str, kept: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    signed = noted(monkeypatch)

    async def play(node: Node) -> None:
        def signatures(objects: Sequence[Metadata]) -> int:
            """How many are made when they are told one by one to a member that is to keep them."""
            before = len(signed)
            for metadata in objects:
                node.device.host.codec.encode(CellState(held=(Held(CellId(0), metadata),)))
            return len(signed) - before

        alone = await node.insert("alone", b"x", ["goal"])
        together = await asyncio.gather(*(node.insert(f"o{i}", b"x", ["goal"]) for i in range(2 * BURST)))
        assert [metadata.key.oid for metadata in together] == [f"o{i}" for i in range(2 * BURST)]
        more = await asyncio.gather(*(node.insert(f"more{i}", b"x", ["goal"]) for i in range(2 * BURST)))
        singles = [await node.insert(f"single{i}", b"x", ["goal"]) for i in range(2)]
        assert signed == [], "nobody else was told"
        assert len(await node.find("goal")) == 1 + 4 * BURST + 2
        assert signatures([alone]) == 1
        assert signatures(together) == 2, "the first began at once, and all others are signed by one signature"
        assert signatures(more) == 1, "after some that came together the first waited for those that came with it"
        assert signatures(singles) == 2
        assert signatures([alone, *together, *more, *singles]) == 0
        assert [len(metadata.proof) for metadata in (alone, *singles)] == [PROOF_BYTES] * 3
        assert len({metadata.proof for metadata in (*together, *more)}) == 4 * BURST

    alone(approach, str(tmp_path) if kept else "memory", play)


@pytest.mark.parametrize("approach", ["ls", "dcs"])
def test_an_insertion_that_needs_nobody_else_ends_without_a_turn_of_the_event_loop(approach: str) -> None:
    async def play(node: Node) -> None:
        turns: list[None] = []
        asyncio.get_running_loop().call_soon(turns.append, None)
        await node.insert("alone", b"x", ["goal"])
        assert not turns

    alone(approach, "memory", play)


def test_of_two_objects_of_one_name_that_come_together_one_is_refused(tmp_path: Path) -> None:
    async def play(node: Node) -> None:
        names = ["first", "same", "same", "", "last"]
        ends = await asyncio.gather(
            *(node.insert(n, b"%d" % i, ["goal"]) for i, n in enumerate(names)), return_exceptions=True
        )
        assert [isinstance(end, InputError) for end in ends] == [False, False, True, True, False]
        assert sorted(metadata.key.oid for metadata in node.known()) == ["first", "last", "same"]

    alone("ls", str(tmp_path), play)


@pytest.mark.parametrize("approach", ["ls", "dcs"])
def test_operations_leave_nothing_that_has_to_be_looked_for_as_garbage(approach: str) -> None:
    async def play(node: Node) -> None:
        await node.insert("first", b"x", ["goal"])
        gc.collect()
        gc.disable()
        try:
            await asyncio.gather(*(node.insert(f"o{i}", b"x", ["goal"]) for i in range(100)))
            await asyncio.sleep(0)
            assert gc.collect() < 100
        finally:
            gc.enable()

    alone(approach, "memory", play)


def test_who_is_cancelled_while_it_waits_never_begins_and_holds_nobody_up() -> None:
    async def play(node: Node) -> None:
        tasks = [asyncio.ensure_future(node.insert(f"o{i}", b"x", ["goal"])) for i in range(300)]
        await asyncio.sleep(0)
        for task in tasks[200:250]:
            task.cancel()
        ends = await asyncio.gather(*tasks, return_exceptions=True)
        assert [i for i, end in enumerate(ends) if isinstance(end, BaseException)] == list(range(200, 250))
        assert {metadata.key.oid for metadata in node.known()} == {f"o{i}" for i in (*range(200), *range(250, 300))}
        assert (await node.insert("after", b"x", ["goal"])).key.owner == NodeId(1)

    alone("dcs", "memory", play)


def test_what_is_given_up_after_it_was_signed_with_others_is_not_inserted_and_the_others_are() -> None:
    async def play(node: Node) -> None:
        inserting = [asyncio.ensure_future(node.insert(f"o{i}", b"x", ["goal"])) for i in range(3 * BURST)]
        while not node.known():  # the first burst has begun, and the rest was signed with it
            await asyncio.sleep(0)
        inserting[-1].cancel()
        ends = await asyncio.gather(*inserting, return_exceptions=True)
        assert [type(end) for end in ends] == [Metadata] * (3 * BURST - 1) + [asyncio.CancelledError]
        assert len(await node.find("goal")) == 3 * BURST - 1

    alone("dcs", "memory", play)
