"""What posts look like, drawn beside the generator's: rates, bursts, users and tags, one panel each.

Rates and bursts are relative to the mean, because there may be more posts than generated ones; users and tags are by
rank, on logarithmic axes, where power laws are straight lines.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from thyme.pipeline.posts.describe import PostStatistics
from thyme.study.figures.pictures import COLOURS, STYLE, Picture, to_picture
from thyme.study.wording import round_share

SIZE_IN = (9.2, 6.4)
BEHIND = {"color": COLOURS[2], "linewidth": 3.6, "alpha": 0.55}
FRONT = {"color": COLOURS[0], "linewidth": 1.4}
Line = dict[str, Any]
BURST_LIMIT = 12.0
"""Minutes with more than this many times the mean are drawn at the edge."""


def posts_figure(own: PostStatistics, made: PostStatistics, title: str) -> Picture:
    """Four panels with the given posts in the foreground and generated ones behind."""
    sides = ((made, BEHIND, "generator"), (own, FRONT, title))
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=SIZE_IN, layout="constrained")
        FigureCanvasAgg(figure)
        rates, bursts, users, tags = figure.subplots(2, 2).flat
        for one, line, name in sides:
            _draw_rates(rates, one, line, f"{name}, {one.posts:,} posts")
            _draw_bursts(bursts, one, line)
            _draw_ranks(users, one.user_ranks, line)
            _draw_ranks(tags, one.tag_ranks, line)
        started = datetime.fromtimestamp(own.start_s, UTC)
        _label(
            rates,
            f"Rates, over the mean of {own.posts_per_minute:,.1f} posts a minute",
            f"minutes from {started:%Y-%m-%d %H:%M} UTC, the busiest three hours",
        )
        _label(
            bursts, f"Bursts: share of minutes that reach a level, up to {own.peak_over_mean:.1f}", "level, × the mean"
        )
        _label(
            users,
            f"Posts of {own.users:,} users, of whom {round_share(own.users_posting_once)} post once",
            "rank of the user",
        )
        _label(tags, f"Uses of {own.distinct_tags:,} tags", "rank of the tag")
        handles, names = rates.get_legend_handles_labels()
        figure.legend(handles[::-1], names[::-1], loc="outside upper left", ncols=2, fontsize=10.5)
        return to_picture(figure, "posts", f"{title}, beside the generator", "Rates, bursts, users and tags of posts.")


def _draw_rates(axes: Axes, one: PostStatistics, line: Line, name: str) -> None:
    minutes = np.arange(len(one.minutes))
    axes.step(minutes, np.divide(one.minutes, one.posts_per_minute), where="post", label=name, **line)
    axes.set_xlim(0, len(one.minutes))
    axes.set_xticks(range(0, len(one.minutes) + 1, 30))
    axes.set_ylim(bottom=0.0)


def _draw_bursts(axes: Axes, one: PostStatistics, line: Line) -> None:
    """The share of minutes at or above each level."""
    levels = np.minimum(np.sort(np.divide(one.minutes, one.posts_per_minute)), BURST_LIMIT)
    shares = 1.0 - np.arange(len(levels)) / len(levels)
    axes.step(np.append(0.0, levels), np.append(1.0, shares), where="pre", **line)
    axes.set_yscale("log")
    axes.set_xlim(left=0.0)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.2%}" if value < 0.01 else f"{value:.0%}"))
    axes.yaxis.set_minor_formatter(NullFormatter())


def _draw_ranks(axes: Axes, ranks: tuple[tuple[int, int], ...], line: Line) -> None:
    axes.plot(*zip(*ranks, strict=True), **line)
    axes.set_xscale("log")
    axes.set_yscale("log")
    plain = FuncFormatter(lambda value, _: f"{value:,.0f}")
    for side in (axes.xaxis, axes.yaxis):
        side.set_major_locator(LogLocator(10.0, numticks=6))
        side.set_major_formatter(plain)
        side.set_minor_formatter(NullFormatter())


def _label(axes: Axes, title: str, below: str) -> None:
    axes.set_title(title, loc="left", fontsize=10.5, pad=6)
    axes.set_xlabel(below)
