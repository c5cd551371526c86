"""The devices' evaluation as a whole (Thyme FGCS §10): crowds of live nodes, the table, the figures and the claims.

Figures 16 to 21 are drawn from runs of live nodes; those of energy are modelled and say so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import matplotlib as mpl
import msgspec
import numpy as np

from thyme.live.emulation.area import MAX_NODES
from thyme.live.emulation.meter import ISSUING, MAINTAINING, PROCESSING
from thyme.model.settings.bounds import AtLeastOne
from thyme.papers.evaluated import Evaluated, Measurement, PaperEvaluation, measurements_at
from thyme.papers.panels import DPI, blank_panels, draw_runs
from thyme.papers.thyme.devices.claims import LARGEST_BYTES, judge_devices, sizes_of
from thyme.papers.thyme.devices.energy import MINUTE_S, EnergyModel, Spent, each, loop_minute, running, ten_minutes
from thyme.papers.thyme.devices.runs import OPERATIONS, DeviceRun, play_all, use_case_of
from thyme.pipeline.runs.sweep import OnProgress
from thyme.study.figures.pictures import COLOURS, INK, MUTED, OPERATION_COLOURS, STYLE, Picture, to_picture
from thyme.study.folder import RUNS

SIZE_IN = (6.4, 4.0)
PAPER_LARGEST_S = 6.0
PAPER_MINUTE_J = {"delete": 90.0, "subscribe": 90.0, "unsubscribe": 90.0, "insert": 103.0}
PAPER_RUNNING_J, PAPER_STANDBY_J = 67.0, 61.0
ROLES = (
    (ISSUING, "about 2 J for an insert"),
    (PROCESSING, "about 1.5 J"),
    (MAINTAINING, "a little less than processing"),
)
BAR = 0.26
MODELLED = "Modelled from counted frames, bytes and processor time; not measured on a battery."
Runs = Sequence[DeviceRun]


def device_figures(runs: Runs, model: EnergyModel) -> Iterator[Picture]:
    if runs:
        yield _latency(runs)
        if any(run.played.fetched for run in runs):
            yield _retrieval(runs)
        yield _operations(runs, model)
        yield _minutes(runs, model)


def _latency(runs: Runs) -> Picture:
    title = "Latency of operations (Figure 16)"
    with mpl.rc_context(STYLE):
        figure, (axes,) = blank_panels(SIZE_IN, title)
        sizes = sizes_of(runs)
        for number, kind in enumerate(OPERATIONS):
            means = [(run.nodes, 1e3 * float(np.mean(run.latency_s[kind]))) for run in runs if run.latency_s.get(kind)]
            line = [(nodes, [mean for of, mean in means if of == nodes]) for nodes in sorted({of for of, _ in means})]
            draw_runs(axes, line, kind, number, OPERATION_COLOURS[kind])
        axes.axhline(300.0, color=MUTED, linestyle="--", linewidth=1.0)
        axes.text(sizes[0], 306.0, "the paper: all below 300 ms, about 200 ms", color=MUTED, fontsize=9, va="bottom")
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_ylim(1.0, 500.0)
        axes.set_xticks(sizes, [str(nodes) for nodes in sizes])
        axes.set_yticks([1, 3, 10, 30, 100, 300], ["1", "3", "10", "30", "100", "300"])
        axes.minorticks_off()
        axes.set_xlabel("devices in two cells")
        axes.set_ylabel("mean latency, ms")
        axes.legend(ncols=3, loc="upper left", bbox_to_anchor=(0.0, 0.9))
        least = min(sum(run.nodes == nodes for run in runs) for nodes in sizes)
        caption = (
            f"Real processes over an emulated access point, at least {least} run{'s' if least > 1 else ''} for each "
            "point; bands from the lowest to the highest run. 35-byte objects, closed loop."
        )
        return to_picture(figure, "devices_figure_16", title, caption, DPI)


def _retrieval(runs: Runs) -> Picture:
    title = "Retrieval over the size of the object (Figure 17)"
    with mpl.rc_context(STYLE):
        figure, (axes,) = blank_panels(SIZE_IN, title)
        for number, nodes in enumerate(sizes_of(runs)):
            fetched = [one for run in runs if run.nodes == nodes for one in run.played.fetched if not one.failure]
            sizes = sorted({one.size_bytes for one in fetched})
            line = [(size, [one.latency_s for one in fetched if one.size_bytes == size]) for size in sizes]
            if line:
                draw_runs(axes, line, f"{nodes} devices", number)
        axes.plot([LARGEST_BYTES], [PAPER_LARGEST_S], marker="*", markersize=14, color=INK, linestyle="none",
                  label="the paper, 32 devices", zorder=5)  # fmt: skip
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xticks([35, 1e3, 1e4, 1e5, 1e6, 5e6], ["35 B", "1 kB", "10 kB", "100 kB", "1 MB", "5 MB"])
        axes.set_yticks([0.01, 0.1, 1.0, 10.0], ["0.01", "0.1", "1", "10"])
        axes.minorticks_off()
        axes.set_xlabel("size")
        axes.set_ylabel("latency, s")
        axes.legend()
        caption = (
            "From one cell to the other over a channel of 54 Mb/s, each frame sent to the access point and from it."
        )
        return to_picture(figure, "devices_figure_17", title, caption, DPI)


def _operations(runs: Runs, model: EnergyModel) -> Picture:
    title = "Energy of an operation (Figures 18, 20 and 21, modelled)"
    with mpl.rc_context(STYLE):
        figure, (axes,) = blank_panels(SIZE_IN, title)
        awake_j = all_j = 0.0
        for number, (role, stated) in enumerate(ROLES):
            spent = [each(runs, role, kind, model) or Spent() for kind in OPERATIONS]
            awake_j, all_j = awake_j + sum(one.awake for one in spent), all_j + sum(one.total for one in spent)
            places = np.arange(len(OPERATIONS)) + (number - 1) * BAR
            heights = [1e3 * one.total for one in spent]
            axes.bar(places, heights, color=COLOURS[number], label=f"{role} (the paper: {stated})", width=BAR)
        axes.set_xticks(range(len(OPERATIONS)), OPERATIONS)
        axes.grid(visible=False, axis="x")
        axes.set_ylabel("mJ")
        axes.set_ylim(0.0, 1.45 * axes.get_ylim()[1])
        axes.legend(loc="upper right")
        caption = f"{MODELLED} The radio that is awake is {awake_j / all_j:.0%} of it." if all_j else MODELLED
        return to_picture(figure, "devices_figures_18_20_21", title, caption, DPI)


def _minutes(runs: Runs, model: EnergyModel) -> Picture:
    title = "A minute of one operation after another (Figure 19, modelled)"
    with mpl.rc_context(STYLE):
        figure, (axes,) = blank_panels(SIZE_IN, title)
        standby_j = MINUTE_S * model.standby_w
        idle_j = running(runs, model).total
        bars: dict[str, tuple[float, float]] = {"standing by": (0.0, 0.0), "running": (idle_j, 0.0)}
        for kind in OPERATIONS:
            if (joules := loop_minute(runs, ISSUING, kind, model)) is not None:
                bars[kind] = (idle_j, joules - standby_j - idle_j)
        places = np.arange(len(bars))
        floor = np.full(len(bars), standby_j)
        axes.bar(places, floor, color=COLOURS[7], label="standing by (the paper's)", width=0.65)
        for index, (name, colour) in enumerate((("running", COLOURS[0]), ("the operations", COLOURS[2]))):
            heights = np.array([parts[index] for parts in bars.values()])
            axes.bar(places, heights, bottom=floor, color=colour, label=name, width=0.65)
            floor = floor + heights
        stated = {"standing by": PAPER_STANDBY_J, "running": PAPER_RUNNING_J, **PAPER_MINUTE_J}
        known = [(place, stated[name]) for place, name in enumerate(bars) if name in stated]
        axes.plot(*zip(*known, strict=True), linestyle="none", marker="_", markersize=26, markeredgewidth=2.0,
                  color=INK, label="the paper, measured")  # fmt: skip
        axes.set_xticks(places, list(bars), rotation=30, ha="right")
        axes.grid(visible=False, axis="x")
        axes.set_ylabel("J in a minute")
        axes.set_ylim(0.0, 1.35 * float(floor.max()))
        axes.legend(ncols=2, loc="upper left")
        caption = f"{MODELLED} Five operations a second, as the paper's latencies have it."
        return to_picture(figure, "devices_figure_19", title, caption, DPI)


MAX_SIZE_BYTES = 100_000_000


class DevicesEvaluation(PaperEvaluation, frozen=True):
    nodes: Annotated[tuple[Annotated[int, msgspec.Meta(ge=2, le=MAX_NODES)], ...], msgspec.Meta(min_length=1)] = (
        2, 4, 8, 16, 32,
    )  # fmt: skip
    seconds: Annotated[float, msgspec.Meta(ge=5.0, le=3600.0)] = 20.0
    """Of the closed loop."""
    sizes: tuple[Annotated[int, msgspec.Meta(ge=1, le=MAX_SIZE_BYTES)], ...] = (
        35, 1_000, 10_000, 100_000, 1_000_000, 5_000_000,
    )  # fmt: skip
    pause_s: Annotated[float, msgspec.Meta(ge=0.05, le=60.0)] = 1.0
    """Between two operations."""
    repetitions: AtLeastOne = 1
    """The paper has five runs of each; one takes under a minute, and all cores."""

    def run(self, out: Path, master: str, watch: OnProgress) -> Evaluated:
        cases = [
            use_case_of(number, seed, self.seconds, self.pause_s, sorted(set(self.sizes)))
            for seed in range(1, self.repetitions + 1)
            for number in sorted(set(self.nodes))
        ]
        runs, failed = play_all(cases, out / RUNS, watch)
        model = EnergyModel()
        return Evaluated(
            claims=tuple(judge_devices(runs, model)),
            measured=tuple(_measured(runs, model)),
            pictures=tuple(device_figures(runs, model)),
            runs=len(cases),
            failed=tuple(failed),
        )


def _measured(runs: Sequence[DeviceRun], model: EnergyModel) -> Iterator[Measurement]:
    for nodes in sizes_of(runs):
        own = [run for run in runs if run.nodes == nodes]
        values: dict[str, list[float]] = {
            "operations": [float(sum(map(len, run.latency_s.values()))) for run in own],
            "failed": [float(sum(run.failed.values())) for run in own],
            "withdrawn": [float(run.withdrawn) for run in own],
            "notification.latency_s": [_mean(run.notified_s) for run in own if run.notified_s],
            "channel_in_use": [run.played.air_busy for run in own],
            "late_s": [run.played.air_late_s for run in own],
            "load": [run.load for run in own],
            "orphaned.retrieve_s": [
                one.latency_s for run in own if (one := run.played.orphaned) is not None and not one.failure
            ],
        }
        for kind in OPERATIONS:
            values[f"{kind}.latency_s"] = [_mean(run.latency_s[kind]) for run in own if run.latency_s.get(kind)]
        yield from measurements_at({"nodes": nodes}, values)
        for size in sorted({one.size_bytes for run in own for one in run.played.fetched}):
            found = [one for run in own for one in run.played.fetched if one.size_bytes == size and not one.failure]
            place = {"nodes": nodes, "size_bytes": size}
            yield from measurements_at(place, {"retrieve_s": [one.latency_s for one in found]})
    yield from _modelled(runs, model)


def _modelled(runs: Sequence[DeviceRun], model: EnergyModel) -> Iterator[Measurement]:
    """Joules, as the model has them."""
    for kind in OPERATIONS:
        for role in (ISSUING, PROCESSING, MAINTAINING):
            one, minute = each(runs, role, kind, model), loop_minute(runs, role, kind, model)
            found = {"modelled_j": [one.total] if one else [], "modelled_minute_j": [minute] if minute else []}
            yield from measurements_at({"role": role, "operation": kind}, found)
    yield from measurements_at({"role": "running"}, {"modelled_minute_j": [running(runs, model).total]})
    for role, joules in ten_minutes(runs, model).items():
        yield from measurements_at({"role": role}, {"modelled_ten_minutes_j": [joules]})


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
