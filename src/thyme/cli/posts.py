"""`thyme posts`: ingest or generate posts of an event, and describe them."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from thyme.cli.settings import Conf, Master, Settings, with_settings
from thyme.model.errors import InputError
from thyme.places import Place, place_of

if TYPE_CHECKING:
    from thyme.pipeline.posts.formats.pseudonyms import Pseudonyms

MAX_COMPARED_POSTS = 100_000
MAX_KEY_BYTES = 64
POST_BYTES = 200
"""About what a generated post takes."""
NewPlace = Annotated[str, typer.Option(metavar="DIR|URI", help="A new folder, or a place in a store (s3://…).")]

posts_app = typer.Typer(
    help="Posts of an event: generated, or ingested from files.", no_args_is_help=True, rich_markup_mode="markdown"
)


@posts_app.command(epilog="Example: thyme posts generate --out posts --posts 12000 --seed 1")
def generate(
    out: NewPlace,
    posts: Annotated[int, typer.Option(help="Number of posts.")] = 4_000,
    seed: Annotated[int, typer.Option(help="Seed of all random choices.")] = 1,
    goals: Annotated[int, typer.Option(help="Goals of the match; each causes a burst.")] = 2,
    settings: Settings = None,
    master: Master = "",
    conf: Conf = None,
) -> None:
    """Generate the posts of a three-hour match, with the statistics of real ones."""
    from thyme.pipeline.posts.bursts import BurstOptions
    from thyme.pipeline.posts.generate import PostOptions, write_posts
    from thyme.pipeline.spark import dataset
    from thyme.pipeline.spark.session import spark_session, suited_to

    place = place_of(out)
    options = with_settings(PostOptions(posts=posts, seed=seed, bursts=BurstOptions(goals=goals)), settings)
    dataset.check_place(place)
    with Console(stderr=True).status(f"Generating {options.posts:,} posts on Spark …"):
        spark = spark_session("generate", master, **suited_to(options.posts * POST_BYTES))
        write_posts(spark, options, place)
    print(f"{options.posts} posts written to {out}")


@posts_app.command(
    epilog="Examples: thyme posts ingest crawl/*.json.gz --out posts · "
    "thyme posts ingest mine.csv --map id=key,author=who,at=when,text=said --out posts"
)
def ingest(
    files: Annotated[list[str], typer.Argument(help="Files, folders or patterns, of one format or several.")],
    out: NewPlace,
    columns: Annotated[
        str | None, typer.Option("--map", help="Columns of another format: at=…,text=…[,id=…,author=…,tags=…].")
    ] = None,
    pseudonymise: Annotated[
        bool, typer.Option("--pseudonymise", help="Replace authors, ids, mentions and links by keyed hashes.")
    ] = False,
    key_file: Annotated[
        Path | None, typer.Option(help="Key of the pseudonyms. Default: a new key, which is not kept.")
    ] = None,
    keep_accents: Annotated[
        bool, typer.Option("--keep-accents", help="Keep tags apart that differ only in accents.")
    ] = False,
    join_text: Annotated[bool, typer.Option("--join-text", help="Add the extra cells of a CSV to the text.")] = False,
    append: Annotated[bool, typer.Option("--append", help="Add new files to the dataset.")] = False,
    master: Master = "",
    conf: Conf = None,
) -> None:
    """Read posts from files: Twitter and X, scrapers, Mastodon, Bluesky, or your own CSV, JSON or Parquet.

    Formats are recognised by content, compressed or not. Records that cannot be read are kept with file, line and
    reason in the folder `_rejected` of the posts.
    """
    from thyme.pipeline.posts.formats.mapped import parse_map
    from thyme.pipeline.posts.ingest import IngestOptions, ingest_parts, plan_ingestion
    from thyme.pipeline.spark.session import spark_session, suited_to

    pseudonyms = _pseudonyms(key_file) if pseudonymise or key_file else None
    options = IngestOptions(None if columns is None else parse_map(columns), pseudonyms, not keep_accents, join_text)
    passed_over: list[Place] = []
    place = place_of(out)
    with Console(stderr=True).status("Recognising files …") as status:
        ingestion = plan_ingestion(files, place, options, passed_over.append, append)
        if append and not ingestion.parts:
            print(f"{out} already contains the posts of all these files")
            return
        status.update("Starting Spark …")
        spark = spark_session("ingest", master, **suited_to(sum(ingestion.inputs.values())))
        summary = ingest_parts(spark, ingestion, place, options, lambda stage: status.update(f"Ingesting: {stage} …"))
    print(f"{summary.posts:,} posts written to {out}")
    table = Table("what", "number")
    for name, number in summary.formats.items():
        table.add_row(f"files of {name}", f"{number:,}")
    if passed_over:
        table.add_row("files passed over", f"{len(passed_over):,}")
    table.add_row("records repeated", f"{summary.repeated:,}")
    table.add_row("records that are no posts", f"{summary.skipped:,}")
    for reason, number in summary.rejected.items():
        table.add_row(f"rejected: {reason}", f"{number:,}")
    Console().print(table)
    if passed_over:
        print(
            f"Skipped, because the name begins with a dot or an underscore (name the file to read it): {passed_over[0]}"
        )
    if summary.rejected:
        print(f"Rejected records, with file, line and reason: {place / '_rejected'}")
    if not summary.posts:
        raise typer.Exit(1)


@posts_app.command(epilog="Example: thyme posts describe posts --figure match.png")
def describe(
    posts: Annotated[str, typer.Argument(help="A dataset of posts: a folder, or its place in a store.")],
    figure: Annotated[
        Path | None,
        typer.Option(
            help="The picture, as PNG and SVG. Default: POSTS-described.png and .svg beside the posts.",
            show_default=False,
        ),
    ] = None,
    master: Master = "",
    conf: Conf = None,
) -> None:
    """Compare posts (users, tags, rates, bursts) with as many generated ones, as a table and a picture."""
    from thyme.pipeline.posts.describe import describe_posts, statistic_rows
    from thyme.pipeline.posts.generate import PostOptions, generate_posts
    from thyme.pipeline.schemas import POSTS
    from thyme.pipeline.spark import dataset
    from thyme.pipeline.spark.session import PACKED, spark_session, suited_to
    from thyme.study.figures.pictures import save_picture
    from thyme.study.figures.posts import posts_figure

    given = place_of(posts)
    with Console(stderr=True).status("Describing posts on Spark …"):
        spark = spark_session("describe", master, **suited_to(PACKED * dataset.size_bytes(given)))
        frame = dataset.read(spark, given, POSTS)
        if frame.where("size(tags) > 0").isEmpty():
            raise InputError(f"{posts}: none of the posts has a tag, and most of the statistics are about tags")
        own = describe_posts(frame)
        options = PostOptions(posts=min(own.posts, MAX_COMPARED_POSTS))
        made = describe_posts(generate_posts(spark, options))
    table = Table("", str(posts), f"generator, {made.posts:,} posts")
    for (name, value), (_, other) in zip(statistic_rows(own), statistic_rows(made), strict=True):
        table.add_row(name, value, other)
    Console().print(table)
    print(f"posts per 3 minutes: {_bars(own.minutes)}")
    print(f"          generator: {_bars(made.minutes)}")
    beside = given.resolve().parent if isinstance(given, Path) else Path()
    name = given.resolve().name if isinstance(given, Path) else given.name
    png, svg = save_picture(posts_figure(own, made, name), figure or beside / f"{name}-described.png")
    print(f"Picture: {png} and {svg.name}")


def _bars(minutes: tuple[int, ...], width_minutes: int = 3) -> str:
    sums = [sum(minutes[start : start + width_minutes]) for start in range(0, len(minutes), width_minutes)]
    steps = "▁▂▃▄▅▆▇█"
    return "".join(steps[min(len(steps) - 1, value * len(steps) // (max(sums) + 1))] for value in sums)


def _pseudonyms(key_file: Path | None) -> Pseudonyms:
    from thyme.pipeline.posts.formats.pseudonyms import Pseudonyms

    if key_file is None:
        return Pseudonyms(secrets.token_bytes(MAX_KEY_BYTES))
    try:
        key = key_file.read_bytes()
    except OSError as error:
        raise InputError(f"{key_file}: cannot be read ({error.strerror}); expected a file with a secret key") from error
    if not 16 <= len(key) <= MAX_KEY_BYTES:
        raise InputError(f"{key_file}: a key of {len(key)} bytes; expected from 16 to {MAX_KEY_BYTES}")
    return Pseudonyms(key)
