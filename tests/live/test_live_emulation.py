"""A crowd of processes in an emulated area: who hears whom, what gets through, and a trial that is measured."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pyarrow.parquet as pq
import pytest

from thyme.live.emulation.area import MAX_NODES, AirOptions, EmulatedArea, MediumOptions, scattered
from thyme.live.emulation.map import shown
from thyme.live.emulation.pair_sockets import Air
from thyme.live.emulation.stage import Stage, StageOptions
from thyme.live.emulation.trial import Trial, TrialOptions, WorkloadOptions, operations_of, write_events
from thyme.model.errors import InputError
from thyme.model.geometry import Point
from thyme.model.records import EVENT_COLUMNS, OperationKind

AIR = AirOptions(100.0, 100.0, range_m=50.0, loss=0.0, delay_s=0.0, jitter_s=0.0)
PATIENCE_S = 120.0


def area_of(*places: tuple[float, float], air: AirOptions = AIR) -> EmulatedArea:
    return EmulatedArea(air, [Point(*place) for place in places], seed=1)


def test_who_is_near_hears_unless_a_cut_is_between() -> None:
    area = area_of((10.0, 10.0), (40.0, 10.0), (90.0, 10.0))
    assert area.links() == [(0, 1), (1, 2)]
    area.place(2, Point(500.0, -5.0))
    assert area.places[2] == Point(100.0, 0.0)
    assert area.links() == [(0, 1)]
    area.cut_at_m = 25.0
    assert area.links() == []
    area.cut_at_m = None
    assert area.cut_link(1, 0)
    assert area.links() == []
    assert not area.cut_link(0, 1)
    assert area.links() == [(0, 1)]


def test_a_part_of_what_is_in_range_is_lost_and_the_rest_takes_its_time() -> None:
    lossy = AirOptions(100.0, 100.0, range_m=50.0, loss=0.3, delay_s=0.1, jitter_s=0.1)
    area = area_of((10.0, 10.0), (40.0, 10.0), air=lossy)
    delays = [area.delay_s(0, 1) for _ in range(2_000)]
    carried = [delay_s for delay_s in delays if delay_s is not None]
    assert 1_300 < len(carried) < 1_500
    assert 0.1 <= min(carried) < max(carried) < 0.2


@pytest.mark.parametrize(
    "wrong",
    [{"loss": 1.0}, {"range_m": 0.0}, {"delay_s": -1.0}, {"width_m": float("nan")}, {"medium": MediumOptions(-1.0)}],
)
def test_areas_that_cannot_be_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        msgspec.structs.replace(AirOptions(10.0, 10.0), **wrong)
    with pytest.raises(InputError, match=f"expected 1 to {MAX_NODES} nodes"):
        EmulatedArea(AIR, scattered(AIR, MAX_NODES + 1, 1), 1)


def test_the_air_carries_datagrams_between_those_who_hear_each_other() -> None:
    async def run() -> None:
        air = Air(area := area_of((10.0, 10.0), (40.0, 10.0), (95.0, 95.0)))
        air.open()
        ends = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(3)]
        try:
            for node, end in enumerate(ends):
                end.bind(("127.0.0.1", 0))
                end.settimeout(0.2)
                air.settle(node, end.getsockname())
            places = [[(host, int(port)) for host, port in (p.split(":") for p in air.peers_of(n))] for n in range(3)]
            ends[0].sendto(b"to one", places[0][0])
            ends[0].sendto(b"to two, who is far away", places[0][1])
            ends[2].sendto(b"by somebody else than node 0", places[0][0])
            data, sender = await asyncio.to_thread(ends[1].recvfrom, 100)
            assert (data, sender) == (b"to one", places[1][0])
            area.place(2, Point(50.0, 10.0))
            ends[0].sendto(b"now you are near", places[0][1])
            assert (await asyncio.to_thread(ends[2].recvfrom, 100))[0] == b"now you are near"
            assert air.carried == {(0, 1): 1, (0, 2): 1}
        finally:
            for end in ends:
                end.close()
            air.close()

    asyncio.run(run())


def test_the_workload_follows_from_its_seed_and_stays_in_its_time() -> None:
    options = WorkloadOptions(duration_s=30.0, inserts_per_s=5.0, deletes=0.5)
    operations = operations_of(options, 6, 10.0, seed=3)
    assert operations == operations_of(options, 6, 10.0, seed=3)
    assert operations != operations_of(options, 6, 10.0, seed=4)
    assert [each.operation for each in operations] == list(range(len(operations)))
    assert all(10.0 <= each.at_s < 40.0 for each in operations)
    kinds = [each.kind for each in operations]
    assert kinds.count(OperationKind.SUBSCRIBE) == 6
    assert kinds.count(OperationKind.DELETE) > 20


def test_the_map_shows_the_crowd_to_who_has_its_address_and_does_what_is_clicked(tmp_path: Path) -> None:
    async def run() -> None:
        stage = Stage(area_of((10.0, 10.0), (40.0, 10.0), (95.0, 95.0)), StageOptions(), tmp_path)
        async with shown(stage, "127.0.0.1:0") as (chart, address), httpx.AsyncClient() as browser:
            base, _, token = address.partition("/?token=")
            page = await browser.get(address)
            assert (page.status_code, "<canvas" in page.text) == (200, True)
            assert (await browser.get(base + "/map.js")).status_code == 200
            for stranger in ("/", "/events", "/?token=x"):
                assert (await browser.get(base + stranger)).status_code == 403
            deeds = [
                ({"do": "move", "node": 2, "x_m": 45.0, "y_m": 10.0}, 204),
                ({"do": "link", "node": 0, "other": 1}, 204),
                ({"do": "cut", "x_m": 42.0}, 204),
                ({"do": "kill", "node": 1}, 204),
                ({"do": "kill", "node": 3}, 400),
                ({"do": "dance", "node": 0}, 400),
                ({"do": "move", "node": 0, "why": 1}, 400),
            ]
            for deed, status in deeds:
                answer = await browser.post(f"{base}/deeds?token={token}", json=deed)
                assert answer.status_code == status, answer.text
            assert (await browser.post(f"{base}/deeds", json=deeds[0][0])).status_code == 403
            picture = chart.picture()
            assert (picture["nodes"][2]["x"], picture["cut"], picture["cutLinks"]) == (45.0, 42.0, [(0, 1)])
            assert picture["links"] == []
            assert picture["lines"][-1].endswith("kill node 1, by hand")
            await browser.post(f"{base}/deeds?token={token}", json={"do": "mend"})
            assert chart.picture()["links"] == [(0, 1), (0, 2), (1, 2)]

    asyncio.run(asyncio.wait_for(run(), PATIENCE_S))


def test_a_map_that_somebody_looks_at_ends_quietly(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def look() -> None:
        stage = Stage(area_of((10.0, 10.0)), StageOptions(), tmp_path)
        async with httpx.AsyncClient() as browser:
            async with shown(stage, "127.0.0.1:0") as (_, address):
                page, _, token = address.partition("?")
                request = browser.build_request("GET", f"{page}events?{token}")
                stream = await browser.send(request, stream=True)
                lines = stream.aiter_lines()
                await anext(lines)
            await stream.aclose()

    asyncio.run(asyncio.wait_for(look(), PATIENCE_S))
    assert not caplog.records


@pytest.mark.long
def test_a_trial_of_processes_survives_a_kill_and_leaves_events_like_a_simulation(tmp_path: Path) -> None:
    settings = {"join": {"wait_s": 0.05}}
    options = TrialOptions(
        3,
        AIR,
        StageOptions("ls", settings),
        WorkloadOptions(duration_s=3.0, inserts_per_s=6.0, settle_s=1.0, size_bytes=500),
        kills=1,
        revive_s=0.5,
        walkers=1,
        rest_s=0.5,
    )
    said: list[str] = []

    async def play() -> Trial:
        trial = Trial(options, tmp_path)
        trial.stage.area.places[:] = [Point(10.0, 10.0), Point(20.0, 10.0), Point(30.0, 10.0)]
        await trial.run(said.append)
        return trial

    trial = asyncio.run(asyncio.wait_for(play(), PATIENCE_S))
    assert [" was killed" in each or " is back" in each for each in said] == [False, True, True]
    events = tmp_path / "events.parquet"
    assert write_events(trial.stage.logs(), events) > 0
    table = pq.read_table(events)
    assert table.column_names == [name for name, _ in EVENT_COLUMNS]
    rows = table.to_pylist()
    notified = {(row["subscription"], row["object"]) for row in rows if row["kind"] == "notified"}
    assert notified
    assert {row["node"] for row in rows if row["kind"] == "joined"} == {0, 1, 2}
    assert {row["kind"] for row in rows} >= {"issued", "succeeded", "joined", "left", "phy sent"}
    assert [member.on for member in trial.stage.members] == [False, False, False]
    with pytest.raises(InputError, match="4 of 3 members cannot be killed"):
        TrialOptions(3, AIR, kills=4)
