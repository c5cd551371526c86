"""What a run leaves behind on disk: its events, the way nodes went, its scenario and a summary.

Parquet for what the pipeline and the replay read, JSON for people. A folder never holds half a file.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from thyme.drafts import drafted, write_file
from thyme.model.errors import InputError
from thyme.sim.run import Result


def legs_table(result: Result) -> pa.Table:
    movement = result.movement
    nodes = [
        node for node in range(movement.nodes) for _ in range(int(movement.first[node + 1] - movement.first[node]))
    ]
    return pa.table(
        {
            "node": pa.array(nodes, pa.int64()),
            "start_s": movement.start_s,
            "x_m": movement.x_m,
            "y_m": movement.y_m,
            "vx_mps": movement.vx_mps,
            "vy_mps": movement.vy_mps,
        }
    )


def summarise(result: Result) -> dict[str, Any]:
    """A few totals for a person; metrics are the pipeline's."""
    events = result.events
    counts = Counter(zip(events["kind"].to_pylist(), events["name"].to_pylist(), strict=True))
    issued = sorted(name for kind, name in counts if kind == "issued")
    sent = events.filter(pc.equal(events["kind"], "phy sent"))
    return {
        "scenario": msgspec.to_builtins(result.scenario),
        "width_m": result.movement.width_m,
        "height_m": result.movement.height_m,
        "success": {
            name: {"issued": counts[("issued", name)], "succeeded": counts[("succeeded", name)]} for name in issued
        },
        "notified": counts[("notified", "")],
        "phy_sent_frames": pc.sum(sent["count"]).as_py() or 0,
        "phy_sent_bytes": pc.sum(sent["size_bytes"]).as_py() or 0,
        "churn": [[change.at_s, change.node, change.on] for change in result.churn.changes],
        "actions": result.actions,
    }


def check_folder(folder: Path) -> None:
    """Refuse a place where a run could not be written, before it is played."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--out {folder}: no folder can be made there ({error.strerror or error})") from error


def write_result(result: Result, folder: Path, frames: pa.Table | None = None) -> dict[str, Any]:
    folder.mkdir(parents=True, exist_ok=True)
    summary = summarise(result)
    _write_table(result.events, folder / "events.parquet")
    _write_table(legs_table(result), folder / "movement.parquet")
    if frames is not None:
        _write_table(frames, folder / "frames.parquet")
    else:
        (folder / "frames.parquet").unlink(missing_ok=True)  # of an earlier run, and none of this one
    write_file(folder / "summary.json", msgspec.json.format(msgspec.json.encode(summary), indent=2) + b"\n")
    return summary


def _write_table(table: pa.Table, path: Path) -> None:
    with drafted(path) as draft:
        pq.write_table(table, draft, compression="zstd")
