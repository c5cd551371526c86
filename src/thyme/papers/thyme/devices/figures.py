"""Figures 16 to 21 of the Thyme paper, drawn from runs of live nodes; those of energy are modelled and say so."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import matplotlib as mpl
import numpy as np

from thyme.live.emulation.meter import ISSUING, MAINTAINING, PROCESSING
from thyme.papers.panels import DPI, blank_panels, draw_runs
from thyme.papers.thyme.devices.claims import LARGEST_BYTES, sizes_of
from thyme.papers.thyme.devices.energy import MINUTE_S, EnergyModel, Spent, each, loop_minute, running
from thyme.papers.thyme.devices.runs import OPERATIONS, DeviceRun
from thyme.study.figures.pictures import COLOURS, INK, MUTED, OPERATION_COLOURS, STYLE, Picture, to_picture

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
