"""The study: posts → traces → sweep → metrics → figures → report, in one folder.

Every stage leaves a dataset or files named by what went into it, so an interrupted study continues where it stopped,
and an unchanged one computes nothing. The next call retries failed runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain

import msgspec

from thyme.pipeline.identity import code_identity, identity_of
from thyme.pipeline.runs.run import RunSpec
from thyme.pipeline.runs.simulations import sweep_runs
from thyme.pipeline.runs.sweep import RunOutcome
from thyme.pipeline.spark.lazy_session import Frame, LazySession, Session, read_csv
from thyme.places import Place, place_of, write_file
from thyme.study.animation import Animation, animation_of
from thyme.study.claims import Expectation, judge_study
from thyme.study.decision import prior_words
from thyme.study.definition import StudyDefinition
from thyme.study.figures.chosen import draw
from thyme.study.figures.pictures import write_pictures
from thyme.study.folder import FIGURES, METRICS_FILE, REPORT_FILE, REPORT_STAMP, RUNS, take_folder
from thyme.study.metrics import provide_metrics
from thyme.study.plan import Plan, make_plan
from thyme.study.posts_fit import PostsSpan, doubts
from thyme.study.report.assumptions import assumptions
from thyme.study.report.headline import Headline, headline
from thyme.study.report.report import Report, describe_run, failure_words, render
from thyme.study.report.tables import Expense, FailedRun
from thyme.study.results import Results, axis_of
from thyme.study.stages import NoWatcher, StageNotes, Stages, Watcher
from thyme.study.workload import PlayedTrace, provide_posts, provide_traces, run_specs

BRIEF_POSTS = 100_000
BRIEF_RUNS = 100
"""A study within both is over so soon that starting quickly matters more than running fast."""


class StudyResult(msgspec.Struct, frozen=True):
    """What a study leaves its caller with."""

    results: Results
    headline: Headline
    outcomes: tuple[RunOutcome, ...]
    report: Place
    metrics: Place
    all_reused: bool
    failures: tuple[str, ...] = ()
    """What failed, in a sentence for each approach that this concerns."""
    doubts: tuple[str, ...] = ()
    """What is odd about how the posts are used."""

    def frame(self, spark: Session) -> Frame:
        """The results as a Spark DataFrame, with the columns of `metrics.csv`."""
        return read_csv(spark, self.metrics)


def run_study(
    definition: StudyDefinition,
    out: Place | str,
    master: str = "",
    watcher: Watcher | None = None,
    fresh: bool = False,
    expectations: Sequence[Expectation] = (),
) -> StudyResult:
    """Do whatever of the study is not done yet; the report judges what a paper lets one expect of it. Without a
    master, Spark runs where `spark-submit` or `spark-defaults.conf` say, or else on this machine."""
    plan = make_plan(definition)
    out = place_of(out)
    take_folder(out, definition, fresh)
    watcher = watcher or NoWatcher()
    stages = Stages(watcher)
    session = LazySession(f"thyme study {definition.name}", master, brief=_is_brief(plan))
    try:
        with stages.stage("posts") as notes:
            posts = provide_posts(plan, out, session, notes)
        with stages.stage("traces") as notes:
            traces = provide_traces(plan, posts, out, session, notes)
        specs = run_specs(plan, traces)
        with stages.stage("runs") as notes:
            outcomes = _provide_runs(specs, out / RUNS, session, watcher, notes)
        with stages.stage("metrics") as notes:
            results = provide_metrics(plan, specs, outcomes, traces, out, session, notes)
            write_file(out / METRICS_FILE, results.csv().encode())
    finally:
        session.close()
    answer = headline(results)
    span = posts.span()
    questioned = tuple(_doubts(span, traces)) if span is not None and definition.posts.dataset else ()
    with stages.stage("report") as notes:
        animation = partial(_animation, plan, answer, specs, outcomes)
        _provide_report(
            plan, results, answer, outcomes, traces, expectations, stages, session.master, out, notes, span, questioned,
            animation,
        )  # fmt: skip
    failures = tuple(failure_words(plan, _failures(plan, outcomes)))
    return StudyResult(
        results, answer, tuple(outcomes), out / REPORT_FILE, out / METRICS_FILE, stages.all_reused, failures, questioned
    )


def _is_brief(plan: Plan) -> bool:
    return not plan.definition.posts.dataset and plan.posts.posts <= BRIEF_POSTS and len(plan.runs) <= BRIEF_RUNS


def _provide_runs(
    specs: Sequence[RunSpec], folder: Place, session: LazySession, watcher: Watcher, notes: StageNotes
) -> list[RunOutcome]:
    def spark() -> Session:
        notes.working("starting Spark" if not session.started else "")
        return session.spark

    outcomes = sweep_runs(spark, specs, folder, watcher.sweep, notes.damage.append)
    failed = sum(not outcome.ok for outcome in outcomes)
    reused = sum(outcome.status == "reused" for outcome in outcomes)
    notes.detail = f"{len(outcomes)} runs, {reused} of them reused, {failed} failed"
    return outcomes


def _provide_report(
    plan: Plan,
    results: Results,
    answer: Headline,
    outcomes: Sequence[RunOutcome],
    traces: Sequence[PlayedTrace],
    expectations: Sequence[Expectation],
    stages: Stages,
    master: str,
    out: Place,
    notes: StageNotes,
    span: PostsSpan | None,
    questioned: tuple[str, ...],
    animation: Callable[[], Animation | None],
) -> None:
    failed = tuple(_failures(plan, outcomes))
    identity = identity_of(plan.definition, results.csv(), failed, list(expectations), code_identity(__name__))
    stamp = out / REPORT_STAMP
    notes.detail = REPORT_FILE
    if (out / REPORT_FILE).is_file() and stamp.is_file() and stamp.read_text() == identity:
        return
    notes.working("drawing")
    axis = axis_of(plan)
    groups = draw(results, axis, expectations, traces)
    drawn = [*chain.from_iterable(group.pictures for group in groups.values())]
    write_pictures(drawn, out / FIGURES)
    claims = tuple(judge_study(expectations, results, axis))
    seconds = sum(outcome.seconds for outcome in outcomes)
    expense = Expense(tuple(stages.reports), len(outcomes), seconds, master)
    assumed = tuple(assumptions(plan, traces, span))
    page = render(
        Report(
            plan, results, answer, groups, claims, failed, expense, assumed, prior_words(plan), questioned, animation()
        )
    )
    write_file(out / REPORT_FILE, page.encode())
    write_file(stamp, identity.encode())
    notes.detail = f"{REPORT_FILE} and {len(drawn)} figures"


def _animation(
    plan: Plan, answer: Headline, specs: Sequence[RunSpec], outcomes: Sequence[RunOutcome]
) -> Animation | None:
    """Of the approach that the answer names first, where it was asked for first and played to its end."""
    if not answer.choices:
        return None
    chosen = answer.choices[0].chosen
    table = zip(plan.runs, specs, outcomes, strict=True)
    spec = next(spec for run, spec, outcome in table if run.point == chosen.point and outcome.ok)
    return animation_of(chosen.approach, spec)


def _doubts(span: PostsSpan, traces: Sequence[PlayedTrace]) -> list[str]:
    """Of the first trace that is made of the posts."""
    made = [trace for trace in traces if not trace.choice.file]
    return doubts(span, made[0].outline, made[0].choice.options) if made else []


def _failures(plan: Plan, outcomes: Sequence[RunOutcome]) -> list[FailedRun]:
    return [
        FailedRun(
            outcome.run,
            describe_run(plan.points[run.point].columns(), run.scenario.topology, run.scenario.repetition),
            outcome.attempts,
            outcome.error,
            plan.points[run.point].approach,
        )
        for run, outcome in zip(plan.runs, outcomes, strict=True)
        if not outcome.ok
    ]
