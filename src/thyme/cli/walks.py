"""`thyme walks`: a batch of overlays on unit disc graphs, summarised as JSON (walks paper §VI)."""

from __future__ import annotations

from typing import Annotated

import msgspec
import typer

from thyme.cli.settings import Settings, with_settings
from thyme.papers.walks.readings import answers, parse_reading

_READINGS = "; ".join(f"{field}: {' | '.join(values)}" for field, values in answers().items())


def walks(
    nodes: Annotated[int, typer.Option(min=2, help="Nodes of each network.")] = 1000,
    initiators: Annotated[int, typer.Option(min=2, help="Publishers and subscribers that start a walk.")] = 10,
    networks: Annotated[int, typer.Option(min=1, help="Connected networks to draw.")] = 100,
    draws: Annotated[int, typer.Option(min=1, help="Draws of initiators on each network.")] = 1,
    pure: Annotated[bool, typer.Option("--pure", help="Pure random walks instead of directional ones.")] = False,
    reading: Annotated[str, typer.Option(help=f"Answers to what the paper leaves open. {_READINGS}")] = "default",
    seed: Annotated[int, typer.Option(help="Seed of networks, initiators and walks.")] = 1,
    settings: Settings = None,
) -> None:
    """Build overlays of directional (or pure) random walks and print their size and depth."""
    from thyme.papers.walks.batch import METRICS, BatchOptions, run_point

    batch = with_settings(BatchOptions(reading=parse_reading(reading), seed=seed), settings)
    columns = run_point(nodes, initiators, pure, networks, draws, batch.seed, batch)
    summary: dict[str, object] = {
        "nodes": nodes,
        "initiators": initiators,
        "networks": networks,
        "draws": draws,
        "pure": pure,
        "method": batch.walk.method,
        "branches": batch.walk.branches,
        "reading": str(batch.reading),
        "radius": batch.radius,
        "seed": batch.seed,
    }
    for metric in METRICS:
        summary[metric] = {"mean": float(columns[metric].mean()), "deviation": float(columns[metric].std())}
    print(msgspec.json.format(msgspec.json.encode(summary), indent=2).decode())
