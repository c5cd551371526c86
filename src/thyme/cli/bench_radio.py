"""The benchmark of the 802.11g radio: beside ns-3 on the same scenario, and over the size of the world.

The scenario is the reference's: nodes at 800 m² each broadcast 50 bytes every 0.9 to 1.1 s. ns-3 runs the same
topology in the same benchmark when an interpreter with the PyPI package `ns3` is there; otherwise the CPU seconds of
the reference tables, measured once on another day, stand beside ours and are labelled so. CPU seconds are those of
the event loop, after everything is compiled and built. The package is built with asserts and logging, so its speed
is not ns-3's best.
"""

from __future__ import annotations

import csv
import json
import math
import resource
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from heapq import merge
from pathlib import Path
from random import Random

import msgspec
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from thyme.model.errors import InputError
from thyme.sim.wifi import Wifi, WifiOptions, profile_named
from thyme.sim.wifi.calibration import read_topology, reception
from thyme.sim.wifi.play import Send, jittered, play, standing
from thyme.sim.wifi.state import EVERYBODY

NS3_PYTHON = Path(".venv-ns3/bin/python")
REFERENCE = Path(__file__).parents[3] / "tests" / "data" / "ns3"
NODE_M2 = 800.0
PAYLOAD_BYTES = 50


class BeaconRow(msgspec.Struct, frozen=True):
    """One topology, simulated by both."""

    nodes: int
    seconds: float
    frames: int
    cpu_s: float
    ns3_cpu_s: float
    ns3_frames: int
    ns3_source: str

    @property
    def ratio(self) -> float:
        """How many times the CPU time per frame of ours ns-3 needs."""
        return (self.ns3_cpu_s / self.ns3_frames) / (self.cpu_s / self.frames)


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
    sizes: list[SizeRow]


def bench_radio(
    beacon_nodes: Sequence[int] = (36, 64, 144),
    sizes: Sequence[int] = (100, 1_000, 10_000),
    seconds: float = 120.0,
    frames: int = 40_000,
    profiles: Sequence[str] = ("def", "thyme"),
    ns3_python: Path | None = None,
    seed: int = 1,
) -> RadioBench:
    """Measure both tables; `ns3_python` is an interpreter that can `import ns` (default: .venv-ns3, if it exists)."""
    reception(10.0, frames=1)
    if ns3_python is not None and not ns3_python.is_file():
        raise InputError(f"there is no interpreter at {ns3_python}; give the Python of an environment with `ns3`")
    python = ns3_python if ns3_python is not None else (NS3_PYTHON if NS3_PYTHON.is_file() else None)
    rows = [_size_row(profile, nodes, frames, seed) for profile in profiles for nodes in sizes]
    return RadioBench([_beacon_row(nodes, seconds, python, seed) for nodes in beacon_nodes], rows)


def _radio(points: list[tuple[float, float]], profile: str, seed: int) -> Wifi:
    return Wifi(standing(points), profile_named(profile), WifiOptions(), seed)


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


def _topology(nodes: int, seed: int, folder: Path) -> Path:
    """The reference's topology, or one of its kind where the reference tables are not at hand."""
    reference = REFERENCE / f"topology_n{nodes}_run1.csv"
    if reference.is_file():
        return reference
    path = folder / f"topology_n{nodes}.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("node", "x_m", "y_m"))
        writer.writerows((k, x, y) for k, (x, y) in enumerate(_spread(nodes, seed)))
    return path


def _beacon_row(nodes: int, seconds: float, python: Path | None, seed: int) -> BeaconRow:
    with tempfile.TemporaryDirectory() as folder:
        topology = _topology(nodes, seed, Path(folder))
        radio = _radio(read_topology(topology), "def", seed)
        start_s = time.process_time()
        frames = play(radio, _beacons(nodes, seconds, seed), PAYLOAD_BYTES, seconds + 1.0).sent
        cpu_s = time.process_time() - start_s
        if python is None:
            ns3_cpu_s, ns3_frames, source = _reference_cpu(nodes)
        else:
            ns3_cpu_s, ns3_frames, source = _ns3_cpu(python, topology, seconds, seed)
    return BeaconRow(nodes, seconds, frames, cpu_s, ns3_cpu_s, ns3_frames, source)


def _ns3_cpu(python: Path, topology: Path, seconds: float, seed: int) -> tuple[float, int, str]:
    script = Path(__file__).with_name("ns3_beacons.py")
    command = [str(python), str(script), str(topology), str(seconds), str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = done.stdout.strip().splitlines()
    if done.returncode != 0 or not lines:
        error = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise InputError(f"ns-3 did not run with {python}: {error}")
    figures = json.loads(lines[-1])
    return float(figures["cpu_s"]), int(figures["frames"]), "measured now"


def _reference_cpu(nodes: int) -> tuple[float, int, str]:
    path = REFERENCE / "net_beacon.csv"
    if path.is_file():
        with path.open(newline="") as file:
            for row in csv.DictReader(file):
                if int(row["n"]) == nodes:
                    return float(row["cpu_s"]), int(row["phy_tx_packets"]), "reference table, not this run"
    return math.nan, 1, "not measured"


def print_radio(bench: RadioBench, console: Console) -> None:
    """Both tables, for people."""
    table = Table(title="Beacons, radio profile def", box=SIMPLE_HEAD)
    for column in ("nodes", "simulated s", "frames", "CPU s", "frames/CPU s", "ns-3 CPU s", "ns-3 is", "ratio"):
        table.add_column(column, justify="right")
    for row in bench.beacons:
        table.add_row(
            *(str(row.nodes), f"{row.seconds:g}", f"{row.frames:,}", f"{row.cpu_s:.3f}"),
            *(f"{row.frames / row.cpu_s:,.0f}", f"{row.ns3_cpu_s:.2f}", row.ns3_source, f"{row.ratio:.0f} ×"),
        )
    console.print(table)
    table = Table(title="Cost of a frame over the size of the world, 800 m² per node", box=SIMPLE_HEAD)
    for column in ("profile", "nodes", "frames", "hearers", "build s", "CPU s", "µs/frame", "ns/hearer", "peak MB"):
        table.add_column(column, justify="right")
    for size in bench.sizes:
        table.add_row(
            *(size.profile, f"{size.nodes:,}", f"{size.frames:,}", f"{size.hearers:.1f}", f"{size.build_cpu_s:.2f}"),
            *(f"{size.cpu_s:.2f}", f"{size.frame_us:.1f}", f"{size.hearer_ns:.0f}", f"{size.peak_rss_mb:.0f}"),
        )
    console.print(table)
