"""DSDV on the 802.11g radio beside ns-3.44's measurement of the same nodes in the same places."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.radio.dsdv import dsdv

TOPOLOGY = Path(__file__).parents[1] / "data" / "ns3" / "topology_n16_run1.csv"


def test_sixteen_nodes_send_what_they_send_in_ns3() -> None:
    figures = dsdv(TOPOLOGY, 720.0, "def", seed=1)
    assert figures["updates"] == pytest.approx(12_423, rel=0.10)
    assert figures["phy_tx_frames"] == pytest.approx(14_230, rel=0.10)
    assert figures["phy_tx_bytes"] == pytest.approx(1_439_942, rel=0.10)
    assert figures["delivery"] == pytest.approx(1.0, abs=0.02)


def test_the_case_depends_on_its_seed_alone() -> None:
    first = dsdv(TOPOLOGY, 70.0, seed=3)
    assert dsdv(TOPOLOGY, 70.0, seed=3) == first
    assert dsdv(TOPOLOGY, 70.0, seed=4) != first


def test_a_tenth_of_the_gap_is_ten_times_the_packets() -> None:
    few, many = (int(dsdv(TOPOLOGY, 120.0, gap_s=gap_s)["packets"]) for gap_s in (20.0, 2.0))
    assert many == pytest.approx(10 * few, rel=0.4)
    assert many == pytest.approx(16 * 60 / 2.0, rel=0.15)
