"""`thyme trace`: make operation traces from posts, check and draw them, and write them as CSV to read or change."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

trace_app = typer.Typer(
    help="Operation traces: what users will ask for, and when.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)


@trace_app.command(epilog="Example: thyme trace make posts --out trace --users 100")
def make(
    posts: Annotated[Path, typer.Argument(help="A dataset of posts, from `thyme posts generate` or `ingest`.")],
    out: Annotated[Path, typer.Option(help="Where the trace goes: a new folder.")],
    users: Annotated[int, typer.Option(help="How many of the most active users become nodes.")] = 100,
    seed: Annotated[int, typer.Option(help="Decides all that is drawn.")] = 1,
    start: Annotated[
        float | None, typer.Option(help="Start of the event, in seconds since 1970; else the busiest window.")
    ] = None,
    hours: Annotated[float, typer.Option(help="Length of the event.")] = 3.0,
    minutes: Annotated[float, typer.Option(help="Time in which the event is played.")] = 10.0,
    first: Annotated[float, typer.Option(help="When operations start, in seconds.")] = 60.0,
    popular: Annotated[float, typer.Option(help="Share of the most used tags that are subscribed to.")] = 0.6,
    always: Annotated[float, typer.Option(help="Share of subscriptions that do not depend on time.")] = 0.6,
    past: Annotated[float, typer.Option(help="Share of subscriptions on what there was before them.")] = 0.0,
    framed: Annotated[float, typer.Option(help="Share of subscriptions on a frame around them.")] = 0.0,
    frame: Annotated[float, typer.Option(help="Length of such a frame, in minutes of the event.")] = 30.0,
    subscribe_first: Annotated[float, typer.Option(help="Subscriptions per user and hour until half-time.")] = 3.0,
    subscribe_rest: Annotated[float, typer.Option(help="Subscriptions per user and hour afterwards.")] = 1.0,
    delete: Annotated[float, typer.Option(help="Deletes per user and hour in the second half.")] = 0.5,
    unsubscribe: Annotated[float, typer.Option(help="Unsubscribes per user and hour in the second half.")] = 0.2,
    half_time: Annotated[float, typer.Option(help="Half-time, in minutes from the start.")] = 105.0,
    second_half: Annotated[float, typer.Option(help="Start of the second half, in minutes.")] = 120.0,
    conjunctions: Annotated[float, typer.Option(help="Share of queries such as `goal & portugal`.")] = 0.0,
    disjunctions: Annotated[float, typer.Option(help="Share of queries such as `goal | penalty`.")] = 0.0,
    negations: Annotated[float, typer.Option(help="Share of queries such as `goal & !replay`.")] = 0.0,
    tags: Annotated[int, typer.Option(help="Number of tags in queries with several.")] = 2,
    sizes: Annotated[str, typer.Option(help="Objects: `text` of the posts, `fixed` size, or `photos`.")] = "text",
    size: Annotated[int, typer.Option(help="Bytes of a fixed object, or of a middling photo.")] = 100_000,
    size_spread: Annotated[float, typer.Option(help="Spread of photos: deviation of the logarithm of size.")] = 0.5,
    largest: Annotated[
        int | None,
        typer.Option(help="Bytes of the largest photo; 1,000,000 or `--size` if not given.", show_default=False),
    ] = None,
    summary: Annotated[int, typer.Option(help="Bytes of the summary that notifications carry.")] = 0,
    publishers: Annotated[
        float | None, typer.Option(help="Share of nodes that only publish; the others only subscribe.")
    ] = None,
    master: Annotated[str, typer.Option(help="Where Spark runs.")] = "local[*]",
) -> None:
    """Make a trace from posts: inserts, subscriptions, deletes, unsubscribes.

    The most active users become nodes, their tagged posts become inserts. Defaults are the paper's.
    """
    from thyme.pipeline.schemas import POSTS
    from thyme.pipeline.spark import dataset
    from thyme.pipeline.spark.keeping import job
    from thyme.pipeline.spark.session import spark_session
    from thyme.pipeline.traces.behaviour import Compression, QueryMix, Rates
    from thyme.pipeline.traces.sizes import ObjectSizes
    from thyme.pipeline.traces.trace import TraceOptions, make_trace

    several = conjunctions + disjunctions + negations
    rates = Rates(
        half_time_s=half_time * 60.0,
        second_half_s=second_half * 60.0,
        subscriptions_first_per_hour=subscribe_first,
        subscriptions_rest_per_hour=subscribe_rest,
        deletes_per_hour=delete,
        unsubscribes_per_hour=unsubscribe,
        always_share=always,
        past_share=past,
        frame_share=framed,
        frame_s=frame * 60.0,
    )
    options = TraceOptions(
        users=users,
        seed=seed,
        window_start_s=start,
        compression=Compression(hours * 3600.0, minutes * 60.0, first),
        rates=rates,
        popular_share=popular,
        queries=QueryMix(1.0 - several, conjunctions, disjunctions, negations, tags),
        sizes=ObjectSizes(sizes, size, size_spread, largest or max(size, 1_000_000), summary),  # type: ignore[arg-type]
        publisher_share=publishers,
    )
    with Console(stderr=True).status("Making the trace on Spark …"):
        spark = spark_session("trace", master)
        with job():
            dataset.write_once(make_trace(dataset.read(spark, posts, POSTS), options), out, files=1)
    _show(out)


@trace_app.command(epilog="Example: thyme trace check my-trace.csv")
def check(
    trace: Annotated[Path, typer.Argument(help="A trace: a CSV file, a Parquet file or a dataset.")],
) -> None:
    """Check a trace, and say how many operations of each kind it has; faults are told with their rows."""
    _show(trace)


@trace_app.command(epilog="Example: thyme trace export trace --out trace.csv")
def export(
    trace: Annotated[Path, typer.Argument(help="A trace: a Parquet file or a dataset.")],
    out: Annotated[Path, typer.Option(help="The CSV file to write.")],
) -> None:
    """Write a trace as CSV, to be read or changed; all commands that take a trace take such a file, too."""
    from thyme.sim.traces import read_trace, write_csv

    operations = read_trace(trace)
    write_csv(operations, out)
    print(f"{len(operations)} operations written to {out}")


@trace_app.command(epilog="Example: thyme trace draw trace --out trace.png")
def draw(
    trace: Annotated[Path, typer.Argument(help="A trace: a CSV file, a Parquet file or a dataset.")],
    out: Annotated[
        Path | None,
        typer.Option(
            help="The picture, written as PNG and as SVG; TRACE.png and .svg beside the trace if not given.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Draw the operations of a trace over time: how many of each kind users issue, and when."""
    from thyme.sim.traces import read_trace
    from thyme.study.figures.lines import trace_figure
    from thyme.study.figures.pictures import save_picture

    operations = read_trace(trace)
    place = out or trace.resolve().with_name(f"{trace.resolve().stem}.png")
    png, svg = save_picture(trace_figure(operations, trace.stem, f"Operations over time, {trace.stem}"), place)
    print(f"{len(operations)} operations drawn: {png} and {svg.name}")


def _show(path: Path) -> None:
    from thyme.sim.traces import read_trace

    operations = read_trace(path)
    print(f"{path}: a valid trace")
    table = Table("operation", "number")
    kinds = sorted({str(operation.kind) for operation in operations})
    for kind in kinds:
        table.add_row(kind, str(sum(operation.kind == kind for operation in operations)))
    table.add_row("all", str(len(operations)), end_section=True)
    Console().print(table)
    if operations:
        nodes = len({operation.node for operation in operations})
        print(f"{nodes} nodes, from {operations[0].at_s:.1f} s to {operations[-1].at_s:.1f} s")
