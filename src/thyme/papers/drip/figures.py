"""Figures 3(a), 3(b) and 4 of the DRIP paper, the table behind them, and the analysis of §V-C beside what was measured.

Lines are means over runs; bands go from the lowest to the highest run.

The delay of multi-copy-multi-destination, as DRIP §V-C derives it and as it follows from its own Eq. (1): the regions
of two brokers meet after an exponential time of mean 1/λ. A destination is found by the first of m copies, so after an
exponential time of rate λm, and all l destinations after the largest of l such times: Eq. (1). Its exact expectation is
H_l / (λm), with the harmonic number H_l. The paper expands (1 − e^(−λmt))^l to second order in e^(−λmt), whose
complement integrates to l/(λm) − l(l − 1)/(4λm) = (5l − l²) / (4mλ); printed is (l² + 3l) / (4mλ), with the sign of the
second term lost. The three agree for l = 1; the series is exact for l = 2 too, where the printed formula is not, and
becomes negative from l = 6 on.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import log, pi, sqrt

import matplotlib as mpl
import msgspec
import numpy as np
from scipy.spatial import Delaunay

from thyme.approaches.drip.election import standing_of
from thyme.approaches.drip.options import DripOptions
from thyme.model.errors import InputError
from thyme.papers.drip.claims import Found, Read
from thyme.papers.drip.points import WARM_UP_S, DripMeasure, DripPoint, seeded
from thyme.papers.panels import DPI, blank_panels, caption_of, draw_runs
from thyme.sim.run import movement_for
from thyme.sim.scenario import Scenario
from thyme.study.figures.pictures import COLOURS, MARKERS, STYLE, Picture, to_picture
from thyme.study.results import csv_text


class Delays(msgspec.Struct, frozen=True):
    """The expected delay by each of the three formulas, in the unit of 1/λ."""

    printed: float
    exact: float
    series: float


def printed_delay(meeting_rate: float, copies: int, destinations: int) -> float:
    """(l² + 3l) / (4mλ), as the paper prints it."""
    _check(meeting_rate, copies, destinations)
    return (destinations**2 + 3 * destinations) / (4.0 * copies * meeting_rate)


def exact_delay(meeting_rate: float, copies: int, destinations: int) -> float:
    """H_l / (λm): the expectation of Eq. (1)."""
    _check(meeting_rate, copies, destinations)
    return sum(1.0 / i for i in range(1, destinations + 1)) / (meeting_rate * copies)


def series_delay(meeting_rate: float, copies: int, destinations: int) -> float:
    """(5l − l²) / (4mλ): the integral of the second-order series."""
    _check(meeting_rate, copies, destinations)
    return (5 * destinations - destinations**2) / (4.0 * copies * meeting_rate)


def delays(meeting_rate: float, copies: int, destinations: int) -> Delays:
    given = (meeting_rate, copies, destinations)
    return Delays(printed_delay(*given), exact_delay(*given), series_delay(*given))


def meeting_time(grid_nodes: float, brokers: int) -> float:
    """1/λ of §V-C: 0.5 N (0.34 log N − 2 + α / (2α − 1)) steps on a √N × √N grid, with α = 2 √(N / (πk))."""
    if grid_nodes <= 1.0 or brokers < 1:
        raise InputError(f"N is {grid_nodes:g} and k is {brokers}; expected N > 1 and k of at least 1")
    alpha = 2.0 * sqrt(grid_nodes / (pi * brokers))
    if alpha <= 0.5:
        raise InputError(
            f"α is {alpha:g} with N = {grid_nodes:g} and k = {brokers}; expected α > 1/2: use fewer brokers"
        )
    return 0.5 * grid_nodes * (0.34 * log(grid_nodes) - 2.0 + alpha / (2.0 * alpha - 1.0))


def equation_2(grid_nodes: float, brokers: int, copies: int, destinations: int) -> float:
    """Eq. (2) as printed: (l² + 3l) / (8m) · N (0.34 log N − 2 + α / (2α − 1)), in steps of the grid."""
    return printed_delay(1.0 / meeting_time(grid_nodes, brokers), copies, destinations)


def _check(meeting_rate: float, copies: int, destinations: int) -> None:
    if meeting_rate <= 0.0:
        raise InputError(f"λ is {meeting_rate:g}; expected a positive rate of meetings")
    if copies < 1 or destinations < 1:
        raise InputError(f"m is {copies} and l is {destinations}; expected at least 1 of each")


SIZE_IN = (6.0, 3.8)
GRID_STEP_M = 15.0
"""A step of the paper's grid: what a node walks in a time unit, on average."""


class Analysed(msgspec.Struct, frozen=True):
    """The delay at one point by the formulas of §V-C, with the rate of meetings of its own movement, and measured."""

    brokers: int
    likely: int
    copies: int
    meeting_s: float
    printed_s: float
    exact_s: float
    series_s: float
    equation_2_s: float
    measured_s: float


def drip_figures(points: Sequence[DripPoint], found: Found) -> list[Picture]:
    """Every figure with at least one measured point, and the analysis beside the measurements."""
    layouts: dict[str, tuple[str, str, Read]] = {
        "3a": ("Broker coverage (Figure 3a)", "broker coverage", lambda run: run.coverage),
        "3b": ("Delivery delay (Figure 3b)", "mean delay, s", lambda run: run.delay_s),
        "4": ("Delivery delay by selection of brokers (Figure 4)", "mean delay, s", lambda run: run.delay_s),
    }
    pictures = []
    for figure, (title, label, read) in layouts.items():
        own = [point for point in points if point.figure == figure and found.get(point.key)]
        if own:
            pictures.append(_lines(f"drip_figure_{figure}", title, label, own, found, read))
    rows = analysis_table(points, found)
    return [*pictures, _analysis(rows)] if rows else pictures


def points_csv(points: Sequence[DripPoint], found: Found) -> str:
    """One row per point that was run: means over runs, and the deviation of the delay."""
    names = ["figure", "series", "k", "runs", "coverage", "delay_s", "delay_deviation_s", "delivery", "frames"]
    rows: list[list[object]] = []
    for point in points:
        runs = found.get(point.key, ())
        if runs:
            delay_s = [run.delay_s for run in runs]
            numbers = [
                np.mean([run.coverage for run in runs]), np.mean(delay_s), np.std(delay_s),
                np.mean([run.delivery for run in runs]), np.mean([run.frames for run in runs]),
            ]  # fmt: skip
            told = [f"{float(number):.6g}" for number in numbers]
            rows.append([point.figure, point.series, point.x, len(runs), *told])
    return csv_text(names, rows)


def analysis_table(points: Sequence[DripPoint], found: Found) -> list[Analysed]:
    """The three formulas and Eq. (2) beside the measured delay, for the points of DRIP with every l and m."""
    rows = []
    for point in {point.key: point for point in points if point.figure != "4"}.values():
        runs: Sequence[DripMeasure] = found.get(point.key, ())
        settings = point.scenario.settings
        if not runs or settings["relay"] != "mcmd":
            continue
        meeting_s = float(np.mean([meeting_time_s(seeded(point, run.seed)[0]) for run in runs]))
        likely, copies = settings["likely_brokers"], settings["copies"]
        formulas = delays(1.0 / meeting_s, copies, likely)
        area = point.scenario.area()
        steps = equation_2(area.width_m * area.height_m / GRID_STEP_M**2, point.x, copies, likely)
        measured_s = float(np.mean([run.delay_s for run in runs]))
        rows.append(
            Analysed(
                point.x, likely, copies, meeting_s, formulas.printed, formulas.exact, formulas.series, steps, measured_s
            )
        )
    return rows


def analysis_csv(rows: Sequence[Analysed]) -> str:
    names = Analysed.__struct_fields__
    return csv_text(names, ([f"{getattr(row, name):.6g}" for name in names] for row in rows))


def meeting_time_s(scenario: Scenario) -> float:
    """1/λ of §V-C as the scenario's movement has it: how long two brokers' regions that do not touch take to meet.

    Regions touch where brokers are neighbours in the Delaunay triangulation. Looked at every second; the rate is the
    number of meetings over the time that pairs spent apart, which is its estimate for exponential times.
    """
    options = DripOptions(**scenario.settings)
    ranked = sorted(range(scenario.nodes), key=lambda node: (-standing_of(options, node), node))
    brokers = ranked[: options.brokers]
    movement = movement_for(scenario)
    apart_s, meetings = 0.0, 0
    before: set[tuple[int, int]] | None = None
    pairs = options.brokers * (options.brokers - 1) // 2
    for at_s in np.arange(WARM_UP_S, scenario.time.until_s, 1.0):
        triangles = Delaunay(movement.positions(float(at_s))[brokers]).simplices
        touching = {pair for triangle in np.sort(triangles, axis=1).tolist() for pair in combinations(triangle, 2)}
        if before is not None:
            meetings += len(touching - before)
        apart_s += pairs - len(touching)
        before = touching
    return apart_s / max(meetings, 1)


def _lines(name: str, title: str, label: str, points: Sequence[DripPoint], found: Found, read: Read) -> Picture:
    with mpl.rc_context(STYLE):
        figure, (axes,) = blank_panels(SIZE_IN, title)
        for number, series in enumerate(dict.fromkeys(point.series for point in points)):
            own = sorted(
                (point.x, [read(run) for run in found[point.key]]) for point in points if point.series == series
            )
            draw_runs(axes, own, series, number)
        axes.set_xlabel("brokers k")
        axes.set_ylabel(label)
        axes.set_ylim(bottom=0.0)
        axes.legend()
        runs = min(len(found[point.key]) for point in points)
        return to_picture(figure, name, title, caption_of(runs), DPI)


def _analysis(rows: Sequence[Analysed]) -> Picture:
    title = "Delay by the analysis of §V-C and measured"
    with mpl.rc_context(STYLE):
        figure, (axes,) = blank_panels(SIZE_IN, title)
        places = range(len(rows))
        lines = (
            ("measured", [row.measured_s for row in rows]),
            ("printed, (l² + 3l) / 4mλ", [row.printed_s for row in rows]),
            ("exact, H_l / λm", [row.exact_s for row in rows]),
            ("series, (5l − l²) / 4mλ", [row.series_s for row in rows]),
        )
        for number, (label, values) in enumerate(lines):
            axes.plot(places, values, marker=MARKERS[number], color=COLOURS[number], label=label, linestyle="none")
        axes.set_xticks(list(places), [f"{row.brokers}\n{row.likely}\n{row.copies}" for row in rows], fontsize=8)
        axes.set_xlabel("k, l and m")
        axes.set_ylabel("delay, s")
        axes.set_ylim(bottom=0.0)
        axes.legend()
        caption = "With the rate λ at which regions of the run's own brokers met."
        return to_picture(figure, "drip_analysis", title, caption, DPI)
