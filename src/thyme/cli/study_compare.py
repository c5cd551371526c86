"""`thyme study compare A B`: compare the results of two studies, point by point."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def compare(
    first: Annotated[Path, typer.Argument(metavar="A", help="Folder of a study, such as out/fanzone.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="Folder of another study.")],
    every: Annotated[
        bool, typer.Option("--every-metric", help="All of metrics.csv, not only the metrics behind the answer.")
    ] = False,
) -> None:
    """Show the numbers of two studies side by side, for points that both have.

    A difference is marked if the runs of one lie outside the interval of the other.

    Example:

      thyme study compare out/before out/after
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from thyme.study.comparing import compare_studies

    console = Console(highlight=False)
    found = compare_studies(first, second, every)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("where")
    table.add_column("what")
    for folder in (first, second):
        table.add_column(folder.name or str(folder), justify="right")
    table.add_column("")
    before = ""
    for row in found.rows:
        if row.point != before and before:
            table.add_section()
        where, before = ("" if row.point == before else row.point), row.point
        told = "" if row.equal else "[yellow]differs[/yellow]" if row.apart else "[dim]within its runs[/dim]"
        table.add_row(where, row.metric, row.first, row.second, told)
    console.print(table)
    apart = sum(row.apart for row in found.rows)
    console.print(f"{len(found.rows)} numbers compared: {apart} differ by more than the spread of their runs.")
    for folder, points in ((first, found.only_first), (second, found.only_second)):
        if points:
            console.print(f"Only in {folder}: {'; '.join(points)}", markup=False)
