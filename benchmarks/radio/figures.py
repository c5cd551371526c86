"""The figures of docs/lab/radio.md: lines of Thyme's radio over circles of ns-3.44's, case by case.

    python -m benchmarks.radio.figures [DATA] [OUT]

reads the reference tables (tests/data/ns3), measures the same cases here and writes radio_*.png.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
from matplotlib import pyplot as plt

from benchmarks.radio import cases as calibration
from thyme.model.settings import to_record
from thyme.papers.panels import DPI
from thyme.sim.radios.wifi.profiles import WifiOptions
from thyme.study.figures.pictures import COLOURS, INK, MUTED, STYLE

Rows = list[dict[str, str]]
SIZE = (7.0, 4.2)


def _rows(data: Path, name: str, **where: object) -> Rows:
    with (data / f"{name}.csv").open(newline="") as file:
        return [row for row in csv.DictReader(file) if all(row[key] == str(value) for key, value in where.items())]


def _theirs(axes: Any, x: Sequence[float], y: Sequence[float], colour: str) -> None:
    axes.plot(x, y, "o", markersize=5, markerfacecolor="none", color=colour)


def _ours(axes: Any, x: Sequence[float], y: Sequence[float], label: str, colour: str, style: str = "-") -> None:
    axes.plot(x, y, style, linewidth=1.6, color=colour, label=label)


def _label(axes: Any, x: str, y: str, title: str = "") -> None:
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.set_title(title, fontsize=10.5, color=INK)
    axes.plot([], [], "o", markersize=5, markerfacecolor="none", color=MUTED, label="circles: ns-3.44, lines: Thyme")
    axes.legend()


def _save(figure: Any, axes: Any, path: Path, x: str, y: str, title: str = "") -> None:
    _label(axes, x, y, title)
    figure.savefig(path, dpi=DPI, metadata={"Software": None})
    plt.close(figure)


def _floats(rows: Rows, column: str) -> list[float]:
    return [float(row[column]) for row in rows]


def reception(data: Path, out: Path) -> None:
    figure, axes = plt.subplots(figsize=SIZE, layout="constrained")
    cases = (("def", 200), ("def", 1000), ("p27", 200), ("p27", 1000))
    for colour, (profile, payload) in zip(COLOURS, cases, strict=False):
        where = {"profile": profile, "nonunicast_mode": "6", "payload_bytes": payload, "error_model": "default"}
        rows = [row for row in _rows(data, "calib_prr_vs_distance", **where) if 30 <= float(row["distance_m"]) <= 135]
        x = _floats(rows, "distance_m")
        label = f"{profile}, {payload} B"
        _theirs(axes, x, _floats(rows, "prr"), colour)
        ours = [calibration.reception(d, payload, 3000, profile)["reception_ratio"] for d in x]
        _ours(axes, x, [float(ratio) for ratio in ours], label, colour)
    x = [float(d) for d in range(90, 136)]
    for payload, style in ((200, "--"), (1000, ":")):
        ours = [calibration.reception(d, payload, 3000, "thyme")["reception_ratio"] for d in x]
        _ours(axes, x, [float(ratio) for ratio in ours], f"thyme, {payload} B", INK, style)
    axes.set_xlim(0, 140)
    axes.axvline(113.1, color=MUTED, linewidth=0.8)
    axes.text(113.6, 0.02, "2√2·40 m", fontsize=8.5, color=MUTED)
    _save(figure, axes, out / "radio_reception.png", "distance (m)", "reception ratio")


def carrier_sense(data: Path, out: Path) -> None:
    figure, axes = plt.subplots(figsize=SIZE, layout="constrained")
    for colour, profile in zip(COLOURS, ("def", "p27"), strict=False):
        rows = _rows(data, "calib_carrier_sense", profile=profile)
        x = _floats(rows, "distance_m")
        _theirs(axes, x, _floats(rows, "busy_fraction"), colour)
        fine = [float(d) for d in range(10, 261)]
        ours = [float(calibration.carrier_sense(d, frames=3, profile=profile)["busy_fraction"]) for d in fine]
        _ours(axes, fine, ours, profile, colour)
    fine = [float(d) for d in range(10, 261)]
    ours = [float(calibration.carrier_sense(d, frames=3, profile="thyme")["busy_fraction"]) for d in fine]
    _ours(axes, fine, ours, "thyme", INK, "--")
    _save(figure, axes, out / "radio_carrier_sense.png", "distance (m)", "busy part of the sender's airtime")


def saturation(data: Path, out: Path) -> None:
    figure, axes = plt.subplots(figsize=SIZE, layout="constrained")
    for colour, rts in zip(COLOURS, (1500, 0), strict=False):
        rows = _rows(data, "calib_saturation", rts_threshold=rts)
        label = "RTS/CTS" if rts == 0 else "no RTS"
        _theirs(axes, _floats(rows, "k_senders"), _floats(rows, "goodput_mbps"), colour)
        x = [1, 2, 3, 5, 7, 10, 15, 20, 30, 40]
        ours = [float(calibration.saturation(k, 1000, rts, 5.0, "def")["goodput_mbps"]) for k in x]
        _ours(axes, x, ours, label, colour)
    axes.set_ylim(0, 5)
    _save(figure, axes, out / "radio_saturation.png", "senders", "goodput (Mbit/s)")


def broadcast(data: Path, out: Path) -> None:
    figure, axes = plt.subplots(figsize=SIZE, layout="constrained")
    for colour, (mode, ours_mode) in zip(COLOURS, (("6", "ofdm6"), ("default", "dsss1")), strict=False):
        rows = _rows(data, "calib_broadcast_collisions", nonunicast_mode=mode)
        label = "6 Mbit/s" if mode == "6" else "DSSS 1 Mbit/s"
        _theirs(axes, _floats(rows, "k_nodes"), _floats(rows, "reception_ratio"), colour)
        x = [2, 5, 10, 20, 30, 50, 70, 100] if mode == "6" else [2, 5, 10, 20, 30, 50]
        runs = [
            [
                float(
                    calibration.broadcast(
                        k,
                        seconds=3.0,
                        profile="def",
                        mac=to_record({"broadcast_mode": ours_mode}, WifiOptions, "mode"),
                        seed=seed,
                    )["reception_ratio"]
                )
                for seed in range(1, 11)
            ]
            for k in x
        ]
        _ours(axes, x, [sum(ratios) / len(ratios) for ratios in runs], label, colour)
        axes.fill_between(x, [min(r) for r in runs], [max(r) for r in runs], color=colour, alpha=0.15, linewidth=0)
    axes.set_ylim(0.85, 1.005)
    where = "nodes within 10 m, 10 broadcasts/s of 100 B each"
    _save(figure, axes, out / "radio_broadcast.png", where, "reception ratio")


def hidden(data: Path, out: Path) -> None:
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(14.0, 4.2), layout="constrained")
    for colour, distance_m in zip(COLOURS, (45, 20), strict=False):
        rows = _rows(data, "calib_hidden_terminal", kind="bcast", d_ab_m=distance_m)
        x = _floats(rows, "rate_pps_each")
        label = "hidden (90 m apart)" if distance_m == 45 else "in earshot (40 m apart)"
        _theirs(left, x, _floats(rows, "delivery"), colour)
        ours = [calibration.hidden("broadcast", 200, rate, distance_m, seconds=40.0)["delivery"] for rate in x]
        _ours(left, x, [float(delivery) for delivery in ours], label, colour)
    for colour, rts in zip(COLOURS, (1500, 0), strict=False):
        rows = _rows(data, "calib_hidden_terminal", kind="ucast", d_ab_m=45, rts_threshold=rts)
        x = _floats(rows, "rate_pps_each")
        label = "RTS/CTS" if rts == 0 else "no RTS"
        failed = [int(r["mac_tx_data_failed"]) / int(r["sent"]) for r in rows]
        _theirs(middle, x, failed, colour)
        figures = [calibration.hidden("unicast", 200, rate, 45.0, rts, seconds=40.0) for rate in x]
        _ours(middle, x, [float(f["unanswered_data"]) / float(f["sent"]) for f in figures], label, colour)
    _hidden_load(data, right)
    rate = "frames/s of each sender"
    _label(middle, rate, "unanswered frames per packet", "unicast of 200 B")
    _label(right, rate, "delivery", "unicast without RTS")
    _save(figure, left, out / "radio_hidden.png", rate, "delivery", "broadcast of 200 B")


def _hidden_load(data: Path, axes: Any) -> None:
    """Longer frames, up to where the queues overflow: the mean of as many runs as ns-3's."""
    for colour, payload in zip(COLOURS, (400, 600, 800, 1000), strict=False):
        rows = _rows(data, "calib_hidden_load", payload_bytes=payload)
        x = sorted(set(_floats(rows, "rate_pps_each")))
        theirs = [[float(r["delivery"]) for r in rows if float(r["rate_pps_each"]) == rate] for rate in x]
        _theirs(axes, x, [sum(runs) / len(runs) for runs in theirs], colour)
        seeds = range(1, len(theirs[0]) + 1)
        ours = [[float(calibration.hidden("unicast", payload, rate, seed=s)["delivery"]) for s in seeds] for rate in x]
        _ours(axes, x, [sum(runs) / len(runs) for runs in ours], f"{payload} B", colour)


def chain(data: Path, out: Path) -> None:
    figure, axes = plt.subplots(figsize=SIZE, layout="constrained")
    for colour, (profile, hop_m) in zip(COLOURS, (("def", 40), ("p27", 85)), strict=False):
        rows = _rows(data, "calib_chain_latency", profile=profile, hop_m=hop_m)
        x = _floats(rows, "hops")
        label = f"{profile}, hops of {hop_m} m"
        _theirs(axes, x, [1e3 * latency for latency in _floats(rows, "mean_latency_s")], colour)
        ours = [calibration.chain(int(k), hop_m, packets=50, profile=profile)["mean_latency_s"] for k in x]
        _ours(axes, x, [1e3 * float(latency) for latency in ours], label, colour)
    _save(figure, axes, out / "radio_chain.png", "hops", "latency (ms)")


FIGURES: tuple[Callable[[Path, Path], None], ...] = (reception, carrier_sense, saturation, broadcast, hidden, chain)


def main(data: Path, out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    for draw in FIGURES:
        with mpl.rc_context(STYLE):
            draw(data, out)
        print(f"{draw.__name__}: done")


if __name__ == "__main__":
    arguments = [Path(argument) for argument in sys.argv[1:]]
    main(*(arguments + [Path("tests/data/ns3"), Path("docs/figures")][len(arguments) :]))
