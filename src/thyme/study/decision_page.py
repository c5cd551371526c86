"""The page of the decision map, from the map itself (`thyme study map` prints it)."""

from __future__ import annotations

import csv
from collections import Counter
from importlib.resources import files

from thyme.approaches.deciding import Decision
from thyme.approaches.decision_table import TABLE, CrowdKind, DecisionRow, Measured, table
from thyme.approaches.registry import APPROACHES
from thyme.study.decision import crowd_words, share_range, size_range
from thyme.study.figures.decision import OTHERS, PANELS, SHARED, decision_at
from thyme.study.map_plan import PEOPLE, state_of
from thyme.study.wording import NOTHING, duration, listed, proportion, span

INTRODUCTION = """\
# Which approach where

All six approaches run on the same posts and people, 20 to 1,000 of them, on 802.11g (range about 113 m). Each person
posts about twice in ten minutes, subscribes once, and retrieves what they are notified of. Where photos are shared,
one post in five is a photo. Each crowd has three placements; ranges go from the smallest to the largest result
({origin}). All three have the same posts and questions, so ranges do not show what other posts would cost. The
figures are in [`decision.csv`](../data/decision.csv). `thyme study map` prints this page, and answers for your own
crowd: `thyme study map --people 60 --walking 0.5 --going leave`.

<picture><source media="(max-width: 640px)" srcset="../figures/decision_whole_narrow.png">
<img alt="Which approach where" src="../figures/decision_whole.png"></picture>

The same table decides `approach = "auto"` in scenarios (`thyme.approaches.deciding.decide`) and `thyme namespace new
--approach auto`. Every study shows the table's answer beside its own. An approach is dependable where 95 % of
operations succeed and 90 % of the expected notifications arrive, on average. Among dependable approaches, the map
names the one that sends least, and every other one whose range overlaps with it. In the figure's last column nobody
searches the past or deletes, and neither is counted: that column has its own workload.
## What was simulated, and what was not

The usual crowd has two people per 40 m × 40 m. They stand, stay and share texts. At every number of people the plan has
the usual crowd, the same with photos of 100 kB, and the same where nobody searches the past or deletes. At 20, 50 and
100 people it also has crowds that differ from the usual one in one other property. Left out are:

- crowds that differ in two properties, which are estimated;
- other properties beyond 100 people, and photos of 2 MB beyond 20 people, because these runs take hours;
- an approach of which no run was dependable in an easier crowd (fewer people or smaller contents, otherwise the same).

`thyme study map --play out/map` runs what is missing; each finished batch adds its rows. Every row has the commit and
the date of its runs: rows of different commits are of different versions of the approaches. Pairs of a crowd and an
approach:

{state}
A crowd that was not simulated is *interpolated* linearly between simulated ones (people and density on a logarithmic
scale), or *combined*: the usual crowd, times the effect of each property in which this one differs, as if the
properties were independent. The answer says which of the two it is, and which crowds it uses. A number of people is
skipped if a crowd needed there was not simulated. Outside the range of the map, its nearest end answers.

The map does not show how approaches do over hours, or with the radios of other devices. A study of your own crowd
does. In the figure, "SC" is SocialCast, which is slow where it is cheap; a question mark means that not all fitting
approaches were simulated, "~" that the value is combined, and grey that nothing was simulated.
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


def _state(lines: tuple[DecisionRow, ...]) -> str:
    rows = ["| people | simulated | left out: not dependable in an easier crowd | missing |", "|---|---|---|---|"]
    for people in PEOPLE:
        state = state_of(people, lines)
        rows.append(f"| {people:,} | {state.played} | {state.left_out} | {state.missing} |")
    return "\n".join(rows) + "\n"


def _needs() -> str:
    rows = ["| approach | server | positions | answers for the past | deletes |", "|---|---|---|---|---|"]
    for approach in APPROACHES.values():
        can = approach.capabilities
        past = "only what is in reach" if can.past_is_best_effort else _yes(can.answers_past)
        server = "needs one" if can.needs_server else "none"
        words = (server, "needs them" if can.needs_positions else "none", past, _yes(can.deletes))
        rows.append(f"| {approach.title} | {' | '.join(words)} |")
    return "\n".join(rows) + "\n"


def _yes(is_so: bool) -> str:
    return "yes" if is_so else "no"


def _best(lines: tuple[DecisionRow, ...]) -> str:
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
        return "not simulated"
    names = listed([APPROACHES[line.approach].title for line in decision.best], "or")
    if not decision.dependable:
        return f"none; {names} delivers {share_range(decision.best[0].recall)}"
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


def _figures(lines: tuple[DecisionRow, ...]) -> str:
    header = (
        "| crowd | asked for | approach | succeed | arrive "
        "| half within | 95 % within | sent per person and minute | J per person and minute | uneven load (Gini) |"
    )
    rows = [header, "|---" * 10 + "|"]
    for line in sorted(lines, key=lambda line: (line.kind, line.workload)):
        rows.append(_figures_row(line))
    return "\n".join(rows) + "\n"


def _figures_row(line: DecisionRow) -> str:
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
