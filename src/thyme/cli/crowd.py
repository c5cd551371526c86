"""`thyme crowd`: many live nodes on this machine, as real processes in an emulated area, measured by the pipeline."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from thyme.model.errors import InputError
from thyme.model.quantities import metres_by_metres, pair_of

if TYPE_CHECKING:
    from thyme.live.emulation.trial import Trial, TrialOptions
    from thyme.model.operations import Operation


def crowd(
    nodes: Annotated[int, typer.Option(help="Number of processes.", min=1, max=64)] = 12,
    approach: Annotated[str, typer.Option(help="Approach: es, ls, dcs, …")] = "dcs",
    area: Annotated[
        str, typer.Option(metavar="WIDTHxHEIGHT", help="The area in metres. Default: two nodes per 40 m cell.")
    ] = "",
    range_m: Annotated[float, typer.Option("--range", metavar="METRES", help="Radio range.")] = 113.0,
    loss: Annotated[float, typer.Option(help="Share of datagrams lost within range.")] = 0.01,
    delay: Annotated[float, typer.Option(metavar="SECONDS", help="Delay of a datagram.")] = 0.002,
    channel: Annotated[
        float,
        typer.Option(
            metavar="MBIT/S", help="Rate of a channel that all nodes share, as at an access point; 0: no limit."
        ),
    ] = 0.0,
    seconds: Annotated[float, typer.Option(help="Duration of the workload.")] = 60.0,
    rate: Annotated[float, typer.Option(help="Objects inserted per second by all nodes.")] = 2.0,
    walk: Annotated[int, typer.Option(help="Number of nodes that walk.")] = 0,
    kill: Annotated[int, typer.Option(help="Number of nodes that are killed; each restarts after 10 s.")] = 0,
    cut: Annotated[
        str, typer.Option(metavar="FROM-TO", help="Partition the area between these seconds, such as 20-40.")
    ] = "",
    setting: Annotated[
        list[str] | None, typer.Option("--set", help="A setting of the approach; may be repeated.")
    ] = None,
    chart: Annotated[
        str,
        typer.Option("--map", metavar="HOST:PORT", help="Serve a map of the crowd at this address; `none`: no map."),
    ] = "127.0.0.1:0",
    stay: Annotated[bool, typer.Option("--stay", help="Keep running after the workload, until Ctrl-C.")] = False,
    seed: Annotated[int, typer.Option(help="Decides places, workload, losses and killed nodes.")] = 1,
    out: Annotated[Path, typer.Option(help="A new folder for logs, stores and events.")] = Path("out/crowd"),
    measure: Annotated[bool, typer.Option("--measure/--no-measure", help="Compute the metrics.")] = True,
) -> None:
    """Start a crowd of live nodes, each a process, in an emulated area, and measure what they do.

    Examples:

      thyme crowd --nodes 30 --seconds 60

      thyme crowd --nodes 16 --approach ls --kill 3 --cut 20-40 --walk 4
    """
    from thyme.live.emulation.area import AirOptions, MediumOptions
    from thyme.live.emulation.stage import StageOptions
    from thyme.live.emulation.trial import TrialOptions, WorkloadOptions, write_events
    from thyme.live.loop import run
    from thyme.routing.cells.grid import cell_side_m
    from thyme.world.venue import venue_for

    cell_m = round(cell_side_m(range_m), 1)
    venue = venue_for(nodes, cell_m=cell_m)
    width_m, height_m = metres_by_metres(area, "--area") if area else (venue.width_m, venue.height_m)
    options = TrialOptions(
        nodes,
        AirOptions(width_m, height_m, range_m, loss, delay, delay / 2.0, MediumOptions(rate_mbps=channel)),
        StageOptions(approach, _settings(approach, setting, width_m, height_m, cell_m), seed),
        WorkloadOptions(duration_s=seconds, inserts_per_s=rate),
        walkers=walk,
        kills=kill,
        cut=pair_of(cut, "-", "--cut", "seconds, such as 20-40") if cut else None,
    )
    if (out / "logs").exists():
        raise InputError(f"{out} already holds a trial; choose another folder with --out, or remove it")

    trial, operations = run(_play(options, out, chart, stay))
    events, trace = out / "events.parquet", out / "trace.parquet"
    rows = write_events(trial.stage.logs(), events)
    _write_trace(operations, trace)
    air = trial.stage.air
    print(f"{air.datagrams:,} datagrams were delivered, {air.lost:,} were lost; {rows:,} events in {events}")
    if measure:
        _show_metrics(events, trace, nodes, seconds)


async def _play(options: TrialOptions, out: Path, chart: str, stay: bool) -> tuple[Trial, list[Operation]]:
    from thyme.live.emulation.trial import Trial

    trial = Trial(options, out)
    if chart in ("", "none"):
        return trial, await trial.run(print, stay=stay)
    from thyme.live.emulation.map import shown

    async with shown(trial.stage, chart) as (drawn, address):
        print(f"the map: {address}")

        def tell(text: str) -> None:
            print(text)
            drawn.tell(text)

        return trial, await trial.run(tell, stay=stay)


def _settings(approach: str, given: list[str] | None, width_m: float, height_m: float, cell_m: float) -> dict[str, Any]:
    """The given settings, with a grid that fits the area, and the first node as server where the approach needs one."""
    from thyme.approaches.registry import find_approach
    from thyme.model.settings import set_keys

    found = find_approach(approach, "--approach")
    settings: dict[str, Any] = {}
    if found.capabilities.needs_positions:
        settings["grid"] = {"width_m": width_m, "height_m": height_m, "cell_m": cell_m}
    if found.capabilities.needs_server:
        settings["servers"] = [0]
    return set_keys(settings, given, found.settings)


def _write_trace(operations: list[Operation], path: Path) -> None:
    import pyarrow.parquet as pq

    from thyme.drafts import drafted
    from thyme.sim.traces import table_from_operations

    with drafted(path) as draft:
        pq.write_table(table_from_operations(operations), draft)


def _show_metrics(events: Path, trace: Path, nodes: int, seconds: float) -> None:
    from rich.console import Console
    from rich.table import Table

    from thyme.pipeline.metrics.runs import measure_trial

    metrics = measure_trial(events, trace, nodes)
    table = Table(box=None, pad_edge=False)
    table.add_column("")
    for column in ("number", "succeed", "median", "p95"):
        table.add_column(column, justify="right")
    for kind in ("insert", "subscribe", "retrieve", "delete", "more"):
        if number := metrics.get(f"{kind}.issued"):
            share, times = _share(metrics, f"{kind}.success"), _times(metrics, f"{kind}.latency_s")
            table.add_row(kind, f"{number:,.0f}", share, *times)
    told = f"{metrics.get('notification.expected', 0.0):,.0f}"
    table.add_row("notifications", told, _share(metrics, "recall"), *_times(metrics, "notification.latency_s"))
    Console(highlight=False).print(table)
    sent = metrics.get("phy_sent.bytes", 0.0)
    print(f"on the air {sent / 1e6:.1f} MB, {sent / nodes / seconds / 1e3:.1f} kB per node and second")


def _share(metrics: dict[str, float], name: str) -> str:
    return f"{metrics[name]:.1%}" if name in metrics else ""


def _times(metrics: dict[str, float], name: str) -> tuple[str, str]:
    p50, p95 = (metrics.get(f"{name}.{part}") for part in ("p50", "p95"))
    return tuple("" if value is None else f"{1e3 * value:,.0f} ms" for value in (p50, p95))  # type: ignore[return-value]
