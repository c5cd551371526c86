"""The radio agrees with ns-3.44 within the bounds that its users were promised."""

from __future__ import annotations

from collections.abc import Callable
from heapq import merge
from pathlib import Path
from random import Random

import msgspec
import numpy as np
import pytest

from benchmarks.radio.cases import (
    beacons,
    broadcast,
    carrier_sense,
    chain,
    hidden,
    reception,
    saturation,
)
from benchmarks.radio.sends import jittered, play, standing
from thyme.sim.radios.wifi.profiles import PROFILES, WifiOptions
from thyme.sim.radios.wifi.radio import WifiRadio
from thyme.sim.radios.wifi.state import EVERYBODY
from thyme.world.mobility.placement import read_places

Rows = Callable[..., list[dict[str, str]]]
MODES = {"6": WifiOptions(broadcast_mode="ofdm6"), "default": WifiOptions(broadcast_mode="dsss1")}
KINDS = {"ucast": "unicast", "bcast": "broadcast"}


def crossing_m(distances_m: list[float], ratios: list[float]) -> float:
    """Where a falling curve crosses one half."""
    after = next(k for k, ratio in enumerate(ratios) if ratio < 0.5)
    high, low = ratios[after - 1], ratios[after]
    part = (high - 0.5) / (high - low)
    return distances_m[after - 1] + part * (distances_m[after] - distances_m[after - 1])


@pytest.mark.parametrize("payload_bytes", [200, 1000])
@pytest.mark.parametrize("mode", ["6", "default"])
@pytest.mark.parametrize("profile", ["def", "p27"])
def test_reception_over_distance(ns3: Rows, profile: str, mode: str, payload_bytes: int) -> None:
    rows = ns3(
        "calib_prr_vs_distance",
        profile=profile,
        nonunicast_mode=mode,
        payload_bytes=payload_bytes,
        error_model="default",
    )
    distances_m = [float(row["distance_m"]) for row in rows]
    theirs = [float(row["prr"]) for row in rows]
    ours = []
    for distance_m, ratio in zip(distances_m, theirs, strict=True):
        frames = 4000 if 0.0 < ratio < 1.0 else 100
        figures = reception(distance_m, payload_bytes, frames, profile, MODES[mode])
        ours.append(float(figures["reception_ratio"]))
    assert np.abs(np.array(ours) - np.array(theirs)).max() <= 0.05
    assert crossing_m(distances_m, ours) == pytest.approx(crossing_m(distances_m, theirs), abs=2.0)


@pytest.mark.parametrize("payload_bytes", [200, 1000])
def test_the_fit_of_the_table_driven_error_model(ns3: Rows, payload_bytes: int) -> None:
    rows = ns3("calib_prr_vs_distance", error_model="ns3::TableBasedErrorRateModel", payload_bytes=payload_bytes)
    profile = msgspec.structs.replace(PROFILES["p27"], error_model="table")
    for row in rows:
        if not 110 <= float(row["distance_m"]) <= 145:
            continue
        points = [(0.0, 0.0), (float(row["distance_m"]), 0.0)]
        radio = WifiRadio(standing(points), profile, WifiOptions(), 1)
        played = play(radio, ((1.0 + 0.01 * k, 0, EVERYBODY) for k in range(2000)), payload_bytes, 22.0)
        assert len(played.at_s) / 2000 == pytest.approx(float(row["prr"]), abs=0.05), row["distance_m"]


@pytest.mark.parametrize("profile", ["def", "p27"])
def test_carrier_sense_over_distance(ns3: Rows, profile: str) -> None:
    for row in ns3("calib_carrier_sense", profile=profile):
        figures = carrier_sense(float(row["distance_m"]), frames=5, profile=profile)
        assert figures["busy_fraction"] == pytest.approx(float(row["busy_fraction"]), abs=0.001), row["distance_m"]


@pytest.mark.parametrize(("senders", "rts"), [(1, 1500), (2, 1500), (10, 1500), (40, 1500), (1, 0), (40, 0)])
def test_saturation_goodput(ns3: Rows, senders: int, rts: int) -> None:
    (row,) = ns3("calib_saturation", k_senders=senders, rts_threshold=rts)
    figures = saturation(senders, 1000, rts, profile="def")
    assert figures["goodput_mbps"] == pytest.approx(float(row["goodput_mbps"]), rel=0.05)
    assert figures["failed_fraction"] == pytest.approx(float(row["failed_fraction"]), abs=0.03)


@pytest.mark.parametrize(
    ("mode", "nodes"), [("6", 2), ("6", 20), ("6", 50), ("6", 100), ("default", 20), ("default", 50)]
)
def test_broadcast_collisions(ns3: Rows, mode: str, nodes: int) -> None:
    # phases stay locked, so single runs scatter: means over runs are compared
    rows = ns3("calib_broadcast_collisions", nonunicast_mode=mode, k_nodes=nodes)
    theirs = np.mean([float(row["reception_ratio"]) for row in rows])
    ours = [
        broadcast(
            nodes,
            100,
            10.0,
            seconds=2.0,
            profile="def",
            mac=MODES[mode],
            seed=seed,
        )["reception_ratio"]
        for seed in range(1, 9)
    ]
    assert np.mean(np.array(ours, dtype=float)) == pytest.approx(theirs, abs=0.03)


@pytest.mark.parametrize("rate", [50, 200, 400])
@pytest.mark.parametrize(
    ("kind", "rts", "distance_m"),
    [("ucast", 1500, 20), ("bcast", 1500, 20), ("ucast", 1500, 45), ("ucast", 0, 45), ("bcast", 1500, 45)],
)
def test_hidden_terminals(ns3: Rows, kind: str, rts: int, rate: int, distance_m: int) -> None:
    (row,) = ns3("calib_hidden_terminal", kind=kind, rate_pps_each=rate, d_ab_m=distance_m, rts_threshold=rts)
    figures = hidden(KINDS[kind], 200, rate, distance_m, rts, seconds=20.0, profile="def")
    assert figures["delivery"] == pytest.approx(float(row["delivery"]), abs=0.03)
    theirs = int(row["mac_tx_data_failed"]) / int(row["sent"])
    assert float(figures["unanswered_data"]) / float(figures["sent"]) == pytest.approx(theirs, abs=0.03)


@pytest.mark.parametrize("rate", [50, 100, 150, 200])
@pytest.mark.parametrize("payload_bytes", [400, 600, 800, 1000])
def test_hidden_terminals_under_load(ns3: Rows, payload_bytes: int, rate: int) -> None:
    rows = ns3("calib_hidden_load", payload_bytes=payload_bytes, rate_pps_each=rate)
    runs = [hidden("unicast", payload_bytes, rate, seconds=20.0, profile="def", seed=seed) for seed in (1, 2, 3)]
    sent, theirs_sent = sum(int(run["sent"]) for run in runs), sum(int(row["sent"]) for row in rows)
    ours = np.mean([float(run["delivery"]) for run in runs])
    assert ours == pytest.approx(np.mean([float(row["delivery"]) for row in rows]), abs=0.015)
    unanswered = sum(int(run["unanswered_data"]) for run in runs) / sent
    assert unanswered == pytest.approx(sum(int(row["mac_tx_data_failed"]) for row in rows) / theirs_sent, abs=0.06)
    delay_s = np.mean([float(run["mean_latency_s"]) for run in runs])
    assert delay_s == pytest.approx(np.mean([float(row["mean_delay_s"]) for row in rows]), rel=0.2)


@pytest.mark.parametrize("hops", range(1, 9))
@pytest.mark.parametrize(("profile", "hop_m"), [("def", 25), ("def", 40), ("p27", 85)])
def test_latency_along_a_chain(ns3: Rows, profile: str, hop_m: int, hops: int) -> None:
    (row,) = ns3("calib_chain_latency", profile=profile, hop_m=hop_m, hops=hops)
    figures = chain(hops, float(hop_m), packets=20, profile=profile)
    assert figures["delivery"] == 1.0
    assert figures["mean_latency_s"] == pytest.approx(float(row["mean_latency_s"]), rel=0.01)


@pytest.mark.parametrize("nodes", [16, 36])
def test_beacons(ns3: Rows, topologies: Path, nodes: int) -> None:
    (row,) = ns3("net_beacon", n=nodes)
    seconds = float(row["sim_s"]) / 4
    figures = beacons(topologies / f"topology_n{nodes}_run1.csv", seconds, profile="def")
    assert figures["phy_tx_frames"] == pytest.approx(int(row["phy_tx_packets"]) / 4, rel=0.02)
    assert figures["phy_tx_bytes"] == pytest.approx(int(row["phy_tx_bytes"]) / 4, rel=0.02)
    assert figures["receptions_per_beacon"] == pytest.approx(float(row["receptions_per_beacon"]), rel=0.01)
    assert figures["reception_ratio"] == pytest.approx(float(row["reception_ratio_in_range"]), abs=0.002)


@pytest.mark.parametrize(("profile", "nodes"), [("p27", 36), ("def", 36), ("p27", 64)])
def test_beacons_under_load(ns3: Rows, topologies: Path, profile: str, nodes: int) -> None:
    (row,) = ns3("net_beacon_load", profile=profile, n=nodes)
    points = read_places(topologies / f"topology_n{nodes}_run1.csv").tolist()
    radio = WifiRadio(standing(points), PROFILES[profile], WifiOptions(), 1)
    random = Random(1)
    gap_s = float(row["gap_lo_s"]), float(row["gap_hi_s"])
    sends = merge(*(jittered(k, EVERYBODY, *gap_s, 0.0, 10.0, random) for k in range(nodes)))
    played = play(radio, sends, int(row["payload_bytes"]), 11.0)
    assert len(played.at_s) / played.sent == pytest.approx(float(row["receptions_per_beacon"]), rel=0.01)


def test_the_default_profile_reaches_adjacent_cells_and_little_more() -> None:
    across_two_cells_m = 2 * 2**0.5 * 40
    for payload_bytes in (200, 1000):
        assert float(reception(across_two_cells_m, payload_bytes, 4000)["reception_ratio"]) > 0.98
        assert float(reception(1.25 * across_two_cells_m, payload_bytes, 200)["reception_ratio"]) < 0.01
    assert carrier_sense(238.0)["busy_fraction"] == pytest.approx(0.997, abs=0.001)
    assert carrier_sense(239.0)["busy_fraction"] == 0.0
