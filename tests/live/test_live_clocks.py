"""Devices whose clocks disagree go by one time, and are told of it."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from thyme.live import Node
from thyme.live.link.crowd_time import CrowdTime, Reading
from thyme.live.node.clock import Clock
from thyme.model.frames import TimeFrame

PATIENCE_S = 60.0
SETTINGS: dict[str, dict[str, Any]] = {
    "ls": {"join": {"wait_s": 0.05, "tries": 1, "delay_s": 0.01}},
    "dcs": {"grid": {"width_m": 80.0, "height_m": 40.0}, "join_wait_s": 0.3, "settle_s": 0.2},
}
PLACES = [(10.0, 20.0), (60.0, 20.0)]


@pytest.mark.parametrize("skew_s", [-300.0, -5.0, 5.0, 300.0])
@pytest.mark.parametrize("approach", ["ls", "dcs"])
def test_past_and_future_are_the_same_for_a_device_whose_clock_is_wrong(
    approach: str, skew_s: float, caplog: pytest.LogCaptureFixture
) -> None:
    def options(index: int) -> dict[str, Any]:
        place = {"position": PLACES[index]} if approach == "dcs" else {}
        return {"approach": approach, "settings": SETTINGS[approach], "store": "memory", **place}

    async def scene() -> None:
        skewed = Clock(time.time() + skew_s)
        async with Node(1, **options(0)) as one:
            await one.device.joined.wait()
            await asyncio.sleep(0.6)
            async with Node(2, clock=skewed, peers=[one.address], **options(1)) as two:
                await two.device.joined.wait()
                assert two.now() == pytest.approx(one.now(), abs=0.5)
                await one.insert("before", b"x", ["goal"])
                await asyncio.sleep(0.1)
                past = await two.subscribe("goal", TimeFrame.past(two.now()))
                start_s = two.now()
                future = await two.subscribe("goal", TimeFrame.future(start_s))
                while one.now() <= start_s:  # they agree to within half a round trip, and no better
                    await asyncio.sleep(0.01)
                await one.insert("at once", b"x", ["goal"])
                assert (await anext(past)).metadata.key.oid == "before"
                notice = await anext(future)
                assert notice.metadata.key.oid == "at once"
                assert -0.5 <= notice.delay_s < 5.0, "the time of a crowd is known to within half a round trip"

    async def run() -> None:
        async with asyncio.timeout(PATIENCE_S):
            await scene()

    asyncio.run(run())
    way = "ahead of" if skew_s > 0 else "behind"
    assert f"this device's clock is {abs(skew_s):.1f} s {way} that of node 1" in caplog.text
    assert "the clock of node 2 at 127.0.0.1" in caplog.text


class Watch:
    def __init__(self, now_s: float) -> None:
        self.now_s = now_s

    def __call__(self) -> float:
        return self.now_s


def test_the_older_time_holds_and_one_that_goes_back_only_slows_down() -> None:
    mine, theirs = Watch(1_000.0), Watch(900.0)
    older, younger = CrowdTime(theirs), CrowdTime(mine)
    theirs.now_s += 50.0
    younger.joined = True
    assert younger.is_older(older.reading(0.0))
    assert older.follow(younger.reading(0.0), 0.01, yields=True) is None
    assert younger.follow(older.reading(0.0), 0.0, yields=False) == pytest.approx(-50.0)
    assert younger.now() == pytest.approx(1_000.0), "it does not go back"
    for _ in range(10):
        before_s = younger.now()
        mine.now_s += 10.0
        theirs.now_s += 10.0
        assert younger.now() >= before_s + 4.9
    assert younger.now() == pytest.approx(older.now())
    assert not younger.is_older(older.reading(0.0)), "they are of one time now"


def test_before_it_has_joined_a_node_takes_the_time_it_finds_and_a_shared_clock_is_left_alone() -> None:
    found = Reading(500.0, 60.0, 7)
    newcomer, sharing = CrowdTime(Watch(505.0)), CrowdTime(Watch(505.0), fixed=True)
    assert newcomer.follow(found, 0.2, yields=False) == pytest.approx(-4.9)
    assert newcomer.now() == pytest.approx(500.1)
    assert sharing.follow(found, 0.2, yields=True) is None
    assert sharing.now() == 505.0


def test_clocks_of_one_time_that_come_apart_are_brought_together_by_one_of_them() -> None:
    mine = Watch(100.0)
    follower = CrowdTime(mine)
    follower.follow(Reading(100.0, 60.0, 7), 0.0, yields=False)
    mine.now_s = 200.0
    assert follower.follow(Reading(200.1, 160.0, 7), 0.01, yields=True) is None, "that is nothing"
    assert follower.follow(Reading(201.0, 160.0, 7), 0.01, yields=False) is None, "the other one yields"
    assert follower.follow(Reading(201.0, 160.0, 7), 0.01, yields=True) is not None
    assert follower.now() == pytest.approx(201.0, abs=0.01)
