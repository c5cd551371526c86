"""Devices whose clocks disagree go by one time, and are told of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from cores import Air, Core

from thyme.live import Node
from thyme.live.link.crowd_time import CrowdTime, TimeFields
from thyme.live.node.clock import Clock
from thyme.model.frames import TimeFrame
from thyme.model.ids import NodeId

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


class Member:
    """A link with a crowd time, and a device's clock that is `wrong_s` ahead."""

    def __init__(self, number: int, wrong_s: float = 0.0, *, joined: bool = True) -> None:
        self.core = Core(number)
        self.wrong_s = wrong_s
        self._joined = joined

    def come(self, air: Air, *others: Member) -> CrowdTime:
        core = self.core
        self._now: Callable[[], float] = lambda: air.now_s
        self.time = CrowdTime(
            lambda: air.monotonic_s(core), self.wrong_s + core.slept_s, device=lambda: air.now_s + self.wrong_s
        )
        core.link.peering.time = self.time
        air.add(core)
        air.greet(core, *(other.core for other in others))
        air.run(1.0)
        self.time.joined = self._joined
        return self.time

    @property
    def off_s(self) -> float:
        """How far its time is ahead of the real one."""
        return self.time.now() - self._now()


def crowd(*wrong_s: float) -> tuple[Air, list[Member]]:
    """Members that came one after the other, with clocks that are wrong."""
    air, members = Air(), [Member(number, wrong) for number, wrong in enumerate(wrong_s, 1)]
    for i, member in enumerate(members):
        member.come(air, *members[:i])
    return air, members


def test_whoever_comes_goes_by_the_time_of_those_who_are_there() -> None:
    _, (one, two, three) = crowd(0.0, 300.0, -300.0)
    assert [one.off_s, two.off_s, three.off_s] == pytest.approx([0.0, 0.0, 0.0], abs=0.05)


@pytest.mark.parametrize("sleeper", [0, 1, 2])
@pytest.mark.parametrize("others", [0, 1, 2])
def test_a_laptop_that_was_suspended_moves_nobody_elses_time_and_is_right_soon(sleeper: int, others: int) -> None:
    air, members = crowd(*[0.0] * (1 + others))
    slept = members[min(sleeper, others)]
    air.sleep(slept.core, 45.0)
    assert slept.off_s == pytest.approx(-45.0)
    air.run(5.0)
    assert [member.off_s for member in members] == pytest.approx([0.0] * (1 + others), abs=0.05)
    air.run(90.0)
    assert [member.off_s for member in members] == pytest.approx([0.0] * (1 + others), abs=0.05)


@pytest.mark.parametrize("lie_s", [1e300, -1e300, 3.2e8, -3.2e8, 45.0])
def test_one_liar_moves_nobody_and_a_newcomer_is_right(lie_s: float) -> None:
    air, members = crowd(0.0, 0.0)
    liar = Member(3)
    liar.come(air)
    vars(liar.time)["reading"] = lambda asked_s, echo_s=0.0: TimeFields(air.now_s + lie_s, True, 0.0, asked_s, echo_s)
    air.greet(liar.core, *(member.core for member in members))
    air.run(60.0)
    assert [member.off_s for member in members] == pytest.approx([0.0, 0.0], abs=0.3)
    newcomer = Member(4)
    newcomer.come(air, liar, *members)
    assert newcomer.off_s == pytest.approx(0.0, abs=0.3)


def test_a_correction_that_no_clock_needs_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    air, (honest,) = crowd(0.0)
    for node, correction_s in ((2, 1e300), (3, 90.0)):
        liar = Member(node)
        liar.come(air)
        fields = partial(TimeFields, air.now_s, True, correction_s)
        vars(liar.time)["reading"] = lambda asked_s, echo_s=0.0, fields=fields: fields(asked_s, echo_s)
        air.greet(liar.core, honest.core)
        air.run(2.0)
    assert "90.0 s behind the time of this crowd" in caplog.text
    assert "00000000" not in caplog.text


def test_one_liar_alone_with_a_node_moves_it_slowly_and_not_for_ever() -> None:
    air, (honest,) = crowd(0.0)
    liar = Member(2)
    liar.come(air)
    vars(liar.time)["reading"] = lambda asked_s, echo_s=0.0: TimeFields(air.now_s + 3.2e8, True, 0.0, asked_s, echo_s)
    air.greet(liar.core, honest.core)
    air.run(60.0)
    assert 1.0 < honest.off_s <= 31.0
    air.remove(liar.core)
    air.run(120.0)
    assert honest.off_s == pytest.approx(0.0, abs=0.05)


def test_two_that_meet_with_different_times_agree_and_neither_goes_back() -> None:
    air, (early,) = crowd(-20.0)
    late = Member(2)
    late.come(air)
    air.greet(late.core, early.core)
    before_s = late.time.now(), early.time.now()
    for _ in range(60):
        air.run(1.0)
        now_s = late.time.now(), early.time.now()
        assert all(now > before for now, before in zip(now_s, before_s, strict=True))
        before_s = now_s
    assert [early.off_s, late.off_s] == pytest.approx([0.0, 0.0], abs=0.3)


def test_a_crowd_whose_first_clock_was_wrong_approaches_the_time_of_most_and_stays_together() -> None:
    air, members = crowd(-30.0, 0.0, 0.0, 0.0)
    assert [member.off_s for member in members] == pytest.approx([-30.0] * 4, abs=1.0)
    for _ in range(180):
        air.run(10.0)
        offs_s = [member.off_s for member in members]
        assert max(offs_s) - min(offs_s) < 1.0
    assert offs_s == pytest.approx([0.0] * 4, abs=1.1)


def test_a_shared_clock_is_left_alone() -> None:
    sharing = CrowdTime(lambda: 505.0, fixed=True)
    assert sharing.compare(NodeId(2), TimeFields(500.0, True), 0.2) is None
    assert sharing.now() == 505.0
