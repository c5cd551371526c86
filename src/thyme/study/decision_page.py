"""The page of the decision map, from the map itself (`thyme study map` prints it)."""

from __future__ import annotations

import csv
from collections import Counter
from importlib.resources import files

from thyme.approaches.deciding import Decision
from thyme.approaches.decision_table import TABLE, CrowdKind, Line, Measured, table
from thyme.approaches.registry import APPROACHES
from thyme.study.decision import crowd_words, share_range, size_range
from thyme.study.figures.decision import OTHERS, PANELS, SHARED, decision_at
from thyme.study.map_plan import PEOPLE, state_of
from thyme.study.wording import NOTHING, duration, listed, proportion, span

INTRODUCTION = """\
# Which approach where

All six approaches on the same posts and people, 20 to 1,000 of them, on 802.11g (about 113 m): each person posts
about twice in ten minutes and asks once, who is notified retrieves, and one post in five is a photo where photos are
shared. Three placements of each crowd; ranges go from the smallest to the largest of the three ({origin}).
[`decision.csv`](../data/decision.csv) has the figures, and this page is printed by `thyme study map`. Ask it for your
own crowd: `thyme study map --people 60 --walking 0.5 --going leave`.

<picture><source media="(max-width: 640px)" srcset="../figures/decision_whole_narrow.png">
<img alt="Which approach where" src="../figures/decision_whole.png"></picture>

The same table is the rule of `approach = "auto"` in scenarios (`thyme.approaches.deciding.decide`), of `thyme
namespace new --approach auto`, and the prior that every study tells beside its answer. An approach is dependable
where 95 % of operations succeed and 90 % of the expected notifications arrive, on average. Among dependable ones the
map takes the one that sends least, and names every other one whose range meets its range. In the last column nobody
asks for the past or deletes, and neither is counted: it has a workload of its own.

## What was played, and what was not

The usual crowd has two people in 40 m × 40 m, who stand and stay and share texts. The plan has it at every number of
people, with crowds that differ from it in one respect, and at 20 and 50 people in two. An approach of which no run
brought half of what was expected is not played in that crowd of more people. What costs little and tells most is
played first (`thyme.study.map_plan`); `thyme study map --play out/map` goes on with what is missing, and each
finished batch adds its rows, with commit and date. Pairs of a crowd and an approach:

{state}
A crowd that was not played is *interpolated* between played ones, linearly (people and density by their logarithm),
or *combined*: the usual crowd, times the effect of each respect in which this one differs, as if they did not
influence each other. The answer says which, and which crowds it is from. Numbers of people at which a crowd that this
needs was not played are passed over; beyond the ends of the map, its ends answer.

What the map does not tell: how approaches do over hours, or with other devices' radios. A study of your own crowd
does. "SC" in the figure is SocialCast, which is slow where it is cheap; a question mark stands where not all
approaches that would fit were played, "~" where the figure is combined, and grey where nothing was played.
"""

ASKED_FOR = {"all": "past and future", "future": "future"}


def decision_page() -> str:
    lines = table()
    text = files("thyme.approaches").joinpath(TABLE).read_text("utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    origins = Counter((row["commit"], row["date"]) for row in rows)
    origin = "; ".join(f"{rows} rows of commit `{commit}`, {date}" for (commit, date), rows in origins.items())
    parts = [
        INTRODUCTION.format(origin=origin, state=_state(lines)),
        "## What each needs\n",
        _needs(),
        "## The best in each crowd\n",
        _best(lines),
        "## All figures\n",
        _figures(lines),
    ]
    return "\n".join(parts)


def _state(lines: tuple[Line, ...]) -> str:
    rows = ["| people | played | left out: failed clearly among fewer | missing |", "|---|---|---|---|"]
    for people in PEOPLE:
        state = state_of(people, lines)
        rows.append(f"| {people:,} | {state.played} | {state.left_out} | {state.missing} |")
    return "\n".join(rows) + "\n"


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
    header = ["people", "crowd", *PANELS]
    rows = [f"| {' | '.join(header)} |", "|---" * len(header) + "|"]
    for people in PEOPLE:
        for name, changed in {**SHARED, **OTHERS}.items():
            kind = CrowdKind(people, **changed)
            told = [decision_at(lines, kind, needs) for needs in PANELS.values()]
            if any(told):
                cells = [f"{people:,}", name.replace("\n", " "), *map(_told, told)]
                rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows) + "\n"


def _told(decision: Decision | None) -> str:
    if decision is None:
        return "not played"
    names = listed([APPROACHES[line.approach].title for line in decision.best], "or")
    if not decision.dependable:
        return f"none; {names} brings {share_range(decision.best[0].recall)}"
    margin = decision.margin
    alone = " alone" if margin is None and len(decision.best) == 1 else ""
    more = (
        ""
        if margin is None or len(decision.best) > 1
        else f"; the next sends {proportion(1.0 + margin, 1.0 + margin, 0.0)}"
    )
    combined = ", combined" if decision.how == "combined" else ""
    unknown = [APPROACHES[name].title for name in decision.unknown]
    return f"{names}{alone}{more}{combined}" + (f" ({listed(unknown, 'and')} not known)" if unknown else "")


def _figures(lines: tuple[Line, ...]) -> str:
    header = (
        "| crowd | asked for | approach | succeed | arrive "
        "| half within | 95 % within | sent per person and minute | J per person and minute | uneven load (Gini) |"
    )
    rows = [header, "|---" * 10 + "|"]
    for line in sorted(lines, key=lambda line: (line.kind, line.workload)):
        rows.append(_figures_row(line))
    return "\n".join(rows) + "\n"


def _figures_row(line: Line) -> str:
    cells = [
        crowd_words(line.kind),
        ASKED_FOR[line.workload],
        APPROACHES[line.approach].title,
        share_range(line.success),
        share_range(line.recall),
        _duration_range(line.notified_s),
        _duration_range(line.late_s),
        size_range(line.air_bytes),
        f"{line.joules.mean:.1f}",
        f"{line.gini.mean:.2f}",
    ]
    return f"| {' | '.join(cells)} |"


def _duration_range(measured: Measured | None) -> str:
    return NOTHING if measured is None else span(duration(measured.low), duration(measured.high))
