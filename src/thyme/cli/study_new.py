"""`thyme study new`: a study file from a few questions, asked one by one where nothing is given."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from thyme.cli.quantities import bytes_of

if TYPE_CHECKING:
    from thyme.study.asking import CrowdDescription

QUESTIONS = {
    "contents": ("What do people share: messages, photos or videos?", "photos"),
    "size": ("How large is a photo or a video? (as 100kB or 2MB; empty: the usual size)", ""),
    "people": ("How many people?", "36"),
    "venue": ("How large is the place, in metres? (as 200x100; empty: as dense as a square before a stage)", ""),
    "movement": ("Do they stand, do some walk, or do all walk? [stand/some/walk]", "stand"),
    "going": ("Do they stay, does a tenth leave, or do some switch off and on? [stay/leave/switch]", "stay"),
    "server": ("Can somebody bring a server? [y/n]", "y"),
    "priority": ("What matters most: delivery, delay, battery or traffic?", "traffic"),
    "posts": ("A folder of posts that `thyme posts ingest` wrote? (empty: generated ones)", ""),
}


def new(
    file: Annotated[Path, typer.Argument(metavar="FILE.toml", help="Where to write the study.")],
    contents: Annotated[str | None, typer.Option(help="messages, photos or videos.", show_default="photos")] = None,
    size: Annotated[str | None, typer.Option(help="Of a photo or a video, such as 100kB.")] = None,
    people: Annotated[int | None, typer.Option(help="How many people.", show_default="36")] = None,
    venue: Annotated[str | None, typer.Option(help="Sides in metres, such as 200x100.")] = None,
    movement: Annotated[str | None, typer.Option(help="stand, some or walk.", show_default="stand")] = None,
    going: Annotated[str | None, typer.Option(help="stay, leave or switch.", show_default="stay")] = None,
    server: Annotated[bool | None, typer.Option(help="Whether somebody brings a server.", show_default="yes")] = None,
    priority: Annotated[
        str | None, typer.Option(help="delivery, delay, battery or traffic.", show_default="traffic")
    ] = None,
    posts: Annotated[str | None, typer.Option(help="A folder that `thyme posts ingest` wrote.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
) -> None:
    """Write a study file for a crowd of your own; in a terminal, what is not given is asked for.

    Example:

      thyme study new festival.toml --contents photos --people 200 --venue 300x150 --movement some
    """
    from thyme.model.errors import InputError
    from thyme.study.asking import study_text
    from thyme.study.decision import prior_words
    from thyme.study.definition import load_study
    from thyme.study.estimate import estimate_words
    from thyme.study.plan import make_plan

    if file.exists() and not force:
        raise InputError(f"{file} is there already; give another name, or --force")
    given: dict[str, Any] = {
        "contents": contents, "size": size, "people": people, "venue": venue, "movement": movement, "going": going,
        "server": server, "priority": priority, "posts": posts,
    }  # fmt: skip
    if sys.stdin.isatty() and all(value is None for value in given.values()):
        given = _ask(file)
    asked = _asked(given, file)
    file.write_text(study_text(asked), encoding="utf-8")
    print(f"{file} written. Play it:  thyme study {file}")
    if asked.posts:
        return
    definition = load_study(file)
    print(estimate_words(definition))
    told = prior_words(make_plan(definition))
    if told:
        print(f"Before anything is played: {told[0].lower()}{told[1:]}")


def _asked(given: dict[str, Any], file: Path) -> CrowdDescription:
    """The answers as a record; InputError names the one that is not valid."""
    from thyme.model.errors import InputError
    from thyme.model.settings import to_record
    from thyme.places import place_of
    from thyme.study.asking import CrowdDescription, parse_venue

    answers = {key: value for key, value in given.items() if value is not None}
    size = answers.pop("size", "")
    if size:
        answers["size_bytes"] = bytes_of(size, "--size")
    sides = answers.pop("venue", "")
    if sides:
        answers["width_m"], answers["height_m"] = parse_venue(sides)
    posts = answers.get("posts", "")
    if posts:
        folder = place_of(posts)
        if isinstance(folder, Path) and not (file.parent / folder).is_dir():
            raise InputError(f"--posts {posts}: there is no such folder beside the study; see `thyme posts ingest`")
    return to_record(answers | {"name": file.stem}, CrowdDescription, "thyme study new")


def _ask(file: Path) -> dict[str, Any]:
    """Ask one question after the other; an answer that is not valid is refused at once and asked for again."""
    from thyme.model.errors import InputError

    told: dict[str, Any] = {}
    for key, (question, default) in QUESTIONS.items():
        while True:
            answer: Any = typer.prompt(question, default=default, show_default=bool(default))
            if key == "people" and answer.isdigit():
                answer = int(answer)
            elif key == "server":
                answer = answer.lower().startswith("y")
            try:
                _asked(told | {key: answer}, file)
            except InputError as wrong:
                print(f"  {wrong}")
                continue
            told[key] = answer
            break
    return told
