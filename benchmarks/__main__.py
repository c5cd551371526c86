"""`python -m benchmarks`: speed and memory. CPU time, since the machines are shared; ratios within one run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from benchmarks.radio.command import radio_app
from thyme.cli.main import errors_in_one_line
from thyme.model.errors import InputError

bench_app = typer.Typer(
    name="python -m benchmarks",
    help="Measure speed and memory on this machine.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
bench_app.add_typer(radio_app, name="radio-case")

Ns3Python = Annotated[
    Path | None,
    typer.Option("--ns3-python", help="The interpreter of an environment with ns-3; `make bench-ns3` sets one up."),
]


@bench_app.command()
def matching(
    largest: Annotated[int, typer.Option(help="Stop at this many subscriptions.")] = 1_000_000,
    seed: Annotated[int, typer.Option(help="Seed of the made-up subscriptions and objects.")] = 1,
) -> None:
    """The matching index beside a naive scan, from 1 k to 1 M subscriptions.

    Example: python -m benchmarks matching --largest 100000
    """
    from rich.progress import Progress

    from benchmarks.matching import SIZES, bench_matching, render

    sizes = [size for size in SIZES if size <= largest] or [largest]
    with Progress(transient=True) as progress:
        task = progress.add_task("matching", total=2 * len(sizes))
        rows = bench_matching(sizes, seed, done=lambda _: progress.advance(task))
    render(rows)


@bench_app.command()
def radio(ns3_python: Ns3Python = None) -> None:
    """The 802.11g radio beside ns-3, with beacons and with DSDV, and its cost per frame from 100 to 10,000 nodes.

    Example: python -m benchmarks radio --ns3-python .venv-ns3/bin/python
    """
    from benchmarks.printing import table_console
    from benchmarks.radio.beside_ns3 import bench_radio, print_radio

    print_radio(bench_radio(ns3_python=ns3_python), table_console())


@bench_app.command()
def contacts() -> None:
    """Movement and contacts of 100 and 1,000 people over 8 hours, without and with messages.

    Example: python -m benchmarks contacts
    """
    from benchmarks.contacts import bench_contacts, render

    render(bench_contacts())


@bench_app.command()
def walks() -> None:
    """Overlays of directional and pure random walks per CPU second.

    Example: python -m benchmarks walks
    """
    from benchmarks.walks import bench_walks, render

    render(bench_walks())


@bench_app.command()
def channel() -> None:
    """Live nodes in the simulator's 802.11g channel beside the plain simulation of the same scene.

    Example: python -m benchmarks channel
    """
    from benchmarks.live.channel import bench_channel, render

    render(bench_channel())


@bench_app.command()
def live_crowds(
    nodes: Annotated[list[int] | None, typer.Option(min=2, help="Nodes in the network; repeatable.")] = None,
    approach: Annotated[list[str] | None, typer.Option(help="ls or dcs; repeatable. Default: both.")] = None,
    seconds: Annotated[float, typer.Option(min=180.0, help="Duration on the virtual clock.")] = 600.0,
    multicast: Annotated[bool, typer.Option(help="Whether the network carries multicast.")] = True,
) -> None:
    """Hundreds of live nodes in one network, on a virtual clock: what idle nodes send, and who is notified.

    Example: python -m benchmarks live-crowds --nodes 40 --seconds 180
    """
    from rich.progress import Progress

    from benchmarks.live.crowds import APPROACHES, SIZES, bench_crowds, render

    with Progress(transient=True) as progress:
        task = progress.add_task("live crowds", total=None)
        rows = bench_crowds(
            nodes or SIZES,
            approach or APPROACHES,
            seconds,
            multicast=multicast,
            tell=lambda text: progress.update(task, description=text),
        )
    render(rows)


@bench_app.command()
def simulation() -> None:
    """Whole runs of Thyme-ES, LS and DCS on the 802.11g radio, from 36 to 196 nodes.

    Example: python -m benchmarks simulation
    """
    from benchmarks.simulation import bench_simulation, render

    render(bench_simulation())


@bench_app.command()
def crowd(
    largest: Annotated[int, typer.Option(help="Stop at this many nodes.")] = 2_000,
) -> None:
    """Thyme-DCS from 196 to 2,000 nodes: what each node sends, recall, and what simulating it costs.

    Example: python -m benchmarks crowd --largest 500
    """
    from rich.progress import Progress

    from benchmarks.crowd import SIZES, bench_crowd, render

    sizes = [size for size in SIZES if size <= largest] or [largest]
    with Progress(transient=True) as progress:
        task = progress.add_task("crowd", total=None)
        rows = bench_crowd(sizes, tell=lambda nodes: progress.update(task, description=f"{nodes:,} nodes"))
    render(rows)


@bench_app.command()
def stadium(
    nodes: Annotated[int, typer.Option(min=2, help="How many people.")] = 10_000,
) -> None:
    """Thyme-DCS in a stadium of 10,000, standing and walking at 1 m/s: what simulating it costs, recall, busiest cell.

    Example: python -m benchmarks stadium --nodes 1000
    """
    from benchmarks.crowd import bench_crowd, render
    from benchmarks.printing import table_console

    console = table_console()
    for walking in (False, True):
        console.print("walking" if walking else "standing")
        render(bench_crowd([nodes], walking=walking), console)


@bench_app.command()
def pipeline(
    largest: Annotated[int, typer.Option(help="Stop at this many posts.")] = 5_000_000,
    cores: Annotated[int, typer.Option(min=1, help="Cores for Spark, DuckDB and Polars alike.")] = 2,
) -> None:
    """Ingestion, traces, ground truth and metrics from 0.5 M to 5 M posts, beside DuckDB and Polars.

    Example: python -m benchmarks pipeline --largest 1000000
    """
    from rich.progress import Progress

    from benchmarks.pipeline import SIZES, PipelineRow, bench_pipeline, render

    sizes = tuple(size for size in SIZES if size <= largest) or (largest,)
    with Progress(transient=True) as progress:
        task = progress.add_task("pipeline", total=None)

        def measured(of_size: list[PipelineRow]) -> None:
            for row in of_size:
                progress.console.print(f"{row.posts:>9,}  {row.stage:16s} {row.wall_s:8.1f} s  {row.cpu_s:8.1f} CPU s")

        rows = bench_pipeline(
            sizes, cores, tell=lambda stage: progress.update(task, description=stage), measured=measured
        )
    render(rows)


@bench_app.command()
def sweep(
    runs: Annotated[int, typer.Option(min=1, help="How many runs, of some seconds each.")] = 16,
    rounds: Annotated[int, typer.Option(min=1, help="How often each way plays them all.")] = 3,
    workers: Annotated[int, typer.Option(min=1, max=256, help="How many runs at a time.")] = 2,
) -> None:
    """A sweep of runs by Spark, beside a plain process pool that plays the same ones.

    Example: python -m benchmarks sweep --runs 8 --rounds 1
    """
    from rich.progress import Progress

    from benchmarks.sweep import bench_sweep, render

    with Progress(transient=True) as progress:
        task = progress.add_task("sweep", total=None)
        measured = bench_sweep(runs, rounds, workers, tell=lambda stage: progress.update(task, description=stage))
    render(measured)


@bench_app.command()
def live(
    many: Annotated[int, typer.Option(min=1, help="Notifications, as fast as they go.")] = 10_000,
    past: Annotated[int, typer.Option(min=1, help="What a subscriber who comes late is told.")] = 50_000,
    only: Annotated[
        list[str] | None, typer.Option(help="Only whose name has this in it; 16 MB if that is 'large'. Repeatable.")
    ] = None,
    large_mb: Annotated[int, typer.Option(min=1, help="Size of a large object, in MB.")] = 16,
    rounds: Annotated[
        int,
        typer.Option(min=1, max=100, help="How often all play in turns, two and a half minutes each; medians count."),
    ] = 3,
) -> None:
    """Live nodes on loopback beside UDP, Zenoh, NATS, Mosquitto and Redis, where installed; and a large object.

    Says of each bound that is wanted of live nodes in how many of the rounds it was reached.

    Example: python -m benchmarks live --only zenoh --only thyme-ls --past 10000 --rounds 1
    """
    from rich.progress import Progress

    from benchmarks.live.contest.measuring import Plan
    from benchmarks.live.contest.rounds import play
    from benchmarks.live.contest.table import render
    from benchmarks.live.large import LARGE, bench_large, render_large
    from benchmarks.printing import table_console

    plan = Plan(many=many, past=past)
    with Progress(transient=True) as progress:
        task = progress.add_task("live", total=None)
        found = play(plan, rounds, lambda name: progress.update(task, description=name), only or ())
    if found:
        render(found, plan, table_console())
    if not only or LARGE in only:
        render_large(bench_large(large_mb * 1_000_000))
    elif not found:
        raise InputError(f"--only {', '.join(only)}: nobody is called so; try zenoh, nats, thyme-ls or large")


@bench_app.command()
def before(
    commit: Annotated[str, typer.Argument(help="An earlier commit of this repository.")],
    only: Annotated[list[str] | None, typer.Option(help="Only works whose name has this in it. Repeatable.")] = None,
) -> None:
    """Whole runs by an earlier commit and by this one, in turns: CPU seconds, and whether their events are equal.

    Example: python -m benchmarks before HEAD~10 --only DSDV
    """
    from rich.progress import Progress

    from benchmarks.before import bench_before, render

    with Progress(transient=True) as progress:
        task = progress.add_task("before", total=None)
        rows = bench_before(commit, only or (), lambda name: progress.update(task, description=name))
    render(commit, rows)


@bench_app.command()
def soak(
    minutes: Annotated[float, typer.Option(min=0.1, help="How long.")] = 10.0,
    per_s: Annotated[
        float, typer.Option("--per-s", min=0.1, help="Insertions a second, and as many deletions.")
    ] = 15.0,
    out: Annotated[Path | None, typer.Option(help="Draw the memory over time there, as .png and .svg.")] = None,
) -> None:
    """Memory of live LS and DCS nodes that insert and delete while others come and go.

    Example: python -m benchmarks soak --minutes 1
    """
    from benchmarks.live.soak import APPROACHES, draw, render
    from benchmarks.live.soak import soak as play

    found = play(APPROACHES, minutes, per_s)
    render(found)
    if out is not None:
        draw(found, out)


@bench_app.command()
def real(
    approach: Annotated[
        list[str] | None, typer.Option(help="Thyme-LS or Thyme-DCS; repeatable. Default: both.")
    ] = None,
    seconds: Annotated[float, typer.Option(min=10.0, help="How long faults happen.")] = 270.0,
    seed: Annotated[int, typer.Option(help="Of the faults.")] = 1,
) -> None:
    """Six real nodes in network namespaces, with faults: which notifications are lost. Needs root.

    Example: python -m benchmarks real --approach dcs
    """
    from benchmarks.live.real.history import APPROACHES, play, render

    rows = [play(name, seconds, seed) for name in approach or APPROACHES]
    render(rows)
    if any(row.lost or row.not_found or row.not_retrieved for row in rows):
        raise typer.Exit(1)


@bench_app.command("all")
def everything(ns3_python: Ns3Python = None) -> None:
    """All of them, one after the other.

    Example: python -m benchmarks all
    """
    print("matching")
    matching()
    print("\ncontacts")
    contacts()
    print("\nwalks")
    walks()
    print("\nsimulation")
    simulation()
    print("\ncrowd")
    crowd()
    print("\npipeline")
    pipeline()
    print("\nsweep")
    sweep()
    print("\nlive")
    live()
    print("\nradio")
    radio(ns3_python)


if __name__ == "__main__":
    with errors_in_one_line("benchmarks"):
        bench_app(prog_name="python -m benchmarks", standalone_mode=False)
