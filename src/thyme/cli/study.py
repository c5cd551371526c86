"""From posts to a report that says which approach to choose.

`thyme study --preset NAME` and `thyme study FILE.toml` run a study; `--preset list` lists those that come with Thyme.
A study file may be as short as this:

    title = "A festival"

    [scenario]
    nodes = 100

    [[approaches]]
    name = "ls"

    [[approaches]]
    name = "dcs"

`thyme study new` writes one with comments; `thyme study keys` lists every key.
"""

from __future__ import annotations

from pathlib import Path
from threading import Event, Thread
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from thyme.cli.settings import Conf, Master
from thyme.cli.study_map import decision_map
from thyme.cli.study_new import new

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from thyme.pipeline.runs.sweep import SweepProgress
    from thyme.study.definition import StudyDefinition
    from thyme.study.stages import StageReport
    from thyme.study.study import StudyResult


class _RunByDefault(TyperGroup):
    """`thyme study FILE` is `thyme study run FILE`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args or (args[0] not in self.commands and args[0] not in ("-h", "--help")):
            args = ["run", *args]
        return super().parse_args(ctx, args)


study_app = typer.Typer(cls=_RunByDefault, help=__doc__)
study_app.command("new")(new)
study_app.command("map")(decision_map)


@study_app.command()
def keys() -> None:
    """Print every key of a study file, with a complete example."""
    from thyme.study.study_reference import study_page

    print(study_page(), end="")


@study_app.command("run")
def study(
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE.toml]", help="A study as TOML.", show_default=False)
    ] = None,
    preset: Annotated[
        str | None, typer.Option("--preset", help="A study that comes with Thyme; `list` shows all.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Change a key of the study; repeatable."),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            metavar="DIR|URI",
            help="Folder of the study, or its place in a store (s3://…). Default: out/NAME.",
            show_default=False,
        ),
    ] = None,
    master: Master = "",
    conf: Conf = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Discard earlier results and start again.")] = False,
) -> None:
    """Compare approaches on one workload: posts → traces → runs → metrics → figures → report.

    Finished parts are reused; an interrupted study continues where it stopped.

    Examples:

      thyme study --preset quick

      thyme study --preset thyme-static --set 'nodes=[100]' --set repetitions=1

      thyme study festival.toml --out out/festival --master spark://10.0.0.5:7077
    """
    from rich.console import Console

    from thyme.model.settings import parse_settings
    from thyme.papers.evaluations import EVALUATIONS
    from thyme.papers.thyme.claims import expectations_of
    from thyme.places import local_place, place_of
    from thyme.study.estimate import estimate_words
    from thyme.study.study import run_study

    console = Console(highlight=False)
    if preset == "list":
        _list_presets(console)
        return
    changes = parse_settings(settings)
    if preset in EVALUATIONS and file is None:
        _evaluate(console, preset, local_place(out or f"out/{preset}", "an evaluation"), changes, master, fresh)
        return
    definition = _definition(file, preset, changes)
    place = place_of(out or Path("out") / definition.name)
    console.print(f"[bold]{definition.title or definition.name}[/bold]  →  {place}")
    console.print(estimate_words(definition), markup=False)
    with _Screen(console) as screen:
        result = run_study(definition, place, master, screen, fresh, expectations_of(definition))
    _tell(console, result)
    if not all(outcome.ok for outcome in result.outcomes):
        raise typer.Exit(1)


def _definition(file: Path | None, preset: str | None, changes: dict[str, object]) -> StudyDefinition:
    from thyme.model.errors import InputError
    from thyme.papers.thyme.claims import PRESETS
    from thyme.study.definition import load_preset, load_study

    if (file is None) == (preset is None):
        raise InputError("give either a study file or --preset NAME (see thyme study --help)")
    if preset is not None and preset not in _presets():
        raise InputError(f"--preset {preset}: there is no such preset; expected one of {', '.join(_presets())}")
    if file is not None:
        return load_study(file, changes)
    assert preset is not None
    return load_preset(preset, changes, PRESETS)


def _list_presets(console: Console) -> None:
    for name, title in sorted(_presets().items()):
        console.print(f"  {name:18s} {title}")


def _presets() -> dict[str, str]:
    """Studies and evaluations that come with Thyme, with their titles."""
    from thyme.papers.evaluations import EVALUATIONS
    from thyme.papers.thyme.claims import PRESETS
    from thyme.study.definition import presets

    return presets(PRESETS) | {name: evaluation.title for name, evaluation in EVALUATIONS.items()}


def _evaluate(console: Console, name: str, out: Path, changes: dict[str, object], master: str, fresh: bool) -> None:
    """One of the other papers' evaluations: its figures and tables in `out`, its claims in the terminal."""
    from rich.table import Table

    from thyme.papers.evaluated import answer_of
    from thyme.papers.evaluations import EVALUATIONS, run_evaluation
    from thyme.study.claims import those_tested
    from thyme.study.folder import METRICS_FILE, REPORT_FILE

    console.print(f"[bold]{EVALUATIONS[name].title}[/bold]  →  {out}")
    with _Screen(console) as screen:
        evaluated = run_evaluation(name, out, changes, master, screen.sweep, fresh)
    claims = those_tested(evaluated.claims)
    if claims:
        table = Table("claim", "the paper says", "measured here", "", box=None, pad_edge=False)
        for claim in claims:
            verdict = "[green]holds[/green]" if claim.holds else "[yellow]differs[/yellow]"
            table.add_row(claim.id, claim.statement, claim.measured, verdict)
        console.print(table)
    console.print(f"[bold]{answer_of(evaluated)}[/bold]")
    if evaluated.failed:
        first = evaluated.failed[0]
        console.print(
            f"[red]{len(evaluated.failed)} of {evaluated.runs} runs failed[/red]: {first.what}: {first.error}"
        )
    report, numbers = (out / file for file in (REPORT_FILE, METRICS_FILE))
    console.print(f"\nReport:  {report.resolve()}\nNumbers: {numbers.resolve()}", soft_wrap=True)
    if evaluated.failed:
        raise typer.Exit(1)


QUIET_S = 8.0
"""A log gets a line at least this often."""


class _Screen:
    """A line for each stage, and a progress bar while runs are played. In a log, a line every few seconds replaces the
    bar."""

    def __init__(self, console: Console) -> None:
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        self._console = console
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description:8s}"),
            BarColumn(bar_width=30),
            TextColumn("{task.fields[told]}"),
            TimeElapsedColumn(),
            console=console,
            transient=True,
        )
        self._task = self._progress.add_task("", total=None, told="")
        self._name = ""
        self._state = "starting"
        self._ended = Event()
        self._thread = Thread(target=self._log, daemon=True)

    def __enter__(self) -> _Screen:
        if self._console.is_terminal:
            self._progress.start()
        else:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()
        self._ended.set()

    def _log(self) -> None:
        began_s = monotonic()
        while not self._ended.wait(QUIET_S):
            self._console.print(f"    {self._state}  [dim]{monotonic() - began_s:.0f} s[/dim]")

    def stage(self, report: StageReport) -> None:
        from thyme.study.wording import duration

        if report.state == "running":
            if report.name != self._name:
                self._name = report.name
                self._progress.reset(self._task, total=None)
            self._progress.update(self._task, description=report.name, told=report.detail)
            self._state = f"{report.name:8s} {report.detail or 'working'}"
            return
        took = "reused" if report.state == "reused" else duration(report.seconds)
        self._console.print(f"  [green]✓[/green] {report.name:8s} {report.detail}  [dim]{took}[/dim]")

    def sweep(self, progress: SweepProgress) -> None:
        from thyme.study.wording import duration

        ended = progress.done + progress.reused + progress.failed
        told = f"{ended} of {progress.total} done, {progress.running} running"
        if progress.failed:
            told += f", [red]{progress.failed} failed[/red]"
        if progress.left_s is not None and ended < progress.total:
            told += f", about {duration(progress.left_s)} left"
        self._progress.update(self._task, total=1.0, completed=progress.share, told=told)
        self._state = f"runs     {told}"


def _tell(console: Console, result: StudyResult) -> None:
    from thyme.approaches.registry import with_plain_names
    from thyme.places import whole_place

    console.print()
    console.print(_headline_table(result))
    console.print(f"[bold]{result.headline.answer}[/bold]")
    for reason in result.headline.reasons:
        console.print(f"  • {reason}", markup=False)
    for tip in result.headline.tips:
        verdict = f"[{'green' if tip.verdict == 'holds' else 'yellow'}]{tip.verdict}[/]"
        console.print(f"  If {tip.variation}: {verdict}; {with_plain_names(tip.told)}")
    for warning in (*result.failures, *result.doubts):
        console.print(f"  ! {warning}", style="red", markup=False)
    if result.all_reused:
        console.print("Nothing has changed, so all results were reused; --fresh computes them again.")
    console.print(f"\nReport:  {whole_place(result.report)}\nNumbers: {whole_place(result.metrics)}", soft_wrap=True)


def _headline_table(result: StudyResult) -> Table:
    from rich import box
    from rich.table import Table

    from thyme.approaches.registry import with_plain_names
    from thyme.study.plan import VARIATION_COLUMN
    from thyme.study.wording import duration, share, size

    keys = result.results.plan.columns
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for key in keys:
        table.add_column(key, justify="right")
    table.add_column("approach")
    for name in ("succeed", "arrive", "half within", "on the air"):
        table.add_column(name, justify="right")
    table.add_column("")
    for choice in (*result.headline.choices, *result.headline.variations):
        for score in choice.scores:
            verdict = "dependable" if score.dependable else "[yellow]not dependable[/yellow]"
            if score in choice.best and len(choice.scores) > 1 and score.dependable:
                verdict = f"[green]{'chosen' if score == choice.chosen else 'as good'}[/green]"
            place = choice.values | {VARIATION_COLUMN: choice.variation}
            table.add_row(
                *(str(place[key]) for key in keys),
                with_plain_names(score.approach),
                share(score.success),
                share(score.recall),
                "–" if score.latency_s is None else duration(score.latency_s),
                "–" if score.air_bytes is None else size(score.air_bytes),
                verdict,
            )
    return table


@study_app.command()
def compare(
    first: Annotated[Path, typer.Argument(metavar="A", help="Folder of a study, such as out/fanzone.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="Folder of another study.")],
    every: Annotated[
        bool, typer.Option("--every-metric", help="All of metrics.csv, not only the metrics behind the answer.")
    ] = False,
) -> None:
    """Show the numbers of two studies side by side, for points that both have.

    A difference is marked if the runs of one lie outside the interval of the other.

    Example:

      thyme study compare out/before out/after
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from thyme.study.comparing import compare_studies

    console = Console(highlight=False)
    found = compare_studies(first, second, every)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("where")
    table.add_column("what")
    for folder in (first, second):
        table.add_column(folder.name or str(folder), justify="right")
    table.add_column("")
    before = ""
    for row in found.rows:
        if row.point != before and before:
            table.add_section()
        where, before = ("" if row.point == before else row.point), row.point
        told = "" if row.equal else "[yellow]differs[/yellow]" if row.apart else "[dim]within its runs[/dim]"
        table.add_row(where, row.metric, row.first, row.second, told)
    console.print(table)
    apart = sum(row.apart for row in found.rows)
    console.print(f"{len(found.rows)} numbers compared: {apart} differ by more than the spread of their runs.")
    for folder, points in ((first, found.only_first), (second, found.only_second)):
        if points:
            console.print(f"Only in {folder}: {'; '.join(points)}", markup=False)
