"""`thyme study new`: write a study file from a few options or questions."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer


def new(
    file: Annotated[Path, typer.Argument(metavar="FILE.toml", help="Where to write the study.")],
    contents: Annotated[str | None, typer.Option(help="messages, photos or videos.", show_default="photos")] = None,
    size: Annotated[str | None, typer.Option(help="Size of a photo or video, such as 100kB.")] = None,
    people: Annotated[int | None, typer.Option(help="Number of people.", show_default="36")] = None,
    venue: Annotated[str | None, typer.Option(help="Venue in metres, such as 200x100.")] = None,
    movement: Annotated[str | None, typer.Option(help="stand, some or walk.", show_default="stand")] = None,
    going: Annotated[str | None, typer.Option(help="stay, leave or switch.", show_default="stay")] = None,
    server: Annotated[bool | None, typer.Option(help="A server is available.", show_default="yes")] = None,
    priority: Annotated[
        str | None, typer.Option(help="delivery, delay, battery or traffic.", show_default="traffic")
    ] = None,
    posts: Annotated[str | None, typer.Option(help="A folder that `thyme posts ingest` wrote.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
) -> None:
    """Write a study file for your crowd. Without options, a terminal asks for them.

    Example:

      thyme study new festival.toml --contents photos --people 200 --venue 300x150 --movement some
    """
    from thyme.model.errors import InputError
    from thyme.study.decision import prior_words
    from thyme.study.definition import load_study
    from thyme.study.estimate import estimate_words
    from thyme.study.plan import make_plan
    from thyme.study.questions import description_of, study_text

    if file.exists() and not force:
        raise InputError(f"{file} exists already; choose another name, or overwrite it with --force")
    given: dict[str, Any] = {
        "contents": contents, "size": size, "people": people, "venue": venue, "movement": movement, "going": going,
        "server": server, "priority": priority, "posts": posts,
    }  # fmt: skip
    if sys.stdin.isatty() and all(value is None for value in given.values()):
        given = _ask(file)
    asked = description_of(given, file)
    file.write_text(study_text(asked), encoding="utf-8")
    print(f"{file} written. Run it:  thyme study {file}")
    if asked.posts:
        return
    definition = load_study(file)
    print(estimate_words(definition))
    told = prior_words(make_plan(definition))
    if told:
        print(told)


def _ask(file: Path) -> dict[str, Any]:
    """Ask the questions one by one; repeat each until its answer is valid."""
    from thyme.model.errors import InputError
    from thyme.study.questions import QUESTIONS, description_of

    told: dict[str, Any] = {}
    for key, (question, default) in QUESTIONS.items():
        while True:
            answer: Any = typer.prompt(question, default=default, show_default=bool(default))
            if key == "people" and answer.isdigit():
                answer = int(answer)
            elif key == "server":
                answer = answer.lower().startswith("y")
            try:
                description_of(told | {key: answer}, file)
            except InputError as wrong:
                print(f"  {wrong}")
                continue
            told[key] = answer
            break
    return told
