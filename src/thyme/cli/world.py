"""`thyme world`: convert and describe movement and contact traces."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

world_app = typer.Typer(help="Movement and contact traces: convert, export, describe.", no_args_is_help=True)

Source = Annotated[Path, typer.Argument(help="Trace to read; the format is recognised.", show_default=False)]
Target = Annotated[Path, typer.Argument(help="The file to write.", show_default=False)]


@world_app.command()
def movement(
    source: Annotated[
        Path, typer.Argument(help="A movement trace, or a scenario as .toml to export.", show_default=False)
    ],
    target: Target,
    form: Annotated[str, typer.Option("--to", help="ns2 (setdest), bonnmotion or one (The ONE).")] = "bonnmotion",
    until_s: Annotated[float, typer.Option("--until", help="Seconds to write (a scenario defines its own).")] = 3600.0,
) -> None:
    """Convert a movement trace, or export the movement of a scenario.

    Examples:

      thyme world movement walk.ns2 walk.bm --to bonnmotion

      thyme world movement crowd.toml walk.ns2 --to ns2
    """
    from thyme.sim.run import movement_for
    from thyme.sim.scenario import load_scenario
    from thyme.world.files.movement import read_movement, write_movement

    wanted = _one_of(form, ("ns2", "bonnmotion", "one"))
    if source.suffix == ".toml":
        scenario = load_scenario(source)
        moves, until_s = movement_for(scenario), scenario.time.until_s
    else:
        moves = read_movement(source).movement
    write_movement(target, moves, wanted, until_s)  # type: ignore[arg-type]
    print(f"{moves.nodes} nodes written to {target} as {wanted}")


@world_app.command()
def contacts(
    source: Source,
    target: Annotated[Path | None, typer.Argument(help="The file to write, if any.", show_default=False)] = None,
    form: Annotated[str, typer.Option("--to", help="tij (t i j lists), one (CONN events) or haggle.")] = "one",
) -> None:
    """Describe a contact trace, and convert it if a target is given.

    Examples:

      thyme world contacts office.dat.zip

      thyme world contacts office.dat.zip office.conn --to one
    """
    from thyme.study.wording import duration, share
    from thyme.world.contacts.statistics import statistics_of
    from thyme.world.files.contacts import read_contacts, write_contacts

    traced = read_contacts(source)
    figures = statistics_of(traced.contacts)
    print(f"{figures.nodes} people, {figures.contacts} contacts over {duration(3_600.0 * figures.hours)}")
    print(f"  pairs that met {share(figures.pair_share)}, median gap {duration(figures.gap_median_s)}")
    print(f"  gaps over 1 h {share(figures.gap_over_1h)}, over 12 h {share(figures.gap_over_12h)}")
    print(f"  {figures.communities} communities, modularity {figures.modularity:.2f}")
    if target is not None:
        wanted = _one_of(form, ("tij", "one", "haggle"))
        write_contacts(target, traced.contacts, wanted, traced.names)  # type: ignore[arg-type]
        print(f"written to {target} as {wanted}")


def _one_of(form: str, known: tuple[str, ...]) -> str:
    from thyme.model.errors import InputError

    if form not in known:
        raise InputError(f"--to {form}: unknown format; expected one of {', '.join(known)}")
    return form
