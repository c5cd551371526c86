"""The decision map drawn: a tile for each crowd, in the colour of the approach that fits it best."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from thyme.approaches.deciding import Decision, Needs, decide
from thyme.approaches.decision_table import CrowdKind, DecisionRow
from thyme.approaches.registry import APPROACHES
from thyme.model.errors import InputError
from thyme.study.decision import size_range
from thyme.study.figures.pictures import APPROACH_COLOURS, GRID, INK, MUTED, STYLE, Picture, to_picture
from thyme.study.map_plan import PEOPLE
from thyme.study.wording import span

PANELS = {
    "with a server": Needs(server=True),
    "without a server": Needs(),
    "no server, no deletes, no past": Needs(past=False, deletes=False),
}
"""What is wanted of an approach; `approach = "auto"` wants the second."""
SHARED: dict[str, dict[str, Any]] = {
    "texts": {},
    "texts and\nphotos of 100 kB": {"contents": "photos"},
    "texts and\nphotos of 2 MB": {"contents": "large photos"},
}
"""The rows of the short map: what is shared."""
OTHERS: dict[str, dict[str, Any]] = {
    "in a hall": {"density": 8.0},
    "on a campus": {"density": 0.2},
    "half walk": {"walking": 0.5},
    "all walk": {"walking": 1.0},
    "a fifth leaves": {"leaving": 0.2},
    "a fifth goes\noff and on": {"switching": 0.2},
}
"""The further rows of the whole map: what else may differ."""
ROW_IN, HEAD_IN = 0.56, 1.45
WIDTH_IN, NARROW_WIDTH_IN = 13.6, 5.6
NOT_PLAYED = "#f1f2f4"
CAPTION = (
    "Colour: the dependable approach that sends least; pale: none is dependable, and this one delivers most. A "
    "slash separates approaches whose ranges overlap. Below: notifications that arrive, bytes per person and minute, "
    "each from the smallest to the largest of three runs; ~: combined from other crowds; ?: not all fitting "
    "approaches were simulated. Grey: not simulated."
)


def decision_figure(lines: Sequence[DecisionRow], narrow: bool = False, whole: bool = False) -> Picture:
    """Its panels side by side, or for a narrow screen one below the other; `whole` with all rows."""
    rows = {**SHARED, **OTHERS} if whole else SHARED
    height_in = HEAD_IN + ROW_IN * len(rows) * (len(PANELS) if narrow else 1) + (0.7 * len(PANELS) if narrow else 0.0)
    with mpl.rc_context(STYLE | {"axes.grid": False}):
        figure = Figure(figsize=(NARROW_WIDTH_IN if narrow else WIDTH_IN, height_in), layout="constrained")
        FigureCanvasAgg(figure)
        panels = figure.subplots(len(PANELS), 1) if narrow else figure.subplots(1, len(PANELS), sharey=True)
        named: set[str] = set()
        for axes, (title, needs) in zip(panels, PANELS.items(), strict=True):
            named |= _draw(axes, lines, needs, rows)
            axes.set_title(title, fontsize=11, color=INK)
        marks = [Patch(color=APPROACH_COLOURS[title], label=title) for title in sorted(named)]
        figure.legend(handles=marks, loc="outside lower center", ncols=3 if narrow else len(marks))
        return to_picture(figure, "decision", "Which approach where", CAPTION)


def decision_at(lines: Sequence[DecisionRow], kind: CrowdKind, needs: Needs) -> Decision | None:
    """What the map has for so many people; None if crowds of other numbers would have to answer."""
    try:
        decision = decide(kind, needs, lines=lines)
    except InputError:
        return None
    return decision if all(place.people == kind.people for place in decision.places) else None


def _draw(axes: Axes, lines: Sequence[DecisionRow], needs: Needs, rows: dict[str, dict[str, Any]]) -> set[str]:
    """The tiles of one panel; the approaches that occur in it."""
    named = set()
    for y, changed in enumerate(reversed(rows.values())):
        for x, people in enumerate(PEOPLE):
            decision = decision_at(lines, CrowdKind(people, **changed), needs)
            if decision is None:
                axes.add_patch(Rectangle((x, y), 0.96, 0.94, color=NOT_PLAYED, linewidth=0))
                continue
            named.add(_tile(axes, x, y, decision))
    axes.set_xlim(0, len(PEOPLE))
    axes.set_ylim(0, len(rows))
    axes.set_xticks([i + 0.48 for i in range(len(PEOPLE))], [f"{people:,}" for people in PEOPLE])
    axes.set_xlabel("people")
    axes.set_yticks([i + 0.47 for i in range(len(rows))], list(reversed(rows)), fontsize=8.5)
    axes.tick_params(length=0, colors=MUTED)
    axes.spines[:].set_color(GRID)
    return named


def _tile(axes: Axes, x: float, y: float, decision: Decision) -> str:
    best = decision.best[0]
    title = APPROACHES[best.approach].title
    shade = 0.85 if decision.dependable else 0.22
    axes.add_patch(Rectangle((x, y), 0.96, 0.94, color=APPROACH_COLOURS[title], alpha=shade, linewidth=0))
    ink = "white" if decision.dependable and best.approach != "ls" else INK
    names = "/".join(_short(line.approach) for line in decision.best)
    mark, doubt = "~" if decision.how == "combined" else "", "?" if decision.unknown else ""
    axes.text(x + 0.48, y + 0.74, mark + names + doubt, ha="center", va="center", fontsize=8, color=ink, weight="bold")
    arrive = f"{span(*(f'{100 * end:.0f}' for end in (best.recall.low, best.recall.high)))}%"
    sent = size_range(best.air_bytes)
    for at, words in ((0.46, arrive), (0.2, sent)):
        axes.text(x + 0.48, y + at, words.replace(" to ", "–"), ha="center", va="center", fontsize=6.8, color=ink)
    return title


def _short(approach: str) -> str:
    return APPROACHES[approach].title.removeprefix("Thyme-").removeprefix("Directional ").replace("SocialCast", "SC")
