"""The page of the decision map, from the map itself (`thyme study map` prints it)."""

from __future__ import annotations

import csv
from importlib.resources import files

from thyme.approaches.deciding import TABLE, Decision, Line, decide, table
from thyme.approaches.registry import APPROACHES
from thyme.study.figures.decision import PANELS, places_of
from thyme.study.wording import NOTHING, duration, listed, proportion, round_share, size

INTRODUCTION = """\
# Which approach where

All six approaches on the same posts and people, from a dense hall to a sparse campus: 20 people, 720 s, the ideal radio
of 113 m, one run of each ({origin}).
[`decision.csv`](../data/decision.csv) has the figures;
`thyme study --preset six` plays it again (288 runs), and this page is printed
by `thyme study map`. Ask it for your own crowd: `thyme study map --reach 20 --walking 0.5`.

<picture><source media="(max-width: 640px)" srcset="../figures/decision_narrow.png">
<img alt="Which approach where" src="../figures/decision.png"></picture>

The same table is the rule of `approach = "auto"` in scenarios (`thyme.approaches.deciding.decide`) and the prior that
every study tells beside its answer. Live nodes are not asked: all of a namespace run the approach that its invitation
names. An approach is dependable where 95 % of operations succeed and 90 % of the expected
notifications arrive.{counted} Among dependable ones the map takes the one that sends
least; those that send less than half as much again cannot be told apart by one run. Between crowds of the map, figures
are interpolated linearly along each axis.

What it does not tell: how approaches do in larger crowds on real Wi-Fi, where what is flooded collides: from 64 people
on, Thyme-DCS sends least there and brings most ([evaluation](../lab/thyme-evaluation.md)). Nor large objects or hours.
A study of your own crowd does. "SC" in the figure is SocialCast, which is slow (half within 12 s) where it is cheap.
"""


ASKED_FOR = {"all": "past and future", "future": "future"}
COUNTED = """ In the last column nobody asks for the past or deletes, and
neither is counted: it has a workload of its own."""
NOT_COUNTED = """ The last column counts the past too: its own
workload, without the past and deletes, was not played for this table."""


def decision_page() -> str:
    lines = table()
    text = files("thyme.approaches").joinpath(TABLE).read_text("utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    origins = dict.fromkeys(
        f"{ASKED_FOR[row['workload']]}: commit `{row['commit']}`, seed {row['seed']}, {row['date']}" for row in rows
    )
    counted = COUNTED if any(line.workload == "future" for line in lines) else NOT_COUNTED
    parts = [
        INTRODUCTION.format(origin="; ".join(origins), counted=counted),
        "## What each needs\n",
        _needs(),
        "## The best in each crowd\n",
    ]
    parts += [_best(lines), "## All figures\n", _figures(lines)]
    return "\n".join(parts)


def _needs() -> str:
    rows = ["| approach | server | positions | answers for the past | deletes |", "|---|---|---|---|---|"]
    for approach in APPROACHES.values():
        can = approach.capabilities
        past = "as far as it is in reach" if can.past_is_best_effort else _yes(can.answers_past)
        server = "needs one" if can.needs_server else "none"
        words = (server, "needs them" if can.needs_positions else "none", past, _yes(can.deletes))
        rows.append(f"| {approach.title} | {' | '.join(words)} |")
    return "\n".join(rows) + "\n"


def _yes(is_so: bool) -> str:
    return "yes" if is_so else "no"


def _best(lines: tuple[Line, ...]) -> str:
    header = ["others in reach", "walking", "on and off", "questions an hour", *PANELS]
    rows = [f"| {' | '.join(header)} |", "|---" * len(header) + "|"]
    for kind in places_of(lines):
        cells = [f"{kind.reach:.0f}", round_share(kind.walking), round_share(kind.switching), f"{kind.questions:g}"]
        cells += [_told(decide(kind, needs, lines=lines)) for needs in PANELS.values()]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows) + "\n"


def _told(decision: Decision) -> str:
    names = listed([APPROACHES[line.approach].title for line in decision.best], "or")
    if not decision.dependable:
        return f"none; {names} brings {round_share(decision.best[0].recall)}"
    margin = decision.margin
    if len(decision.best) > 1 or margin is None:
        return f"{names}{' alone' if margin is None else ''}"
    return f"{names}; the next sends {proportion(1.0 + margin, 1.0 + margin, 0.0)}"


def _figures(lines: tuple[Line, ...]) -> str:
    header = (
        "| others in reach | walking | on and off | questions an hour | asked for | approach | succeed | arrive "
        "| half within | 95 % within | sent per person and minute | J per person and minute | uneven load (Gini) |"
    )
    rows = [header, "|---" * 13 + "|"]
    for kind in places_of(lines):
        for line in sorted(lines, key=lambda line: line.workload):
            if line.kind == kind:
                rows.append(_figures_row(line))
    return "\n".join(rows) + "\n"


def _figures_row(line: Line) -> str:
    kind = line.kind
    cells = [
        f"{kind.reach:.0f}",
        round_share(kind.walking),
        round_share(kind.switching),
        f"{kind.questions:g}",
        ASKED_FOR[line.workload],
        APPROACHES[line.approach].title,
        f"{line.success:.1%}",
        f"{line.recall:.1%}",
        NOTHING if line.notified_s is None else duration(line.notified_s),
        NOTHING if line.late_s is None else duration(line.late_s),
        size(line.air_bytes),
        f"{line.joules:.1f}",
        f"{line.gini:.2f}",
    ]
    return f"| {' | '.join(cells)} |"
