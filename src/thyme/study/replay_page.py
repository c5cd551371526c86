"""A replay as one page: the crowd, what people did and where it went, with a person or an event to look at closely."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import Any

import msgspec
import numpy as np

from thyme.approaches.registry import find_approach
from thyme.study.replay import NOTIFIED, Replay, Shot, control_names

MAX_TOLD_DEEDS = 20_000
"""Of what people did, the page has so much."""


def write_page(run: Replay, shots: Sequence[Shot], target: Path, cell_m: float, range_m: float) -> None:
    target.write_text(page_of(run, shots, cell_m, range_m), "utf-8")


def page_of(run: Replay, shots: Sequence[Shot], cell_m: float, range_m: float, kind: str = "") -> str:
    """One page with everything in it; of the kind `film`, what fits into another page."""
    scenario = run.summary["scenario"]
    names = sorted({name for shot in shots for _, _, name in shot.messages})
    control = control_names()
    whats = sorted({deed.what for deed in run.deeds})
    data: dict[str, Any] = {
        "width": run.movement.width_m,
        "height": run.movement.height_m,
        "cell": cell_m,
        "range": range_m,
        "names": names,
        "control": [name in control for name in names],
        "whats": whats,
        "told": NOTIFIED,
        "deeds": [
            [round(deed.at_s, 2), deed.node, whats.index(deed.what), deed.about, deed.owner]
            for deed in run.deeds[:MAX_TOLD_DEEDS]
        ],
        "shots": [
            {
                "t": round(shot.at_s, 2),
                "p": np.round(shot.places, 1).ravel().tolist(),
                "m": [[sender, to, names.index(name)] for sender, to, name in shot.messages],
                "off": shot.off,
            }
            for shot in shots
        ],
    }
    title = f"{scenario['name']}: {find_approach(scenario['approach']).title}, {scenario['nodes']} people"
    template = Template((Path(__file__).parent / "replay.html").read_text("utf-8"))
    shown = msgspec.json.encode(data).decode().replace("</", "<\\/")
    return template.substitute(title=escape(title), data=shown, kind=escape(kind))
