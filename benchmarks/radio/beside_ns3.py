"""The benchmark of the 802.11g radio: beside ns-3 on the same scenarios, and over the size of the world.

The scenarios are the reference's, with nodes at 800 m² each: beacons of 50 bytes every 0.9 to 1.1 s, and a network
that routes by DSDV. ns-3 runs the same topology in the same benchmark where it is installed (`bench/ns3`). CPU seconds
of ns-3 are those of its event loop, after everything is compiled and built, and so are ours of beacons; ours of DSDV
include building the world. The package is built with asserts and logging, so its speed is not ns-3's best.
"""

from __future__ import annotations

import math
import resource
import tempfile
import time
from collections.abc import Iterator, Sequence
from heapq import merge
from pathlib import Path
from random import Random

import msgspec
import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from benchmarks.ns3.peer import REFERENCE, Ns3Figures, find_ns3, ns3_figures
from benchmarks.radio.cases import reception
from benchmarks.radio.dsdv import dsdv
from benchmarks.radio.sends import Send, jittered, play, standing
from thyme.sim.radios.wifi.profiles import WifiOptions, profile_named
from thyme.sim.radios.wifi.radio import WifiRadio
from thyme.sim.radios.wifi.state import EVERYBODY
from thyme.world.mobility.placement import read_places, write_topology

NODE_M2 = 800.0
PAYLOAD_BYTES = 50
DSDV_WARM_UP_S = 70.0
"""Long enough for packets to be sent, from 60 s on."""


class BeaconRow(msgspec.Struct, frozen=True):
    """One topology whose nodes send beacons, simulated by both."""

    nodes: int
    seconds: float
    frames: int
    cpu_s: float
    ns3: Ns3Figures

    @property
    def ratio(self) -> float:
        """How many times the CPU time per frame of ours ns-3 needs."""
        return (self.ns3.cpu_s / self.ns3.frames) / (self.cpu_s / self.frames)


class DsdvRow(BeaconRow, frozen=True):
    """One topology whose nodes route by DSDV, simulated by both."""


class SizeRow(msgspec.Struct, frozen=True):
    """One size of the world at constant density."""

    profile: str
    nodes: int
    frames: int
    hearers: float
    receptions: int
    build_cpu_s: float
    cpu_s: float
    peak_rss_mb: float

    @property
    def frame_us(self) -> float:
        return 1e6 * self.cpu_s / self.frames

    @property
    def hearer_ns(self) -> float:
        """Of one frame at one of those that sense it."""
        return 1e3 * self.frame_us / self.hearers


class RadioBench(msgspec.Struct, frozen=True):
    beacons: list[BeaconRow]
    dsdv: list[DsdvRow]
    sizes: list[SizeRow]


def bench_radio(
    beacon_nodes: Sequence[int] = (36, 64, 144),
    dsdv_nodes: Sequence[int] = (36, 64),
    sizes: Sequence[int] = (100, 1_000, 10_000),
    seconds: float = 120.0,
    dsdv_seconds: float = 180.0,
    frames: int = 40_000,
    profiles: Sequence[str] = ("def", "thyme"),
    ns3_python: Path | None = None,
    seed: int = 1,
) -> RadioBench:
    """Measure all tables; `ns3_python` is an interpreter that can `import ns` (default: .venv-ns3, if it exists)."""
    reception(10.0, frames=1)
    python = find_ns3(ns3_python)
    rows = [_size_row(profile, nodes, frames, seed) for profile in profiles for nodes in sizes]
    beacons = [_beacon_row(nodes, seconds, python, seed) for nodes in beacon_nodes]
    return RadioBench(beacons, [_dsdv_row(nodes, dsdv_seconds, python, seed) for nodes in dsdv_nodes], rows)


def _radio(points: list[tuple[float, float]], profile: str, seed: int) -> WifiRadio:
    return WifiRadio(standing(points), profile_named(profile), WifiOptions(), seed)


def _beacons(nodes: int, seconds: float, seed: int) -> Iterator[Send]:
    random = Random(seed)
    return merge(*(jittered(k, EVERYBODY, 0.9, 1.1, 0.0, seconds, random) for k in range(nodes)))


def _spread(nodes: int, seed: int) -> list[tuple[float, float]]:
    """Nodes uniform in a rectangle twice as wide as high, at the reference's density."""
    random = Random(seed)
    height_m = math.sqrt(nodes * NODE_M2 / 2.0)
    return [(2.0 * height_m * random.random(), height_m * random.random()) for _ in range(nodes)]


def _size_row(profile: str, nodes: int, frames: int, seed: int) -> SizeRow:
    """The radio alone: the list of sends is drawn up before the clock starts."""
    seconds = max(2.0, frames / nodes)
    sends = list(_beacons(nodes, seconds, seed))
    points = _spread(nodes, seed)
    start_s = time.process_time()
    radio = _radio(points, profile, seed)
    built_s = time.process_time()
    played = play(radio, sends, PAYLOAD_BYTES, seconds + 1.0)
    cpu_s = time.process_time() - built_s
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    hearers = radio.mean_hearers()
    return SizeRow(profile, nodes, played.sent, hearers, len(played.at_s), built_s - start_s, cpu_s, peak_mb)


def topology_of(nodes: int, seed: int, folder: Path) -> Path:
    """The reference's topology, or one of its kind where the reference tables are not at hand."""
    reference = REFERENCE / f"topology_n{nodes}_run1.csv"
    if reference.is_file():
        return reference
    path = folder / f"topology_n{nodes}.csv"
    write_topology(path, np.array(_spread(nodes, seed)))
    return path


def _beacon_row(nodes: int, seconds: float, python: Path | None, seed: int) -> BeaconRow:
    with tempfile.TemporaryDirectory() as folder:
        topology = topology_of(nodes, seed, Path(folder))
        radio = _radio(read_places(topology).tolist(), "def", seed)
        start_s = time.process_time()
        frames = play(radio, _beacons(nodes, seconds, seed), PAYLOAD_BYTES, seconds + 1.0).sent
        cpu_s = time.process_time() - start_s
        ns3 = ns3_figures("beacons", python, topology, seconds, seed)
    return BeaconRow(nodes, seconds, frames, cpu_s, ns3)


def _dsdv_row(nodes: int, seconds: float, python: Path | None, seed: int) -> DsdvRow:
    with tempfile.TemporaryDirectory() as folder:
        topology = topology_of(nodes, seed, Path(folder))
        # Loads the compiled code of the radio and of the routing tables, which is no part of a run's cost.
        dsdv(topology, min(seconds, DSDV_WARM_UP_S), seed=seed)
        start_s = time.process_time()
        frames = int(dsdv(topology, seconds, seed=seed)["phy_tx_frames"])
        cpu_s = time.process_time() - start_s
        ns3 = ns3_figures("dsdv", python, topology, seconds, seed)
    return DsdvRow(nodes, seconds, frames, cpu_s, ns3)


def print_radio(bench: RadioBench, console: Console) -> None:
    """All tables, for people; none is wider than 80 characters, which is what a file gets."""
    for title, rows in (("Beacons", bench.beacons), ("DSDV", bench.dsdv)):
        console.print(_beside_ns3(f"{title}, radio profile def", rows))
        for row in rows:
            console.print(f"ns-3 with {row.nodes} nodes: {row.ns3.source}", highlight=False)
        console.print()
    title = "Cost of a frame over the size of the world, 800 m² per node"
    columns = ("profile", "nodes", "frames", "hearers", "build\nCPU s", "CPU s", "µs per\nframe", "ns per\nhearer")
    table = _table(title, (*columns, "peak\nMB"))
    for size in bench.sizes:
        table.add_row(
            *(size.profile, f"{size.nodes:,}", f"{size.frames:,}", f"{size.hearers:.1f}", f"{size.build_cpu_s:.2f}"),
            *(f"{size.cpu_s:.2f}", f"{size.frame_us:.1f}", f"{size.hearer_ns:.0f}", f"{size.peak_rss_mb:.0f}"),
        )
    console.print(table)


def _table(title: str, columns: Sequence[str]) -> Table:
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    return table


def _beside_ns3(title: str, rows: Sequence[BeaconRow]) -> Table:
    """The ratio is that of CPU times per frame, since the two do not send exactly as many."""
    ours = ("nodes", "time s", "frames", "CPU s", "frames/\nCPU s")
    table = _table(title, (*ours, "ns-3\nframes", "ns-3\nCPU s", "frames/\nCPU s", "ratio"))
    for row in rows:
        theirs = ("–", "–", "–", "–")
        if not math.isnan(row.ns3.cpu_s):
            per_s = f"{row.ns3.frames / row.ns3.cpu_s:,.0f}"
            theirs = (f"{row.ns3.frames:,}", f"{row.ns3.cpu_s:.2f}", per_s, f"{row.ratio:.1f}")
        table.add_row(
            *(str(row.nodes), f"{row.seconds:g}", f"{row.frames:,}", f"{row.cpu_s:.3f}"),
            *(f"{row.frames / row.cpu_s:,.0f}", *theirs),
        )
    return table
