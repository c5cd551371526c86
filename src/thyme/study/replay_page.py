"""A replay as one page: the crowd, what people did and where it went, with a person or an event to look at closely."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from string import Template
from typing import Any

import msgspec
import numpy as np

from thyme.study.replay import NOTIFIED, Replay, Shot
from thyme.wire.codec import MODULES
from thyme.wire.message import Message

MAX_TOLD_DEEDS = 20_000
"""Of what people did, the page has so much."""


def control_names() -> set[str]:
    """Messages of routing and the like, which the page shows only if asked to."""
    found: dict[str, bool] = {}
    for module in MODULES:
        for kind in vars(module).values():
            if isinstance(kind, type) and issubclass(kind, Message) and kind is not Message:
                found[kind.__name__] = found.get(kind.__name__, True) and kind.control
    return {name for name, is_control in found.items() if is_control}


def write_page(run: Replay, shots: Sequence[Shot], target: Path, cell_m: float, range_m: float) -> None:
    """One page with everything in it."""
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
    title = f"{scenario['name']}: {scenario['approach']}, {scenario['nodes']} people"
    template = Template((Path(__file__).parent / "replay.html").read_text("utf-8"))
    shown = msgspec.json.encode(data).decode().replace("</", "<\\/")
    target.write_text(template.substitute(title=json.dumps(title)[1:-1], data=shown), "utf-8")
