"""The numbers that an answer rests on: a row for each approach, with what its runs gave and what follows from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

from thyme.pipeline.metrics.intervals import CONFIDENCE, MIN_SURE_RUNS
from thyme.study.plan import SCENE_COLUMN
from thyme.study.report.choosing import Choice, Score
from thyme.study.report.headline import Headline
from thyme.study.report.pages import Cell, Row, badge, section, table
from thyme.study.results import Results
from thyme.study.shown_metrics import AIR_BYTES, LATE_NOTIFICATION, NOTIFICATION_LATENCY, RECALL, SUCCESS
from thyme.study.wording import axis_title, counted, duration, round_share, share, size, span


def numbers_section(results: Results, headline: Headline) -> str:
    """Of the scene that was asked, and folded away those of the others."""
    lead = (
        "Means over the runs, and from which run to which they go: from the smallest to the largest, or with "
        f"{MIN_SURE_RUNS} runs and more within the interval that holds the median run with {round_share(CONFIDENCE)}."
    )
    keys = results.plan.columns
    tables = _scores(results, [key for key in keys if key != SCENE_COLUMN], headline.choices)
    if headline.neighbours:
        scenes = counted(len({choice.scene for choice in headline.neighbours}), "scene")
        beside = _scores(results, keys, headline.neighbours)
        tables += f"<details><summary>The same in {scenes} beside it</summary>{beside}</details>"
    return section("The numbers it rests on", tables, lead) if tables else ""


def _scores(results: Results, keys: list[str], places: Sequence[Choice]) -> str:
    """A table with a row for each approach in each place, which the keys tell apart."""
    headers = [
        *map(axis_title, keys),
        "approach",
        "operations succeed",
        "notifications arrive",
        "half notified within",
        "95% notified within",
        "sent over the air",
        "verdict",
    ]
    rows = [_score_row(results, keys, choice, score) for choice in places for score in choice.scores]
    return table(headers, rows) if rows else ""


def _score_row(results: Results, keys: list[str], choice: Choice, score: Score) -> Row:
    chosen = score in choice.best
    if chosen and score.dependable:
        several = len(choice.best) > 1
        verdict = badge("among the best" if several else "chosen", "best")
        if len(choice.scores) == 1:
            verdict = badge("dependable", "good")
    elif score.dependable:
        verdict = badge("dependable", "good")
    else:
        verdict = badge("not dependable", "bad" if not chosen else "fair")
    point = score.point
    cells = [
        *(_place_cell(choice, key) for key in keys),
        Cell(score.approach),
        _share_cell(results, point, SUCCESS),
        _share_cell(results, point, RECALL),
        _cell(results, point, NOTIFICATION_LATENCY, duration),
        _cell(results, point, LATE_NOTIFICATION, duration),
        _cell(results, point, AIR_BYTES, size),
        Cell("", html=verdict),
    ]
    return Row(tuple(cells), chosen=chosen and len(choice.scores) > 1)


def _place_cell(choice: Choice, key: str) -> Cell:
    value = choice.scene if key == SCENE_COLUMN else choice.values[key]
    return Cell(str(value), numeric=isinstance(value, int | float))


def _share_cell(results: Results, point: int, metric: str) -> Cell:
    return _cell(results, point, metric, share)


def _cell(results: Results, point: int, metric: str, show: Callable[[float], str]) -> Cell:
    found = results.get(point, metric)
    if found is None:
        return Cell("–", numeric=True)
    ends = "" if found.low is None or found.high is None else span(show(found.low), show(found.high))
    spread = f' <span class="spread">{escape(ends)}</span>' if " to " in ends else ""
    return Cell("", numeric=True, html=escape(show(found.mean)) + spread, rank=found.mean)
