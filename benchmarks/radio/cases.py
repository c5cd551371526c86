"""Calibration cases: small worlds in which one thing about the radio is measured.

The set-ups are those in which ns-3.44 was measured (tests/data/ns3), so that every figure has a counterpart; their
parameters can be changed, to fit the radio to other hardware. All return plain figures by name.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import merge
from pathlib import Path
from random import Random

import msgspec
import numpy as np
from numpy.typing import NDArray

from benchmarks.radio.sends import Send, in_disc, jittered, on_circle, periodic, play, poisson, standing
from benchmarks.radio.totals import totals_of
from thyme.model.errors import InputError
from thyme.sim.radios.wifi.profiles import WifiOptions, profile_named
from thyme.sim.radios.wifi.radio import RECEIVED, WifiRadio
from thyme.sim.radios.wifi.state import EVERYBODY
from thyme.world.mobility.placement import read_places

Figures = dict[str, float | int | str]

MAC = WifiOptions()
WARM_UP_S = 1.0  # the backoff that every node starts with is long over
SETTLE_S = 1.0  # after the last send, for what still waits


def _radio(
    points: list[tuple[float, float]], profile: str, mac: WifiOptions, seed: int, rts_threshold_bytes: int | None = None
) -> WifiRadio:
    if rts_threshold_bytes is not None:
        mac = msgspec.structs.replace(mac, rts_threshold_bytes=rts_threshold_bytes)
    return WifiRadio(standing(points), profile_named(profile), mac, seed)


def _mean(values: NDArray[np.float64]) -> float:
    return float(values.mean()) if len(values) else -1.0


def reception(
    distance_m: float,
    payload_bytes: int = 200,
    frames: int = 1000,
    profile: str = "thyme",
    mac: WifiOptions = MAC,
    seed: int = 1,
) -> Figures:
    """One node broadcasts to another `distance_m` away, without other traffic."""
    radio = _radio([(0.0, 0.0), (distance_m, 0.0)], profile, mac, seed)
    end_s = WARM_UP_S + 0.05 * frames
    played = play(radio, _evenly(frames, 0.05), payload_bytes, end_s + SETTLE_S)
    return {
        "reception_ratio": len(played.at_s) / frames,
        "mean_latency_s": _mean(played.latencies_s()),
        "frames": frames,
        "received": len(played.at_s),
    }


def _evenly(frames: int, gap_s: float) -> Iterator[Send]:
    return ((WARM_UP_S + gap_s * k, 0, EVERYBODY) for k in range(frames))


def carrier_sense(
    distance_m: float,
    payload_bytes: int = 1000,
    frames: int = 50,
    profile: str = "thyme",
    mac: WifiOptions = MAC,
    seed: int = 1,
) -> Figures:
    """The part of one node's airtime in which another finds the medium busy."""
    radio = _radio([(0.0, 0.0), (distance_m, 0.0)], profile, mac, seed)
    played = play(radio, _evenly(frames, 0.05), payload_bytes, WARM_UP_S + 0.05 * frames + SETTLE_S)
    counters = radio.counters
    return {
        "busy_fraction": float(counters["sensed_ns"][1]) / float(counters["tx_ns"][0]),
        "reception_ratio": len(played.at_s) / frames,
    }


def saturation(
    senders: int,
    payload_bytes: int = 1000,
    rts_threshold: int | None = None,
    seconds: float = 10.0,
    profile: str = "thyme",
    mac: WifiOptions = MAC,
    seed: int = 1,
) -> Figures:
    """Senders on a 5 m circle offer one receiver in its middle 12 Mbit/s altogether, twice what the air carries."""
    radio = _radio([(0.0, 0.0), *on_circle(senders, 5.0)], profile, mac, seed, rts_threshold)
    random = Random(seed)
    period_s = senders * payload_bytes * 8 / 12e6
    from_s, until_s = 3.0, 3.0 + seconds
    streams = [periodic(k + 1, 0, period_s, WARM_UP_S, until_s, random) for k in range(senders)]
    played = play(radio, merge(*streams), payload_bytes, until_s)
    counted = int(((played.at_s >= from_s) & (played.at_s < until_s)).sum())
    totals = totals_of(radio)
    return {
        "goodput_mbps": counted * payload_bytes * 8 / seconds / 1e6,
        "data_tx": totals.unicast_frames,
        "failed_fraction": totals.unanswered_data / max(1, totals.unicast_frames),
        "given_up_retries": totals.given_up_retries,
        "phy_tx_frames": totals.phy_tx_frames,
        "phy_tx_bytes": totals.phy_tx_bytes,
    }


def broadcast(
    nodes: int,
    payload_bytes: int = 100,
    rate: float = 10.0,
    arrivals: str = "periodic",
    seconds: float = 20.0,
    profile: str = "thyme",
    mac: WifiOptions = MAC,
    seed: int = 1,
) -> Figures:
    """Nodes in a disc of 10 m radius broadcast `rate` times a second each; counts receptions."""
    random = Random(seed)
    radio = _radio(in_disc(nodes, 10.0, random), profile, mac, seed)
    until_s = WARM_UP_S + seconds
    if arrivals == "periodic":
        streams = [periodic(k, EVERYBODY, 1.0 / rate, WARM_UP_S, until_s, random) for k in range(nodes)]
    elif arrivals == "poisson":
        streams = [poisson(k, EVERYBODY, rate, WARM_UP_S, until_s, random) for k in range(nodes)]
    else:
        raise InputError(f"arrivals {arrivals!r} is unknown; choose periodic or poisson")
    played = play(radio, merge(*streams), payload_bytes, until_s + SETTLE_S)
    totals = totals_of(radio)
    return {
        "reception_ratio": len(played.at_s) / max(1, played.sent * (nodes - 1)),
        "mean_latency_s": _mean(played.latencies_s()),
        "sent": played.sent,
        "received": len(played.at_s),
        "phy_tx_frames": totals.phy_tx_frames,
        "phy_tx_bytes": totals.phy_tx_bytes,
    }


def hidden(
    kind: str = "unicast",
    payload_bytes: int = 200,
    rate: float = 100.0,
    distance_m: float = 45.0,
    rts_threshold: int | None = None,
    seconds: float = 20.0,
    profile: str = "def",
    mac: WifiOptions = MAC,
    seed: int = 1,
) -> Figures:
    """Two senders `distance_m` on either side of a receiver, Poisson traffic: hidden from each other if far enough."""
    if kind not in ("unicast", "broadcast"):
        raise InputError(f"kind {kind!r} is unknown; choose unicast or broadcast")
    radio = _radio([(0.0, 0.0), (-distance_m, 0.0), (distance_m, 0.0)], profile, mac, seed, rts_threshold)
    random = Random(seed)
    until_s = WARM_UP_S + seconds
    to = 0 if kind == "unicast" else EVERYBODY
    streams = [poisson(k, to, rate, WARM_UP_S, until_s, random) for k in (1, 2)]
    played = play(radio, merge(*streams), payload_bytes, until_s + SETTLE_S)
    heard = played.node == 0
    totals = totals_of(radio)
    return {
        "delivery": float(heard.sum()) / max(1, played.sent),
        "mean_latency_s": _mean(played.latencies_s()[heard]),
        "sent": played.sent,
        "data_tx": totals.unicast_frames + totals.broadcast_frames,
        "unanswered_data": totals.unanswered_data,
        "unanswered_rts": totals.unanswered_rts,
        "phy_tx_frames": totals.phy_tx_frames,
        "phy_tx_bytes": totals.phy_tx_bytes,
    }


def chain(
    hops: int,
    hop_length_m: float = 80.0,
    payload_bytes: int = 200,
    packets: int = 200,
    profile: str = "thyme",
    mac: WifiOptions = MAC,
    seed: int = 1,
) -> Figures:
    """Packets travel one at a time along a line of nodes, every hop a unicast."""
    radio = _radio([(hop_length_m * k, 0.0) for k in range(hops + 1)], profile, mac, seed)
    random = Random(seed)
    latencies_s: list[float] = []
    at_s = WARM_UP_S
    for packet in range(packets):
        radio.advance(at_s)
        radio.unicast(at_s, 0, 1, packet, payload_bytes)
        next_s = at_s + random.uniform(0.25, 0.35)
        while radio.advance(next_s):
            for row in radio.happened():
                if row["kind"] != RECEIVED or row["frame"] != packet:
                    continue
                node, when_s = int(row["node"]), float(row["at_s"])
                if node == hops:
                    latencies_s.append(when_s - at_s)
                else:
                    radio.unicast(when_s, node, node + 1, packet, payload_bytes)
        at_s = next_s
    totals = totals_of(radio)
    return {
        "delivery": len(latencies_s) / packets,
        "mean_latency_s": _mean(np.array(latencies_s)),
        "phy_tx_frames": totals.phy_tx_frames,
        "phy_tx_bytes": totals.phy_tx_bytes,
    }


def beacons(
    topology: Path,
    seconds: float = 60.0,
    payload_bytes: int = 50,
    range_m: float = 51.0,
    profile: str = "def",
    mac: WifiOptions = MAC,
    seed: int = 1,
) -> Figures:
    """Every node of a topology broadcasts every 0.9 to 1.1 s; receptions among pairs closer than `range_m`."""
    points = read_places(topology).tolist()
    radio = _radio(points, profile, mac, seed)
    random = Random(seed)
    streams = [jittered(k, EVERYBODY, 0.9, 1.1, 0.0, seconds, random) for k in range(len(points))]
    played = play(radio, merge(*streams), payload_bytes, seconds + SETTLE_S)
    xy = np.array(points)
    near = np.hypot(xy[:, None, 0] - xy[:, 0], xy[:, None, 1] - xy[:, 1]) < range_m
    np.fill_diagonal(near, False)
    expected = int(near.sum(axis=1)[played.sender].sum())
    in_range = int(near[played.peer, played.node].sum())
    totals = totals_of(radio)
    return {
        "reception_ratio": in_range / max(1, expected),
        "receptions_per_beacon": len(played.at_s) / max(1, played.sent),
        "sent": played.sent,
        "phy_tx_frames": totals.phy_tx_frames,
        "phy_tx_bytes": totals.phy_tx_bytes,
    }
