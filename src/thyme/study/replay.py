"""A replay: positions, activities, links and messages of a run, in steps.

Reads the output of `thyme simulate`. A snapshot is one instant; a replay is a sequence of them, as a self-contained
page for a browser or as pictures. Pictures leave out beacons and other control traffic, which would hide everything
else.
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
from thyme.model.operations import Operation
from thyme.model.records import OperationKind
from thyme.wire.codec import MODULES
from thyme.wire.message import Message
from thyme.world.movement import Leg, Movement, movement_of_legs

MAX_SNAPSHOTS = 2_000
MAX_MESSAGES_PER_SNAPSHOT = 400
MAX_LINKED_NODES = 30
"""In larger crowds the lines between nodes in range hide everything else."""
NOTIFIED = "was notified of"
ACTIVITY_COLUMNS = ["at_s", "node", "kind", "name", "operation", "object", "subscription", "reason"]

ACTIVITY_NAMES = {
    "insert": "published",
    "delete": "deleted",
    "subscribe": "subscribed to",
    "unsubscribe": "unsubscribed from",
}
"""Operations in a reader's words, shown when they are issued; a retrieval is shown when it ends."""


@dataclass(frozen=True)
class Activity:
    """A person did something, or was notified."""

    at_s: float
    node: int
    what: str
    about: str
    """Name of the object or the subscription."""
    owner: int
    """The publisher of the object; below 0 if there is none."""


@dataclass(frozen=True)
class Snapshot:
    at_s: float
    places: NDArray[np.float64]
    links: NDArray[np.int64]
    messages: list[tuple[int, int, str]]
    off: list[int]
    notified: list[int]


class Replay:
    """A run to look at."""

    def __init__(
        self, movement: Movement, summary: dict[str, Any], frames: list[dict[str, Any]], activities: list[Activity]
    ) -> None:
        self.movement = movement
        self.summary = summary
        self.until_s = float(summary["scenario"]["time"]["until_s"])
        self._frames = frames
        self._frame_times = np.array([frame["at_s"] for frame in frames])
        self.activities = activities
        self._notified = [activity for activity in activities if activity.what == NOTIFIED]
        self._notified_times = np.array([activity.at_s for activity in self._notified])

    def snapshots(self, from_s: float, to_s: float, step_s: float, range_m: float) -> list[Snapshot]:
        times = np.arange(from_s, to_s + step_s / 2.0, step_s)
        if len(times) > MAX_SNAPSHOTS:
            raise InputError(f"{len(times)} pictures are too many, at most {MAX_SNAPSHOTS}; choose a larger --step")
        return [self._snapshot(float(at_s), step_s, range_m) for at_s in times]

    def _snapshot(self, at_s: float, step_s: float, range_m: float) -> Snapshot:
        places = self.movement.positions(at_s)
        off = self._off(at_s)
        pairs = cKDTree(places).query_pairs(range_m, output_type="ndarray")
        on = ~np.isin(pairs, off).any(axis=1)
        low, high = np.searchsorted(self._frame_times, (at_s, at_s + step_s))
        sent = self._frames[low : min(high, low + MAX_MESSAGES_PER_SNAPSHOT)]
        first, last = np.searchsorted(self._notified_times, (at_s, at_s + step_s))
        return Snapshot(
            at_s,
            places,
            pairs[on],
            [(frame["sender"], frame["to"], frame["message"]) for frame in sent],
            off,
            [activity.node for activity in self._notified[first:last]],
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
        raise InputError(f"{folder}: contains no run; expected a folder that `thyme simulate --out` wrote")
    summary = json.loads(summary_file.read_text())
    legs = pq.read_table(folder / "movement.parquet").to_pylist()
    nodes = max(leg["node"] for leg in legs) + 1
    ways: list[list[Leg]] = [[] for _ in range(nodes)]
    for leg in legs:
        ways[leg["node"]].append(Leg(leg["start_s"], leg["x_m"], leg["y_m"], leg["vx_mps"], leg["vy_mps"]))
    movement = movement_of_legs(summary["width_m"], summary["height_m"], ways)
    frame_file = folder / "frames.parquet"
    frames = pq.read_table(frame_file).to_pylist() if frame_file.exists() else []
    return Replay(
        movement, summary, frames, activities_of(pq.read_table(folder / "events.parquet", columns=ACTIVITY_COLUMNS))
    )


def activities_of(events: pa.Table, operations: Sequence[Operation] = ()) -> list[Activity]:
    """Activities and notifications, ordered by time. Objects and subscriptions are named by their tags and queries if
    the operations are given, otherwise numbered.
    """
    objects, questions = _names_of(operations)
    wanted = pc.is_in(events["kind"], pa.array(["issued", "succeeded", "failed", "notified"]))
    found: list[Activity] = []
    keys: dict[int, str] = {}
    for row in events.select(ACTIVITY_COLUMNS).filter(wanted).to_pylist():
        kind, name = row["kind"], row["name"]
        key = row["object"] or keys.get(row["operation"], "")
        what = {"notified": NOTIFIED, "failed": f"failed to {name} ({row['reason']})"}.get(kind, "")
        if kind == "issued":
            keys[row["operation"]] = key
            what = ACTIVITY_NAMES.get(name, "")
        elif kind == "succeeded" and name == "retrieve":
            what = "retrieved"
        if what:
            number = key.rpartition("@")[2]
            owner = int(number) if number.isdigit() else -1
            if key:
                about = objects.setdefault(key, f"post {len(objects) + 1}")
                about += f" of person {owner}" if owner != row["node"] else ""
            else:
                asked = row["subscription"] or ""
                about = questions.setdefault(asked, f"query {len(questions) + 1}") if asked else ""
            found.append(Activity(row["at_s"], row["node"], what, about, owner))
    return sorted(found, key=lambda activity: activity.at_s)


def _names_of(operations: Sequence[Operation]) -> tuple[dict[str, str], dict[str, str]]:
    """Names of the objects and the subscriptions of these operations."""
    objects, questions = {}, {}
    for one in operations:
        if one.kind is OperationKind.INSERT:
            objects[str(one.object_key)] = " ".join(
                ["a photo" if one.size_bytes else "a text", *map("#{}".format, one.tags)]
            )
        elif one.kind is OperationKind.SUBSCRIBE:
            questions[f"{one.sid}@{one.node}"] = f"“{one.query}”"
    return objects, questions


def control_names() -> set[str]:
    """Types of control messages, such as routing's, which are hidden by default."""
    found: dict[str, bool] = {}
    for module in MODULES:
        for kind in vars(module).values():
            if isinstance(kind, type) and issubclass(kind, Message) and kind is not Message:
                found[kind.__name__] = found.get(kind.__name__, True) and kind.control
    return {name for name, is_control in found.items() if is_control}


def write_pictures(
    run: Replay, snapshots: Sequence[Snapshot], target: Path, cell_m: float, drawn: Callable[[], None] = lambda: None
) -> None:
    """An animated GIF of all snapshots, or a PNG of the last one."""
    from PIL import Image

    if target.suffix == ".png":
        Image.open(_draw(run, snapshots[-1], cell_m)).save(target)
        drawn()
        return
    pictures = []
    for snapshot in snapshots:
        pictures.append(Image.open(_draw(run, snapshot, cell_m)).convert("P", palette=Image.Palette.ADAPTIVE))
        drawn()
    pictures[0].save(target, save_all=True, append_images=pictures[1:], duration=120, loop=0)


def _draw(run: Replay, snapshot: Snapshot, cell_m: float) -> BytesIO:
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
    places = snapshot.places
    if movement.nodes <= MAX_LINKED_NODES:
        axes.add_collection(
            LineCollection([places[pair] for pair in snapshot.links], colors="#dfe4ee", lw=0.5, zorder=1)
        )
    control = control_names()
    said = [(sender, to) for sender, to, name in snapshot.messages if name not in control]
    heard = [(sender, to) for sender, to in said if to >= 0]
    axes.add_collection(LineCollection([places[list(pair)] for pair in heard], colors="#e4572e", lw=1.2, zorder=2))
    talking = sorted({sender for sender, to in said if to < 0})
    axes.scatter(places[talking, 0], places[talking, 1], s=120, facecolors="none", edgecolors="#f3a712", zorder=3)
    colours = ["#b0b7c3" if i in snapshot.off else "#2e86ab" for i in range(movement.nodes)]
    for node in snapshot.notified:
        colours[node] = "#3fa34d"
    axes.scatter(places[:, 0], places[:, 1], s=22, c=colours, zorder=4)
    axes.set(xlim=(0.0, movement.width_m), ylim=(0.0, movement.height_m), aspect="equal", xlabel="m", ylabel="m")
    axes.set_title(f"{run.summary['scenario']['approach']}, {movement.nodes} nodes, {snapshot.at_s:.0f} s", fontsize=10)
    picture = BytesIO()
    figure.savefig(picture, format="png", bbox_inches="tight")
    plt.close(figure)
    picture.seek(0)
    return picture
