"""What spares the radio work decides as that work would have."""

from __future__ import annotations

from random import Random
from typing import Literal

import numpy as np
import pytest

from benchmarks.radio.sends import Played, in_disc, play, poisson, standing
from benchmarks.radio.totals import totals_of
from thyme.sim.radios.wifi.profiles import WifiOptions, profile_named
from thyme.sim.radios.wifi.radio import WifiRadio
from thyme.sim.radios.wifi.state import EVERYBODY
from thyme.world.movement import Leg, Movement, movement_of_legs

NODES, UNTIL_S = 60, 1.5


def crowded(seed: int, speed_mps: float) -> tuple[Movement, list[tuple[float, int, int]]]:
    """People within and beyond each other's range who all talk, so that much is lost to noise and to each other."""
    draws = Random(seed)
    points = in_disc(NODES, 260.0, draws)
    movement = standing(points)
    if speed_mps > 0.0:
        movement = movement_of_legs(600.0, 600.0, [[Leg(0.0, x, y, speed_mps, -speed_mps)] for x, y in points])
    sends = []
    for node in range(NODES):
        sends += list(poisson(node, EVERYBODY, 6.0, 0.0, UNTIL_S, draws))
        sends += list(poisson(node, draws.choice([n for n in range(NODES) if n != node]), 6.0, 0.0, UNTIL_S, draws))
    return movement, sorted(sends)


def played(wifi: WifiRadio, sends: list[tuple[float, int, int]], payload_bytes: int) -> Played:
    return play(wifi, sends, payload_bytes, UNTIL_S + 1.0)


@pytest.mark.parametrize("speed_mps", [0.0, 3.0])
@pytest.mark.parametrize(("profile", "mode"), [("thyme", "ofdm6"), ("p27", "dsss1"), ("def", "ofdm6")])
def test_the_same_frames_are_received_with_bounds_that_never_decide(
    profile: str, mode: Literal["ofdm6", "dsss1"], speed_mps: float
) -> None:
    lost = 0
    for seed in range(4):
        movement, sends = crowded(seed, speed_mps)
        radios = [WifiRadio(movement, profile_named(profile), WifiOptions(broadcast_mode=mode), seed) for _ in range(2)]
        tables = radios[1].tables
        tables.rate_bound[:] = tables.header_bound[:] = np.nan  # which no number is below or above
        bounded, exact = (played(wifi, sends, 40 + 200 * seed) for wifi in radios)
        for column in ("at_s", "node", "peer", "token"):
            assert np.array_equal(getattr(bounded, column), getattr(exact, column))
        assert totals_of(radios[0]) == totals_of(radios[1])
        lost += totals_of(radios[0]).failed
    assert lost > 100, "nothing was to be decided"
