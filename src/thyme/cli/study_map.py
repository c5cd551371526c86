"""`thyme study map`: which approach fits which crowd, from the decision map that comes with Thyme."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from thyme.model.errors import InputError

GOING_SHARE = 0.2
"""How many leave, or switch off and on, where nothing is said of their number: as on the map."""


def decision_map(
    people: Annotated[int, typer.Option(min=0, help="Number of people. Without it, prints the whole map.")] = 0,
    density: Annotated[float, typer.Option(help="People per 40 m x 40 m, for a radio range of 113 m.")] = 2.0,
    walking: Annotated[float, typer.Option(min=0.0, max=1.0, help="Share of people who walk.")] = 0.0,
    going: Annotated[str, typer.Option(help="stay, leave or switch (off and on).")] = "stay",
    share: Annotated[float, typer.Option(min=0.0, max=1.0, help="Share of people who leave, or switch.")] = GOING_SHARE,
    contents: Annotated[str, typer.Option(help="texts, photos (100 kB) or 'large photos' (2 MB).")] = "texts",
    server: Annotated[bool, typer.Option(help="A server is available.")] = False,
    positions: Annotated[bool, typer.Option(help="Devices know their positions.")] = True,
    past: Annotated[bool, typer.Option(help="People ask for past objects.")] = True,
    deletes: Annotated[bool, typer.Option(help="People delete objects.")] = True,
    figure: Annotated[Path | None, typer.Option(help="Draw the map into this file.")] = None,
    narrow: Annotated[bool, typer.Option("--narrow", help="Draw it for a narrow screen.")] = False,
    whole: Annotated[bool, typer.Option("--whole", help="Draw all rows, not only those of contents.")] = False,
    play: Annotated[
        Path | None, typer.Option(help="Run what the table lacks, in this folder; continues after an interruption.")
    ] = None,
    table_file: Annotated[Path | None, typer.Option("--table", help="File of the table.")] = None,
    most: Annotated[int, typer.Option(help="With --play: the largest number of people.")] = 1000,
    master: Annotated[str, typer.Option(help="With --play: where Spark runs.")] = "",
    commit: Annotated[str, typer.Option(help="With --play: the version. Default: the one checked out.")] = "",
) -> None:
    """Look up which approach fits a crowd, or print the whole map as a page.

    Examples:

      thyme study map --people 60 --walking 0.5 --going leave

      thyme study map --play out/map --table src/thyme/approaches/decision.csv
    """
    from thyme.approaches.decision_table import read_table, table
    from thyme.study.decision_page import decision_page

    if play is not None:
        _play(play, table_file or play / "decision.csv", most, master, commit or _checked_out())
        return
    lines = table() if table_file is None else tuple(read_table(table_file.read_text("utf-8")))
    if figure is not None:
        from thyme.study.figures.decision import decision_figure
        from thyme.study.figures.pictures import save_picture

        print("written to", *save_picture(decision_figure(lines, narrow, whole), figure))
    elif people:
        import msgspec

        from thyme.approaches.deciding import Needs, decide
        from thyme.approaches.decision_table import CrowdKind
        from thyme.study.decision import best_words, crowd_words, how_words

        if going not in ("stay", "leave", "switch"):
            raise InputError(f"--going {going}: expected stay, leave or switch")
        gone = {"leave": {"leaving": share}, "switch": {"switching": share}}.get(going, {})
        given = {"people": people, "density": density, "walking": walking, "contents": contents} | gone
        try:
            kind = msgspec.convert(given, CrowdKind)
        except msgspec.ValidationError:
            raise InputError(f"--contents {contents}: expected texts, photos or 'large photos'") from None
        decision = decide(kind, Needs(server, positions, past, deletes), lines=lines)
        print(f"{best_words(decision)}\n{how_words(decision, kind)}: {'; '.join(map(crowd_words, decision.places))}")
    else:
        print(decision_page(), end="")


def _checked_out() -> str:
    import subprocess

    asked = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=Path(__file__).parent, capture_output=True, text=True, check=False
    )
    return asked.stdout.strip()


def _play(out: Path, table_file: Path, most: int, master: str, commit: str) -> None:
    from datetime import UTC, datetime

    from thyme.study.map_plan import STEPS
    from thyme.study.mapping import play_map

    steps = [step for step in STEPS if step.people <= most]
    play_map(table_file, out, commit, lambda: datetime.now(UTC).date().isoformat(), steps, master, print)
