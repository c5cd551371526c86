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
from thyme.study.replay import NOTIFIED, Replay, Snapshot, control_names

MAX_ACTIVITIES = 20_000
"""Activities on the page; later ones are left out."""


def write_page(run: Replay, snapshots: Sequence[Snapshot], target: Path, cell_m: float, range_m: float) -> None:
    target.write_text(page_of(run, snapshots, cell_m, range_m), "utf-8")


def page_of(run: Replay, snapshots: Sequence[Snapshot], cell_m: float, range_m: float, kind: str = "") -> str:
    """One self-contained page; the kind `film` is for embedding in another page."""
    scenario = run.summary["scenario"]
    names = sorted({name for snapshot in snapshots for _, _, name in snapshot.messages})
    control = control_names()
    whats = sorted({activity.what for activity in run.activities})
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
            [round(activity.at_s, 2), activity.node, whats.index(activity.what), activity.about, activity.owner]
            for activity in run.activities[:MAX_ACTIVITIES]
        ],
        "shots": [
            {
                "t": round(snapshot.at_s, 2),
                "p": np.round(snapshot.places, 1).ravel().tolist(),
                "m": [[sender, to, names.index(name)] for sender, to, name in snapshot.messages],
                "off": snapshot.off,
            }
            for snapshot in snapshots
        ],
    }
    title = f"{scenario['name']}: {find_approach(scenario['approach']).full_title}, {scenario['nodes']} people"
    template = Template((Path(__file__).parent / "replay.html").read_text("utf-8"))
    shown = msgspec.json.encode(data).decode().replace("</", "<\\/")
    return template.substitute(title=escape(title), data=shown, kind=escape(kind))
