"""`python -m benchmarks radio-case CASE`: one calibration case of the 802.11g radio, its figures as JSON.

To fit the radio to other hardware, and to compare it with other simulators. `cpu_s` is the CPU time of the measurement;
compilation is paid before it starts.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.radio import cases as calibration
from benchmarks.radio.cases import Figures
from thyme.cli.settings import Settings, with_settings
from thyme.model.settings import to_record
from thyme.sim.radios.wifi.profiles import BROADCAST_MODES, PROFILES, WifiOptions

radio_app = typer.Typer(
    help="Measure one calibration case of the 802.11g radio and print it as JSON.", no_args_is_help=True
)

Profile = Annotated[str, typer.Option(help=f"Radio profile: {', '.join(PROFILES)}.")]
Mode = Annotated[str, typer.Option("--broadcast-mode", help=f"Broadcasts at: {', '.join(BROADCAST_MODES)}.")]
Seed = Annotated[int, typer.Option(help="Seed of all randomness.")]
Payload = Annotated[int, typer.Option("--payload", help="UDP payload in bytes.", min=0)]
Distance = Annotated[float, typer.Option("--distance", help="Distance in metres.", min=0.0)]
Rts = Annotated[
    int | None,
    typer.Option("--rts-threshold", help="Longer frames are announced by RTS/CTS (bytes).", min=0, show_default="1500"),
]
Seconds = Annotated[float, typer.Option(help="Simulated seconds to measure.", min=0.001)]


def _mac(broadcast_mode: str, settings: list[str] | None) -> WifiOptions:
    return with_settings(to_record({"broadcast_mode": broadcast_mode}, WifiOptions, "--broadcast-mode"), settings)


def _report(case: str, measure: Callable[[], Figures]) -> None:
    calibration.reception(10.0, frames=1)  # compiles, or loads what was compiled before
    before_s = time.process_time()
    figures = measure()
    cpu_s = time.process_time() - before_s
    print(json.dumps({"case": case, **figures, "cpu_s": round(cpu_s, 6)}))


@radio_app.command()
def reception(
    distance: Distance,
    payload: Payload = 200,
    frames: Annotated[int, typer.Option(help="Frames to send.", min=1)] = 1000,
    profile: Profile = "thyme",
    broadcast_mode: Mode = "ofdm6",
    seed: Seed = 1,
    settings: Settings = None,
) -> None:
    """How many broadcasts arrive over a distance without other traffic."""
    _report(
        "reception",
        lambda: calibration.reception(distance, payload, frames, profile, _mac(broadcast_mode, settings), seed),
    )


@radio_app.command("carrier-sense")
def carrier_sense(
    distance: Distance,
    payload: Payload = 1000,
    profile: Profile = "thyme",
    broadcast_mode: Mode = "ofdm6",
    seed: Seed = 1,
    settings: Settings = None,
) -> None:
    """The part of a sender's airtime in which another node finds the medium busy."""
    _report(
        "carrier-sense",
        lambda: calibration.carrier_sense(distance, payload, 50, profile, _mac(broadcast_mode, settings), seed),
    )


@radio_app.command()
def saturation(
    senders: Annotated[int, typer.Option(help="Senders around one receiver.", min=1)] = 10,
    payload: Payload = 1000,
    rts_threshold: Rts = None,
    seconds: Seconds = 10.0,
    profile: Profile = "thyme",
    broadcast_mode: Mode = "ofdm6",
    seed: Seed = 1,
    settings: Settings = None,
) -> None:
    """Goodput of unicasts when all nodes always have something to send."""
    _report(
        "saturation",
        lambda: calibration.saturation(
            senders, payload, rts_threshold, seconds, profile, _mac(broadcast_mode, settings), seed
        ),
    )


@radio_app.command()
def broadcast(
    nodes: Annotated[int, typer.Option(help="Nodes in a disc of 10 m radius.", min=2)] = 20,
    payload: Payload = 100,
    rate: Annotated[float, typer.Option(help="Broadcasts per second and node.", min=0.001)] = 10.0,
    arrivals: Annotated[str, typer.Option(help="periodic or poisson.")] = "periodic",
    seconds: Seconds = 20.0,
    profile: Profile = "thyme",
    broadcast_mode: Mode = "ofdm6",
    seed: Seed = 1,
    settings: Settings = None,
) -> None:
    """Receptions when many nodes in one place broadcast."""
    _report(
        "broadcast",
        lambda: calibration.broadcast(
            nodes, payload, rate, arrivals, seconds, profile, _mac(broadcast_mode, settings), seed
        ),
    )


@radio_app.command()
def hidden(
    kind: Annotated[str, typer.Option(help="unicast or broadcast.")] = "unicast",
    payload: Payload = 200,
    rate: Annotated[float, typer.Option(help="Frames per second and sender.", min=0.001)] = 100.0,
    distance: Distance = 45.0,
    rts_threshold: Rts = None,
    seconds: Seconds = 20.0,
    profile: Profile = "def",
    broadcast_mode: Mode = "ofdm6",
    seed: Seed = 1,
    settings: Settings = None,
) -> None:
    """Two senders, possibly hidden from each other, and a receiver between them."""
    _report(
        "hidden",
        lambda: calibration.hidden(
            kind, payload, rate, distance, rts_threshold, seconds, profile, _mac(broadcast_mode, settings), seed
        ),
    )


@radio_app.command()
def chain(
    hops: Annotated[int, typer.Option(help="Hops from the first node to the last.", min=1)] = 4,
    hop_length: Annotated[float, typer.Option(help="Metres between neighbours.", min=0.0)] = 80.0,
    payload: Payload = 200,
    packets: Annotated[int, typer.Option(help="Packets to send, one at a time.", min=1)] = 200,
    profile: Profile = "thyme",
    broadcast_mode: Mode = "ofdm6",
    seed: Seed = 1,
    settings: Settings = None,
) -> None:
    """Latency along a line of nodes."""
    _report(
        "chain",
        lambda: calibration.chain(hops, hop_length, payload, packets, profile, _mac(broadcast_mode, settings), seed),
    )


@radio_app.command()
def beacons(
    topology: Annotated[Path, typer.Option(help="CSV file with columns node, x_m and y_m.")],
    seconds: Seconds = 60.0,
    payload: Payload = 50,
    range_m: Annotated[
        float, typer.Option("--range", help="Pairs closer than this should hear each other (m).")
    ] = 51.0,
    profile: Profile = "def",
    broadcast_mode: Mode = "ofdm6",
    seed: Seed = 1,
    settings: Settings = None,
) -> None:
    """Every node of a topology broadcasts a small frame about once a second."""
    _report(
        "beacons",
        lambda: calibration.beacons(topology, seconds, payload, range_m, profile, _mac(broadcast_mode, settings), seed),
    )


@radio_app.command()
def dsdv(
    topology: Annotated[Path, typer.Option(help="CSV file with columns node, x_m and y_m.")],
    seconds: Seconds = 720.0,
    profile: Profile = "def",
    broadcast_mode: Mode = "ofdm6",
    seed: Seed = 1,
    gap: Annotated[float, typer.Option(min=0.001, help="Mean seconds between two packets of one node.")] = 20.0,
    settings: Settings = None,
) -> None:
    """Every node of a topology routes with DSDV; from 60 s on, each sends packets to random others."""
    from benchmarks.radio.dsdv import dsdv as play

    _report("dsdv", lambda: play(topology, seconds, profile, _mac(broadcast_mode, settings), seed, gap))
