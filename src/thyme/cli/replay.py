"""`thyme replay`: a run as an animated page or picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def replay(
    folder: Annotated[Path, typer.Argument(help="Folder that `thyme simulate` wrote.", show_default=False)],
    out: Annotated[Path | None, typer.Option("--out", help="File to write: .html, .gif or .png.")] = None,
    from_s: Annotated[float, typer.Option("--from", help="Start, in simulated seconds.")] = 0.0,
    to_s: Annotated[
        float | None, typer.Option("--to", help="End, in simulated seconds. Default: the end of the run.")
    ] = None,
    step_s: Annotated[float, typer.Option("--step", help="Simulated seconds between two pictures.")] = 2.0,
    range_m: Annotated[float, typer.Option("--range", help="Draw links between nodes closer than this.")] = 113.0,
    cell_m: Annotated[float, typer.Option("--cell", help="Side of the drawn cells; 0: none.")] = 40.0,
) -> None:
    """Draw a run as a page, an animated GIF or one picture: people, operations, messages, cells.

    On the page, a click on a person shows what they did and whom they reach. Messages are shown if the run was made
    with `thyme simulate … --frames`.

    Examples:

      thyme replay out/run

      thyme replay out/run --out walk.gif --from 100 --to 160 --step 1
    """
    from rich.progress import Progress

    from thyme.model.errors import InputError
    from thyme.study.replay import load_replay, write_pictures
    from thyme.study.replay_page import write_page

    target = out or folder / "replay.html"
    if target.suffix not in (".html", ".gif", ".png"):
        raise InputError(f"--out {target}: expected a name that ends in .html, .gif or .png")
    run = load_replay(folder)
    end_s = run.until_s if to_s is None else to_s
    if not 0.0 <= from_s <= end_s or step_s <= 0.0:
        raise InputError(
            f"--from {from_s:g} --to {end_s:g} --step {step_s:g}: expected 0 ≤ from ≤ to and a step above 0"
        )
    snapshots = run.snapshots(from_s, end_s, step_s, range_m)
    with Progress(transient=True) as progress:
        task = progress.add_task(f"rendering {target.name}", total=len(snapshots))
        if target.suffix == ".html":
            write_page(run, snapshots, target, cell_m, range_m)
        else:
            write_pictures(run, snapshots, target, cell_m, lambda: progress.advance(task))
    print(f"written to {target}")
