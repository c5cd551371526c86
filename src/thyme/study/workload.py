"""The workload of a study: its posts, and from them the traces that its runs play."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import msgspec

from thyme.model.errors import InputError
from thyme.model.operations import MAX_TRACE_OPERATIONS
from thyme.pipeline.identity import code_identity, dataset_identity, identity_of
from thyme.pipeline.posts.generate import write_posts
from thyme.pipeline.runs.carried import StoredTrace, pack_trace, stored_trace
from thyme.pipeline.runs.run import RunSpec
from thyme.pipeline.schemas import POSTS
from thyme.pipeline.spark import dataset
from thyme.pipeline.spark.lazy_session import LazySession
from thyme.pipeline.traces.outline import TraceOutline, read_outline
from thyme.pipeline.traces.trace import TooFewAuthors, TraceOptions, write_trace
from thyme.places import Place, place_of
from thyme.sim.run import check_end
from thyme.sim.scenario import Scenario
from thyme.sim.traces import read_trace, table_from_operations
from thyme.study.folder import POSTS as POSTS_FOLDER
from thyme.study.folder import TRACES
from thyme.study.plan import Plan, TraceChoice
from thyme.study.posts_fit import PostsSpan, span_of
from thyme.study.stages import StageNotes

OnDamaged = Callable[[str], None]
"""Called when a dataset differs from what was written."""


class Posts(msgspec.Struct, frozen=True):
    path: Place
    identity: str

    def span(self) -> PostsSpan | None:
        """How many there are and from when to when; None without any."""
        return span_of(self.path) if self.identity else None


class PlayedTrace(msgspec.Struct, frozen=True):
    """A trace of the study: its location and summary. Only the runs read its operations."""

    choice: TraceChoice
    stored: StoredTrace
    outline: TraceOutline


def provide_posts(plan: Plan, out: Place, session: LazySession, notes: StageNotes) -> Posts:
    """The study's dataset of posts, or generated ones."""
    if not plan.needs_posts:
        notes.detail = "not needed, the trace is a file"
        return Posts(out, "")
    given = plan.definition.posts.dataset
    if given:
        path = place_of(given)
        if not dataset.exists(path):
            raise InputError(f"posts.dataset: {path} is not a dataset of posts; make one with `thyme posts ingest`")
        dataset.check(path, session.spark)
        notes.detail = f"from {path}"
        return Posts(path, dataset_identity(path))
    identity = identity_of(plan.posts, code_identity(write_posts.__module__))
    path = out / POSTS_FOLDER / identity
    if not dataset.kept(path, notes.damage.append, session.need):
        notes.working(f"writing {plan.posts.posts} posts")
        write_posts(session.spark, plan.posts, path)
    notes.detail = f"{plan.posts.posts} generated"
    return Posts(path, identity)


def provide_traces(plan: Plan, posts: Posts, out: Place, session: LazySession, notes: StageNotes) -> list[PlayedTrace]:
    """The traces of the plan, in its order."""
    found = []
    wanted = plan.traces()
    for number, choice in enumerate(wanted):
        working = partial(notes.working, f"{number + 1} of {len(wanted)}, {choice.title}")
        if choice.file:
            found.append(_given_trace(choice, out, working, notes.damage.append))
        else:
            beside = not any(plan.points[run.point].asked for run in plan.runs if run.trace == choice)
            found.append(_made_trace(choice, posts, out, session, working, notes.damage.append, beside))
    notes.detail = f"{len(found)} with {sum(trace.outline.operations for trace in found):,} operations"
    return found


def _given_trace(choice: TraceChoice, out: Place, working: Callable[[], None], damaged: OnDamaged) -> PlayedTrace:
    """A file's trace, as a dataset of the study's own."""
    operations = read_trace(choice.file)
    path = out / TRACES / pack_trace(operations).identity
    if not dataset.kept(path, damaged):
        working()
        dataset.write_once(table_from_operations(operations), path)
    return _played(choice, path)


def _made_trace(
    choice: TraceChoice,
    posts: Posts,
    out: Place,
    session: LazySession,
    working: Callable[[], None],
    damaged: OnDamaged,
    beside: bool,
) -> PlayedTrace:
    """`beside`: only for variations, for which posts of too few people are dealt out."""

    def place(options: TraceOptions) -> Place:
        return out / TRACES / identity_of(posts.identity, options, code_identity(write_trace.__module__))

    def make(options: TraceOptions) -> Place:
        path = place(options)
        if not dataset.kept(path, damaged, session.need):
            working()
            frame = dataset.frame_of(session.spark, posts.path, POSTS)
            write_trace(frame, options, path, made_from=f"posts {posts.identity}")
        return path

    dealt = msgspec.structs.replace(choice.options, authors="deal")
    try:
        path = make(dealt if beside and place(dealt).exists() else choice.options)
    except TooFewAuthors:
        if not beside:
            raise
        path = make(dealt)
    return _played(choice, path)


def _played(choice: TraceChoice, path: Place) -> PlayedTrace:
    outline = read_outline(path)
    if outline.operations > MAX_TRACE_OPERATIONS:
        raise InputError(
            f"{path}: the trace has {outline.operations:,} operations; "
            f"at most {MAX_TRACE_OPERATIONS:,} can be simulated"
        )
    return PlayedTrace(choice, stored_trace(path, outline.operations), outline)


def run_specs(plan: Plan, traces: Sequence[PlayedTrace]) -> list[RunSpec]:
    """The table of the sweep: each planned run with its trace, and with publishers as leaving nodes if configured."""
    by_choice = {msgspec.json.encode(trace.choice): trace for trace in traces}
    specs = []
    for run in plan.runs:
        trace = by_choice[msgspec.json.encode(run.trace)]
        scenario = run.scenario
        if run.leaving == "publishers":
            scenario = _with_leaving(scenario, trace.outline.publishers)
        if trace.outline.operations:
            check_end("the trace's last operation", trace.outline.when.last_s, scenario)
        specs.append(RunSpec(scenario, trace.stored))
    return specs


def _with_leaving(scenario: Scenario, nodes: tuple[int, ...]) -> Scenario:
    return msgspec.structs.replace(scenario, churn=scenario.churn.of(nodes))
