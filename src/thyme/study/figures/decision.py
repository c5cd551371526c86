"""The decision map drawn: a tile for each crowd, in the colour of the approach that fits it best."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from thyme.approaches.deciding import CrowdKind, Line, Needs, decide
from thyme.approaches.registry import APPROACHES
from thyme.study.figures.pictures import APPROACH_COLOURS, GRID, INK, MUTED, STYLE, Picture, to_picture
from thyme.study.wording import round_share, size

PANELS = {
    "with a server": Needs(server=True),
    "without a server": Needs(),
    "no server, no deletes, no past": Needs(past=False, deletes=False),
}
"""What is wanted of an approach; `approach = "auto"` wants the second."""
SIZE_IN, NARROW_SIZE_IN = (12.6, 6.3), (5.4, 15.0)
CAPTION = (
    "Colour: the dependable approach that sends least; pale: none is dependable, and this one brings most. A slash "
    "separates approaches that cannot be told apart. Below: notifications that arrive, bytes per person and minute."
)


def decision_figure(lines: Sequence[Line], narrow: bool = False) -> Picture:
    """Its panels side by side, or for a narrow screen one below the other."""
    with mpl.rc_context(STYLE | {"axes.grid": False}):
        figure = Figure(figsize=NARROW_SIZE_IN if narrow else SIZE_IN, layout="constrained")
        FigureCanvasAgg(figure)
        panels = figure.subplots(len(PANELS), 1) if narrow else figure.subplots(1, len(PANELS), sharey=True)
        named: dict[str, str] = {}
        for axes, (title, needs) in zip(panels, PANELS.items(), strict=True):
            named |= _draw(axes, lines, needs)
            axes.set_title(title, fontsize=11, color=INK)
        marks = [Patch(color=colour, label=title) for title, colour in sorted(named.items())]
        figure.legend(handles=marks, loc="outside lower center", ncols=3 if narrow else len(marks))
        return to_picture(figure, "decision", "Which approach where", CAPTION)


def _draw(axes: Axes, lines: Sequence[Line], needs: Needs) -> dict[str, str]:
    """The tiles of one panel; the approaches that occur in it, with their colours."""
    reaches = sorted({line.kind.reach for line in lines}, reverse=True)
    others = sorted({(line.kind.walking, line.kind.switching, line.kind.questions) for line in lines}, reverse=True)
    named: dict[str, str] = {}
    for kind in sorted({line.kind for line in lines}):
        x, y = reaches.index(kind.reach), others.index((kind.walking, kind.switching, kind.questions))
        decision = decide(kind, needs, lines=lines)
        best = decision.best[0]
        title = APPROACHES[best.approach].title
        named[title] = APPROACH_COLOURS[title]
        shade = 0.85 if decision.dependable else 0.22
        axes.add_patch(Rectangle((x, y), 0.96, 0.94, color=APPROACH_COLOURS[title], alpha=shade, linewidth=0))
        ink = "white" if decision.dependable and best.approach != "ls" else INK
        names = "/".join(_short(line.approach) for line in decision.best)
        axes.text(x + 0.48, y + 0.62, names, ha="center", va="center", fontsize=8.5, color=ink, weight="bold")
        told = f"{round_share(best.recall)}, {size(best.air_bytes)}"
        axes.text(x + 0.48, y + 0.26, told, ha="center", va="center", fontsize=7.5, color=ink)
    axes.set_xlim(0, len(reaches))
    axes.set_ylim(0, len(others))
    axes.set_xticks([i + 0.48 for i in range(len(reaches))], [f"{reach:.0f}" for reach in reaches])
    axes.set_xlabel("others in reach")
    axes.set_yticks([i + 0.47 for i in range(len(others))], [_row(*other) for other in others], fontsize=8.5)
    axes.tick_params(length=0, colors=MUTED)
    axes.spines[:].set_color(GRID)
    return named


def _short(approach: str) -> str:
    return APPROACHES[approach].title.removeprefix("Thyme-").removeprefix("Directional ").replace("SocialCast", "SC")


def _row(walking: float, switching: float, questions: float) -> str:
    moving = "walking" if walking else "standing"
    going = f", {round_share(switching)} on/off" if switching else ""
    return f"{moving}{going}, asks {questions:g}/h"


def places_of(lines: Sequence[Line]) -> list[CrowdKind]:
    """The map's crowds, the densest first."""
    return sorted({line.kind for line in lines}, key=lambda kind: (-kind.reach, kind))
