"""`thyme study map`: which approach fits which crowd, from the decision map that comes with Thyme."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def decision_map(
    reach: Annotated[float | None, typer.Option(min=0.0, help="Average number of others in radio range.")] = None,
    walking: Annotated[float, typer.Option(min=0.0, max=1.0, help="Share of people who walk.")] = 0.0,
    switching: Annotated[float, typer.Option(min=0.0, max=1.0, help="Share of people who switch off and on.")] = 0.0,
    questions: Annotated[float, typer.Option(min=0.0, help="Subscriptions per person and hour.")] = 1.0,
    server: Annotated[bool, typer.Option(help="A server is available.")] = False,
    positions: Annotated[bool, typer.Option(help="Devices know their positions.")] = True,
    past: Annotated[bool, typer.Option(help="People ask for past objects.")] = True,
    deletes: Annotated[bool, typer.Option(help="People delete objects.")] = True,
    figure: Annotated[Path | None, typer.Option(help="Draw the map into this file.")] = None,
    narrow: Annotated[bool, typer.Option("--narrow", help="Draw it for a narrow screen.")] = False,
    made_from: Annotated[
        Path | None, typer.Option("--from", help="Make the table from this folder of the study `six`.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="File for the new table.")] = None,
    commit: Annotated[str, typer.Option(help="Version that ran that study. Default: the one checked out.")] = "",
) -> None:
    """Look up which approach fits a crowd, or print the whole map as a page.

    Examples:

      thyme study map --reach 20 --walking 0.5

      thyme study --preset six && thyme study map --from out/six --out src/thyme/approaches/decision.csv
    """
    from thyme.approaches.deciding import CrowdKind, Needs, decide, table
    from thyme.study.decision import best_words, crowd_words

    if made_from is not None:
        _make(made_from, out, commit or _checked_out())
    elif figure is not None:
        from thyme.study.figures.decision import decision_figure
        from thyme.study.figures.pictures import save_picture

        print("written to", *save_picture(decision_figure(table(), narrow), figure))
    elif reach is not None:
        kind = CrowdKind(reach, walking, switching, questions)
        decision = decide(kind, Needs(server, positions, past, deletes))
        how = "interpolated between crowds of the map" if len(decision.places) > 1 else "the crowd of the map"
        print(f"{best_words(decision)}\n{how}: {'; '.join(map(crowd_words, decision.places))}")
    else:
        from thyme.study.decision_page import decision_page

        print(decision_page(), end="")


def _checked_out() -> str:
    import subprocess

    asked = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=Path(__file__).parent, capture_output=True, text=True, check=False
    )
    return asked.stdout.strip()


def _make(folder: Path, out: Path | None, commit: str) -> None:
    """The table of a finished study."""
    from datetime import UTC, datetime

    from thyme.drafts import write_file
    from thyme.model.errors import InputError
    from thyme.study.decision import table_text
    from thyme.study.definition import load_preset
    from thyme.study.folder import METRICS_FILE
    from thyme.study.plan import make_plan

    if out is None:
        raise InputError("--from: say with --out where the table goes")
    metrics = folder / METRICS_FILE
    if not metrics.is_file():
        raise InputError(f"{folder} holds no finished study: there is no {METRICS_FILE}")
    date = datetime.fromtimestamp(metrics.stat().st_mtime, UTC).date().isoformat()
    plan = make_plan(load_preset("six"))
    write_file(out, table_text(plan, metrics.read_text("utf-8"), commit, date).encode())
    print(f"{out} written from {metrics}")
