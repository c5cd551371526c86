"""`thyme simulate` and `thyme scenario`: simulate a scenario, and write or check scenarios."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

scenario_app = typer.Typer(help="Write, check and list scenarios.", no_args_is_help=True)

ScenarioFile = Annotated[Path, typer.Argument(help="A scenario as TOML.", show_default=False)]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change a key of the scenario; repeatable."),
]


def simulate(
    scenario_file: ScenarioFile,
    out: Annotated[Path, typer.Option("--out", help="Folder for the results.", show_default=False)],
    trace: Annotated[
        Path | None, typer.Option("--trace", help="Operations (Parquet or CSV). Default: the scenario's.")
    ] = None,
    settings: Settings = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Seed of the run. Default: the scenario's.")] = None,
    frames: Annotated[bool, typer.Option("--frames/--no-frames", help="Keep every frame for `thyme replay`.")] = False,
) -> None:
    """Simulate a scenario and write its events, movement and a summary.

    Examples:

      thyme simulate crowd.toml --out out/run

      thyme simulate crowd.toml --set nodes=100 --set radio.model=wifi --seed 7 --frames --out out/run
    """
    from rich.progress import Progress

    from thyme.model.settings import parse_settings
    from thyme.sim.output import check_folder, write_result
    from thyme.sim.run import Run
    from thyme.sim.scenario import load_scenario
    from thyme.sim.traces import read_trace
    from thyme.study.wording import size

    check_folder(out)
    changes = parse_settings(settings)
    if seed is not None:
        changes["seed"] = seed
    scenario = load_scenario(scenario_file, changes)
    trace_file = trace or (scenario_file.parent / scenario.trace if scenario.trace else None)
    operations = read_trace(trace_file) if trace_file else []
    if not operations:
        print("no trace is given, so nobody asks or posts: see `thyme trace example` and --trace")
    run = Run(scenario, operations)
    if frames:
        run.world.keep_frames()
    with Progress(transient=True) as progress:
        task = progress.add_task(f"simulating {scenario.nodes} nodes", total=scenario.time.until_s)
        result = run.go(lambda now_s: progress.update(task, completed=now_s))
    summary = write_result(result, out, run.world.frames())
    print(f"{scenario.name}: {scenario.approach}, {scenario.nodes} nodes, {scenario.time.until_s:g} s")
    for kind, share in summary["success"].items():
        print(f"  {kind:12s} {share['succeeded']:7d} of {share['issued']:7d} succeeded")
    print(f"  notified     {summary['notified']:7d} times")
    print(f"  sent         {summary['phy_sent_frames']:7d} frames, {size(summary['phy_sent_bytes'])} on the air")
    print(f"written to {out}")


@scenario_app.command("check")
def check(scenario_file: ScenarioFile, settings: Settings = None) -> None:
    """Check a scenario and describe it.

    Example: thyme scenario check crowd.toml --set nodes=2000
    """
    from thyme.approaches.registry import APPROACHES, find_approach
    from thyme.model.settings import model_of, parse_settings
    from thyme.sim.run import churn_for, contacts_in, movement_for
    from thyme.sim.scenario import load_scenario, misfit

    scenario = load_scenario(scenario_file, parse_settings(settings))
    area = scenario.area()
    movement = movement_for(scenario)
    churn = churn_for(scenario, movement)
    if not scenario.movement.knows_places:
        contacts_in(scenario, movement, 0.0)  # its file is read, or found wanting
    approach = find_approach(scenario.approach)
    print(f"{scenario_file}: fine")
    print(f"  approach  {approach.title}: {approach.summary}")
    if scenario.movement.knows_places:
        each = f"{area.nodes_per_cell(scenario.nodes):.1f} nodes per cell"
        print(f"  venue     {area.width_m:g} × {area.height_m:g} m, {each}")
    else:
        print("  venue     unknown: the trace says only who meets whom")
    print(f"  movement  {model_of(scenario.movement)}, {len(movement.start_s)} legs for {movement.nodes} nodes")
    print(f"  radio     {model_of(scenario.radio)}")
    print(f"  churn     {model_of(scenario.churn)}, {len(churn.changes)} changes")
    time = scenario.time
    print(f"  time      joins {time.join_from_s:g}–{time.join_to_s:g} s, ends {time.until_s:g} s")
    warning = approach.entry.advice(approach.configure(scenario.settings), scenario.nodes)
    if warning:
        print(f"  warning   {warning}")
    reasons = {name: misfit(name, scenario.movement) for name in APPROACHES}
    print(f"  fitting   {', '.join(name for name, reason in reasons.items() if not reason)}")
    for name, reason in reasons.items():
        if reason:
            print(f"  not {name:5s} {reason}")


@scenario_app.command("new")
def new(
    scenario_file: Annotated[Path, typer.Argument(help="File to write.", show_default=False)],
    nodes: Annotated[int, typer.Option(help="Number of people.")] = 64,
    approach: Annotated[str, typer.Option(help="Approach.")] = "ls",
) -> None:
    """Write a scenario with all sections, models, keys and defaults, to be edited.

    Example: thyme scenario new crowd.toml --nodes 100 --approach ls
    """
    from thyme.model.errors import InputError
    from thyme.sim.scenario import scenario_of
    from thyme.sim.scenario_reference import scenario_template

    scenario_of({"nodes": nodes, "approach": approach}, "thyme scenario new")
    if scenario_file.exists():
        raise InputError(f"{scenario_file} exists; choose another name or remove it first")
    scenario_file.write_text(scenario_template(nodes, approach), encoding="utf-8")
    print(f"written to {scenario_file}; run it with: thyme simulate {scenario_file} --out out/run")


@scenario_app.command("models")
def models(
    section: Annotated[str, typer.Argument(help="movement, radio or churn. Default: all.")] = "",
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the reference page of all keys.")] = False,
) -> None:
    """Show all movement, radio and churn models with their keys.

    Example: thyme scenario models movement
    """
    from thyme.sim.scenario_reference import models_reference, scenario_page

    print(scenario_page() if markdown else models_reference(section), end="" if markdown else "\n")


@scenario_app.command("interests")
def interests(
    scenario_file: ScenarioFile,
    out: Annotated[Path, typer.Option("--out", help="CSV file for the operations.", show_default=False)],
    settings: Settings = None,
    from_s: Annotated[float, typer.Option("--from", help="Publish from this second on …")] = 3_000.0,
    to_s: Annotated[float, typer.Option("--to", help="… to this one.")] = 3_500.0,
    every_s: Annotated[float, typer.Option("--every", help="Seconds between a publisher's messages.")] = 60.0,
    publishers: Annotated[float, typer.Option(help="Share of people who publish.")] = 0.5,
    subscribers: Annotated[float, typer.Option(help="Share of people who subscribe.")] = 0.5,
) -> None:
    """Write a trace in which people subscribe to the interest of their community and publish on any.

    Communities are those of the network behind a community movement, or as they are found in a contact trace.

    Example: thyme scenario interests office.toml --from 3000 --to 32000 --every 1800 --out interests.csv
    """
    from thyme.model.records import OperationKind
    from thyme.model.settings import parse_settings
    from thyme.papers.socialcast.workload import SocialWorkload, communities_of, social_operations
    from thyme.sim.scenario import load_scenario
    from thyme.sim.traces import write_csv

    scenario = load_scenario(scenario_file, parse_settings(settings))
    how = SocialWorkload(publishers, subscribers, "uniform", every_s, from_s, to_s)
    communities = communities_of(scenario)
    operations = social_operations(communities, how, scenario.run_seed)
    write_csv(operations, out)
    sizes = sorted((communities.count(one) for one in set(communities)), reverse=True)
    published = sum(operation.kind == OperationKind.INSERT for operation in operations)
    print(f"{len(sizes)} communities of {', '.join(map(str, sizes))} people")
    print(f"{len(operations) - published} subscriptions and {published} messages, written to {out}")
    print(f"simulate them: thyme simulate {scenario_file} --trace {out} --out out/run")
