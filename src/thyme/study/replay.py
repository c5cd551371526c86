"""A replay: where everybody was, what they did, who reached whom, and what was sent, instant by instant.

Reads what `thyme simulate` left behind. A shot is one instant; a replay is a row of them, as a page that a browser
plays by itself (no other file, no network) or as pictures. Beacons and the like are no shot's concern in pictures:
there are so many that nothing else could be seen.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from thyme.model.errors import InputError
from thyme.wire.codec import MODULES
from thyme.wire.message import Message
from thyme.world.mobility.movement import Leg, Movement, movement_of_legs

MAX_SHOTS = 2_000
MAX_MESSAGES_PER_SHOT = 400
MAX_LINKED_NODES = 30
"""In larger crowds a picture of who reaches whom hides everything else."""
NOTIFIED = "was told of"
DEED_COLUMNS = ["at_s", "node", "kind", "name", "operation", "object", "subscription", "reason"]

DEEDS = {"insert": "posted", "delete": "deleted", "subscribe": "asked", "unsubscribe": "no longer asks"}
"""What issuing an operation means to whoever looks on; of a retrieval, its end counts."""


@dataclass(frozen=True)
class Deed:
    """Somebody did something, or something happened to them."""

    at_s: float
    node: int
    what: str
    about: str
    """The object, or the subscription."""
    owner: int
    """Who published the object; below 0 if it is none."""


@dataclass(frozen=True)
class Shot:
    at_s: float
    places: NDArray[np.float64]
    links: NDArray[np.int64]
    messages: list[tuple[int, int, str]]
    off: list[int]
    notified: list[int]


class Replay:
    """A run that can be looked at."""

    def __init__(
        self, movement: Movement, summary: dict[str, Any], frames: list[dict[str, Any]], deeds: list[Deed]
    ) -> None:
        self.movement = movement
        self.summary = summary
        self.until_s = float(summary["scenario"]["time"]["until_s"])
        self._frames = frames
        self._frame_times = np.array([frame["at_s"] for frame in frames])
        self.deeds = deeds
        self._told = [deed for deed in deeds if deed.what == NOTIFIED]
        self._told_times = np.array([deed.at_s for deed in self._told])

    def shots(self, from_s: float, to_s: float, step_s: float, range_m: float) -> list[Shot]:
        times = np.arange(from_s, to_s + step_s / 2.0, step_s)
        if len(times) > MAX_SHOTS:
            raise InputError(f"{len(times)} pictures are too many, at most {MAX_SHOTS}; choose a larger --step")
        return [self._shot(float(at_s), step_s, range_m) for at_s in times]

    def _shot(self, at_s: float, step_s: float, range_m: float) -> Shot:
        places = self.movement.positions(at_s)
        off = self._off(at_s)
        pairs = cKDTree(places).query_pairs(range_m, output_type="ndarray")
        on = ~np.isin(pairs, off).any(axis=1)
        low, high = np.searchsorted(self._frame_times, (at_s, at_s + step_s))
        sent = self._frames[low : min(high, low + MAX_MESSAGES_PER_SHOT)]
        first, last = np.searchsorted(self._told_times, (at_s, at_s + step_s))
        return Shot(
            at_s,
            places,
            pairs[on],
            [(frame["sender"], frame["to"], frame["message"]) for frame in sent],
            off,
            [deed.node for deed in self._told[first:last]],
        )

    def _off(self, at_s: float) -> list[int]:
        state: dict[int, bool] = {}
        for changed_s, node, on in self.summary["churn"]:
            if changed_s <= at_s:
                state[node] = on
            else:
                state.setdefault(node, not on)
        return sorted(node for node, on in state.items() if not on)


def load_replay(folder: Path) -> Replay:
    summary_file = folder / "summary.json"
    if not summary_file.exists():
        raise InputError(f"{folder}: no run is here; expected a folder that `thyme simulate --out` wrote")
    summary = json.loads(summary_file.read_text())
    legs = pq.read_table(folder / "movement.parquet").to_pylist()
    nodes = max(leg["node"] for leg in legs) + 1
    ways: list[list[Leg]] = [[] for _ in range(nodes)]
    for leg in legs:
        ways[leg["node"]].append(Leg(leg["start_s"], leg["x_m"], leg["y_m"], leg["vx_mps"], leg["vy_mps"]))
    movement = movement_of_legs(summary["width_m"], summary["height_m"], ways)
    frame_file = folder / "frames.parquet"
    frames = pq.read_table(frame_file).to_pylist() if frame_file.exists() else []
    return Replay(movement, summary, frames, deeds_of(pq.read_table(folder / "events.parquet", columns=DEED_COLUMNS)))


def deeds_of(events: pa.Table) -> list[Deed]:
    """What people did and what they were told, of all events, in the order of time."""
    wanted = pc.is_in(events["kind"], pa.array(["issued", "succeeded", "failed", "notified"]))
    found: list[Deed] = []
    objects: dict[int, str] = {}
    for row in events.select(DEED_COLUMNS).filter(wanted).to_pylist():
        kind, name = row["kind"], row["name"]
        about = row["object"] or objects.get(row["operation"], "")
        if not about and row["subscription"]:
            about = f"question {row['subscription'].partition('@')[0]}"
        what = {"notified": NOTIFIED, "failed": f"failed to {name} ({row['reason']})"}.get(kind, "")
        if kind == "issued":
            objects[row["operation"]] = about
            what = DEEDS.get(name, "")
        elif kind == "succeeded" and name == "retrieve":
            what = "got"
        if what:
            owner = about.rpartition("@")[2]
            found.append(Deed(row["at_s"], row["node"], what, about, int(owner) if owner.isdigit() else -1))
    return sorted(found, key=lambda deed: deed.at_s)


def control_names() -> set[str]:
    """Messages of routing and the like, which are shown only if asked for."""
    found: dict[str, bool] = {}
    for module in MODULES:
        for kind in vars(module).values():
            if isinstance(kind, type) and issubclass(kind, Message) and kind is not Message:
                found[kind.__name__] = found.get(kind.__name__, True) and kind.control
    return {name for name, is_control in found.items() if is_control}


def write_pictures(
    run: Replay, shots: Sequence[Shot], target: Path, cell_m: float, drawn: Callable[[], None] = lambda: None
) -> None:
    """An animated GIF of all shots, or a PNG of the last one."""
    from PIL import Image

    if target.suffix == ".png":
        Image.open(_draw(run, shots[-1], cell_m)).save(target)
        drawn()
        return
    pictures = []
    for shot in shots:
        pictures.append(Image.open(_draw(run, shot, cell_m)).convert("P", palette=Image.Palette.ADAPTIVE))
        drawn()
    pictures[0].save(target, save_all=True, append_images=pictures[1:], duration=120, loop=0)


def _draw(run: Replay, shot: Shot, cell_m: float) -> BytesIO:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt
    from matplotlib.collections import LineCollection

    movement = run.movement
    height_in = 8.0 * movement.height_m / movement.width_m + 0.6
    figure, axes = plt.subplots(figsize=(8.0, min(8.0, height_in)), dpi=100)
    if cell_m > 0.0:
        for x in np.arange(0.0, movement.width_m + 0.1, cell_m):
            axes.axvline(x, color="#e6e9ef", lw=0.8, zorder=0)
        for y in np.arange(0.0, movement.height_m + 0.1, cell_m):
            axes.axhline(y, color="#e6e9ef", lw=0.8, zorder=0)
    places = shot.places
    if movement.nodes <= MAX_LINKED_NODES:
        axes.add_collection(LineCollection([places[pair] for pair in shot.links], colors="#dfe4ee", lw=0.5, zorder=1))
    control = control_names()
    said = [(sender, to) for sender, to, name in shot.messages if name not in control]
    heard = [(sender, to) for sender, to in said if to >= 0]
    axes.add_collection(LineCollection([places[list(pair)] for pair in heard], colors="#e4572e", lw=1.2, zorder=2))
    talking = sorted({sender for sender, to in said if to < 0})
    axes.scatter(places[talking, 0], places[talking, 1], s=120, facecolors="none", edgecolors="#f3a712", zorder=3)
    colours = ["#b0b7c3" if i in shot.off else "#2e86ab" for i in range(movement.nodes)]
    for node in shot.notified:
        colours[node] = "#3fa34d"
    axes.scatter(places[:, 0], places[:, 1], s=22, c=colours, zorder=4)
    axes.set(xlim=(0.0, movement.width_m), ylim=(0.0, movement.height_m), aspect="equal", xlabel="m", ylabel="m")
    axes.set_title(f"{run.summary['scenario']['approach']}, {movement.nodes} nodes, {shot.at_s:.0f} s", fontsize=10)
    picture = BytesIO()
    figure.savefig(picture, format="png", bbox_inches="tight")
    plt.close(figure)
    picture.seek(0)
    return picture
