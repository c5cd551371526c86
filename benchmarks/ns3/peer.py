"""What ns-3 needs for a scenario of the radio's benchmark: measured now, or read from the reference tables.

ns-3 runs in a process of its own, by an interpreter with the PyPI package `ns3`. Without one, the CPU seconds of the
reference tables, measured once on another day and for a time of their own, take their place and are labelled so;
where those have no row for a topology, there is no figure.
"""

from __future__ import annotations

import csv
import json
import math
import subprocess
from pathlib import Path

import msgspec

from thyme.model.errors import InputError

NS3_PYTHON = Path(".venv-ns3/bin/python")
REFERENCE = Path(__file__).parents[2] / "tests" / "data" / "ns3"


class Ns3Figures(msgspec.Struct, frozen=True):
    """CPU seconds of ns-3's event loop, the frames its nodes sent, and where both come from."""

    cpu_s: float
    frames: int
    source: str


def find_ns3(python: Path | None) -> Path | None:
    """The interpreter that was asked for, else the one `make bench-ns3` sets up, if it did."""
    if python is not None and not python.is_file():
        raise InputError(f"there is no interpreter at {python}; give the Python of an environment with `ns3`")
    return python if python is not None else (NS3_PYTHON if NS3_PYTHON.is_file() else None)


def ns3_figures(scenario: str, python: Path | None, topology: Path, seconds: float, seed: int) -> Ns3Figures:
    """Of `scenario` ("beacons" or "dsdv") on a topology."""
    if python is not None:
        return _measure(scenario, python, topology, seconds, seed)
    with topology.open(newline="") as file:
        nodes = sum(1 for _ in csv.DictReader(file))
    return _look_up(REFERENCE / {"beacons": "net_beacon.csv", "dsdv": "net_dsdv.csv"}[scenario], nodes)


def _measure(scenario: str, python: Path, topology: Path, seconds: float, seed: int) -> Ns3Figures:
    script = Path(__file__).with_name(f"{scenario}.py")
    command = [str(python), str(script), str(topology), str(seconds), str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = done.stdout.strip().splitlines()
    if done.returncode != 0 or not lines:
        error = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise InputError(f"ns-3 did not run with {python}: {error}")
    figures = json.loads(lines[-1])
    return Ns3Figures(float(figures["cpu_s"]), int(figures["frames"]), "measured now")


def _look_up(table: Path, nodes: int) -> Ns3Figures:
    """The table's row with ns-3's default radio and broadcasts at 6 Mbit/s, as in the benchmark."""
    if table.is_file():
        with table.open(newline="") as file:
            for row in csv.DictReader(file):
                if (row["profile"], row["nonunicast_mode"], int(row["n"])) == ("def", "6", nodes):
                    source = f"reference table ({row['sim_s']} s), not this run"
                    return Ns3Figures(float(row["cpu_s"]), int(row["phy_tx_packets"]), source)
    return Ns3Figures(math.nan, 1, "not measured")
