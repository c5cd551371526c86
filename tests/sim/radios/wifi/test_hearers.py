"""Who may hear a frame, beside a measuring tape."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from thyme.compiled import tried
from thyme.sim.radios.wifi import building
from thyme.sim.radios.wifi.positions import find_hearers
from thyme.sim.radios.wifi.profiles import WifiOptions, profile_named
from thyme.sim.radios.wifi.radio import WifiRadio
from thyme.sim.radios.wifi.state import opened
from thyme.world.movement import Leg, Movement, movement_of_legs

NODES, SIDE_M, UNTIL_S = 300, 2_500.0, 20.0
HAIR_M = 1e-6
"""So close to the border of what is heard, rounding may decide."""


@tried
def look(addresses: int, n: int, now: int) -> None:
    e = opened(addresses)
    e.frame[0].sender = n
    find_hearers(e, 0, now)


def walkers(speed_mps: float, draws: Random) -> Movement:
    """Each goes along one of the axes, as fast as all, and turns after some seconds: so they leave the bins in which
    they are as far as they can."""
    ways = []
    for _ in range(NODES):
        x, y, at_s, way = draws.uniform(0.0, SIDE_M), draws.uniform(0.0, SIDE_M), 0.0, []
        while at_s < UNTIL_S:
            east_mps, north_mps = draws.choice([(1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0)])
            east_mps, north_mps = east_mps * speed_mps, north_mps * speed_mps
            way.append(Leg(at_s, x, y, east_mps, north_mps))
            lasts_s = draws.uniform(3.0, 12.0)
            x, y, at_s = x + east_mps * lasts_s, y + north_mps * lasts_s, at_s + lasts_s
        ways.append(way)
    return movement_of_legs(SIDE_M, SIDE_M, ways)


@pytest.mark.parametrize("near", [1, 400])
@pytest.mark.parametrize("drift_m", [2.0, 34.0])
@pytest.mark.parametrize("speed_mps", [1.0, 30.0])
def test_those_who_hear_a_frame_are_those_within_range(
    speed_mps: float, drift_m: float, near: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long it is kept in mind who may be near, and though there be no room to keep it."""
    monkeypatch.setattr(building, "NEAR", near)
    monkeypatch.setattr(building, "DRIFT_M", drift_m)
    draws = Random(int(speed_mps))
    movement = walkers(speed_mps, draws)
    wifi = WifiRadio(movement, profile_named("thyme"), WifiOptions(), 1)
    tables, hear_m = wifi.tables, float(wifi.tables.config[0]["hear_m"])
    looked = 0
    for now in range(0, int(UNTIL_S * 1e9), 50_000_000):
        places = movement.positions(now * 1e-9)
        for sender in draws.sample(range(NODES), 100):
            look(wifi.address, int(tables.number[sender]), now)
            rows = tables.hearer[: int(tables.frame[0]["hearers"])]
            found = set(tables.name[rows["node"]].tolist())
            away_m = np.hypot(*(places - places[sender]).T)
            surely = set(np.flatnonzero(away_m < hear_m - HAIR_M).tolist()) - {sender}
            perhaps = set(np.flatnonzero(away_m < hear_m + HAIR_M).tolist())
            assert surely <= found <= perhaps
            looked += len(found)
    assert looked > 10_000
