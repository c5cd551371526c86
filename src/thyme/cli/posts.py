"""`thyme posts`: bring posts of a past event, or generate some, and look at them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

posts_app = typer.Typer(
    help="Posts of an event: generated, or ingested from files.", no_args_is_help=True, rich_markup_mode="markdown"
)


@posts_app.command(epilog="Example: thyme posts generate --out posts --posts 12000 --seed 1")
def generate(
    out: Annotated[Path, typer.Option(help="Where the posts go: a new folder.")],
    posts: Annotated[int, typer.Option(help="How many posts.")] = 4_000,
    seed: Annotated[int, typer.Option(help="Decides all that is drawn.")] = 1,
    goals: Annotated[int, typer.Option(help="How many goals the match has; each is a burst.")] = 2,
) -> None:
    """Generate the posts of a three-hour match, with the statistics of real ones."""
    from thyme.pipeline.bursts import BurstOptions
    from thyme.pipeline.generate import PostOptions, write_posts

    options = PostOptions(posts=posts, seed=seed, bursts=BurstOptions(goals=goals))
    columns = (TextColumn("Generating posts"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=posts)
        write_posts(options, out, lambda done: progress.update(task, advance=done))
    print(f"{posts} posts written to {out}")
