"""`thyme trace`: make traces from posts; check, draw and export them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from thyme.cli.settings import Conf, Master, Settings, with_settings
from thyme.places import place_of

if TYPE_CHECKING:
    from thyme.pipeline.traces.outline import TraceOutline

trace_app = typer.Typer(
    help="Traces: the operations of users, in order of time.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)


@trace_app.command(
    epilog="Examples: thyme trace make posts --out trace --users 100 · "
    "thyme trace make posts --out trace --set rates.past_share=0.2 --set popular_share=0.3"
)
def make(
    posts: Annotated[str, typer.Argument(help="A dataset of posts, from `thyme posts generate` or `ingest`.")],
    out: Annotated[str, typer.Option(metavar="DIR|URI", help="A new folder, or a place in a store (s3://…).")],
    users: Annotated[int, typer.Option(help="Number of most active users that become nodes.")] = 100,
    authors: Annotated[
        str,
        typer.Option(
            help="`active`: the most active authors are the users; `deal`: all posts are distributed among users."
        ),
    ] = "active",
    seed: Annotated[int, typer.Option(help="Seed of all random choices.")] = 1,
    start: Annotated[
        float | None, typer.Option(help="Start of the event, in seconds since 1970. Default: the busiest window.")
    ] = None,
    hours: Annotated[float, typer.Option(help="Length of the event, in hours.")] = 3.0,
    minutes: Annotated[float, typer.Option(help="Length of the simulation of the event, in minutes.")] = 10.0,
    first: Annotated[float, typer.Option(help="Time of the first operation, in seconds.")] = 60.0,
    sizes: Annotated[str, typer.Option(help="Objects: `text` of the posts, `fixed` size, or `photos`.")] = "text",
    size: Annotated[int, typer.Option(help="Bytes of a fixed object, or of a median photo.")] = 100_000,
    publishers: Annotated[
        float | None, typer.Option(help="Share of nodes that only publish; the others only subscribe.")
    ] = None,
    settings: Settings = None,
    master: Master = "",
    conf: Conf = None,
) -> None:
    """Make a trace from posts: inserts, subscriptions, deletes, unsubscribes.

    The most active users become nodes, their tagged posts become inserts. Defaults are the paper's.
    """
    from thyme.model.settings import set_key, to_record
    from thyme.pipeline.schemas import POSTS
    from thyme.pipeline.spark import dataset
    from thyme.pipeline.spark.session import PACKED, spark_session, suited_to
    from thyme.pipeline.traces.outline import read_outline
    from thyme.pipeline.traces.trace import TraceOptions, write_trace
    from thyme.study.posts_fit import doubts, span_of, use_words

    given: dict[str, Any] = {}
    for key, value in (
        ("users", users),
        ("authors", authors),
        ("seed", seed),
        ("window_start_s", start),
        ("compression.window_s", hours * 3600.0),
        ("compression.duration_s", minutes * 60.0),
        ("compression.first_s", first),
        ("sizes.kind", sizes),
        ("sizes.size_bytes", size),
        ("sizes.largest_bytes", max(size, 1_000_000)),
        ("publisher_share", publishers),
    ):
        if value is not None:
            set_key(given, key, value)
    options = with_settings(to_record(given, TraceOptions, "thyme trace make"), settings)
    given_posts, place = place_of(posts), place_of(out)
    dataset.check_place(place)
    with Console(stderr=True).status("Making the trace …"):
        spark = spark_session("trace", master, **suited_to(PACKED * dataset.size_bytes(given_posts)))
        write_trace(dataset.read(spark, given_posts, POSTS), options, place)
    outline = read_outline(place)
    _show(outline, f"{place}: a new trace")
    span = span_of(given_posts)
    print(f"{use_words(span, outline)}")
    for doubt in doubts(span, outline, options):
        print(f"! {doubt}")


@trace_app.command(epilog="Example: thyme trace check my-trace.csv")
def check(
    trace: Annotated[str, typer.Argument(help="A trace: a CSV file, a Parquet file or a dataset.")],
) -> None:
    """Check a trace and count its operations by kind. Errors name the row."""
    _show(_checked(trace), f"{trace}: a valid trace")


@trace_app.command(epilog="Example: thyme trace example --users 36 --out trace.csv")
def example(
    out: Annotated[Path, typer.Option(help="The CSV file to write.")],
    users: Annotated[int, typer.Option(help="Number of people.")] = 36,
    seed: Annotated[int, typer.Option(help="Seed of all random choices.")] = 1,
) -> None:
    """Write a small example: a third of the users subscribe to a tag, and all post once within a minute."""
    from thyme.sim.traces import example_operations, write_csv

    operations = example_operations(users, seed)
    out.parent.mkdir(parents=True, exist_ok=True)
    write_csv(operations, out)
    print(f"{len(operations)} operations written to {out}")


@trace_app.command(epilog="Example: thyme trace export trace --out trace.csv")
def export(
    trace: Annotated[str, typer.Argument(help="A trace: a Parquet file or a dataset.")],
    out: Annotated[Path, typer.Option(help="The CSV file to write.")],
) -> None:
    """Write a trace as CSV, to read or edit. All commands that take a trace accept such a file."""
    from thyme.sim.traces import read_trace, write_csv

    operations = read_trace(trace)
    write_csv(operations, out)
    print(f"{len(operations)} operations written to {out}")


@trace_app.command(epilog="Example: thyme trace draw trace --out trace.png")
def draw(
    trace: Annotated[str, typer.Argument(help="A trace: a CSV file, a Parquet file or a dataset.")],
    out: Annotated[
        Path | None,
        typer.Option(
            help="The picture, as PNG and SVG. Default: TRACE.png and .svg beside the trace.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Draw the operations of a trace over time, by kind."""
    from thyme.study.figures.lines import trace_figure
    from thyme.study.figures.pictures import save_picture

    outline = _checked(trace)
    given = place_of(trace)
    beside = given.resolve().parent if isinstance(given, Path) else Path()
    name = Path(given.name).stem
    picture = trace_figure(outline, name, f"Operations over time, {name}")
    png, svg = save_picture(picture, out or beside / f"{name}.png")
    print(f"{outline.operations} operations drawn: {png} and {svg.name}")


def _checked(trace: str) -> TraceOutline:
    from thyme.pipeline.traces.outline import outline_of
    from thyme.sim.traces import read_trace, table_from_operations

    return outline_of(table_from_operations(read_trace(trace)).to_batches())


def _show(outline: TraceOutline, headline: str) -> None:
    print(headline)
    table = Table("operation", "number")
    for kind, number in outline.kinds.items():
        table.add_row(kind, str(number))
    table.add_row("all", str(outline.operations), end_section=True)
    Console().print(table)
    if outline.operations:
        print(f"{outline.nodes} nodes, from {outline.when.first_s:.1f} s to {outline.when.last_s:.1f} s")
