"""The headline: which approach to use for this crowd, why, how sure that is, and in which variations it changes.

`choosing` decides in each place; here this becomes an answer for the whole study, in words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from thyme.approaches.decision_table import DEPENDABLE_RECALL, DEPENDABLE_SUCCESS
from thyme.approaches.registry import find_approach, with_plain_names
from thyme.study.plan import Plan
from thyme.study.report.choosing import CRITERIA, MIN_RUNS, NOTICED_S, TRAFFIC, Choice, Criterion, Score, choices
from thyme.study.results import Results
from thyme.study.shown_metrics import LATE_NOTIFICATION, SHOWN_METRICS
from thyme.study.variations import ASKED
from thyme.study.wording import counted, duration, listed, place, round_share, share, span


class Tip(msgspec.Struct, frozen=True):
    """What becomes of the answer in a variation."""

    variation: str
    verdict: Literal["holds", "works", "fails"]
    """It is still the best; it is dependable and another one is better; it is not dependable."""
    told: str


class Headline(msgspec.Struct, frozen=True):
    answer: str
    reasons: tuple[str, ...]
    choices: tuple[Choice, ...]
    """Of the crowd that was asked about, one for each place of the grid."""
    variations: tuple[Choice, ...] = ()
    tips: tuple[Tip, ...] = ()
    chosen: Score | None = None
    """What the answer names, in the first place where it suffices; None if nothing does."""


def rules(plan: Plan) -> list[str]:
    """How the answer was found, for the report's reader."""
    criteria = ", then the one that ".join(one.better for one in CRITERIA[plan.definition.priority])
    return [
        (
            f"An approach is dependable where at least {round_share(DEPENDABLE_SUCCESS)} of operations succeed and at "
            f"least {round_share(DEPENDABLE_RECALL)} of the expected notifications arrive, on average over the runs."
        ),
        (
            f"The priority of this study is {plan.definition.priority}: among dependable approaches, the one that "
            f"{criteria} is chosen. Another one is ruled out if it is worse in every run. Differences that read as "
            f"0 %, and times that differ by less than {duration(NOTICED_S)}, count as none."
        ),
        "Of approaches whose runs overlap, one that needs no server is named first, then the one with the better mean.",
        (
            "Where none is dependable, the one with the largest product of success and notifications that arrive is "
            "named, and the answer says that it is not enough."
        ),
    ]


def headline(results: Results) -> Headline:
    found = choices(results)
    asked = [choice for choice in found if choice.variation in ("", ASKED)]
    variations = [choice for choice in found if choice.variation not in ("", ASKED)]
    if not asked:
        return Headline("No run finished, so there is nothing to choose from.", (), (), tuple(variations))
    names = [choice.chosen.approach for choice in asked]
    winner = max(dict.fromkeys(names), key=names.count)
    enough = [choice for choice in asked if choice.chosen.approach == winner and choice.suffices]
    criterion = CRITERIA[results.plan.definition.priority][0]
    tips = tuple(_tip(winner, choice, criterion) for choice in variations) if enough else ()
    return Headline(
        with_plain_names(_answer(winner, asked, enough, tips)),
        tuple(map(with_plain_names, _reasons(results, winner, asked, criterion))),
        tuple(asked),
        tuple(variations),
        tips,
        enough[0].chosen if enough else None,
    )


def _answer(winner: str, asked: Sequence[Choice], enough: Sequence[Choice], tips: Sequence[Tip]) -> str:
    if not enough:
        return f"Nothing tried here is dependable for this crowd. {winner} delivers most, and that is not enough."
    failing = [tip.variation for tip in tips if tip.verdict == "fails"]
    proviso = f", but not if {listed(failing, 'or')}" if failing else ""
    where = f" with {listed([place(choice.values) for choice in enough], 'and')}" if len(enough) < len(asked) else ""
    if all(len(choice.scores) == 1 for choice in asked):
        return f"{winner} works for this crowd{where}{proviso}."
    if enough[0].chosen.needs_server:
        return f"Bring a server (it needs no Internet): use {winner}{where}{proviso}."
    return f"Phones alone can do it: use {winner}{where}{proviso}."


def _reasons(results: Results, winner: str, asked: Sequence[Choice], criterion: Criterion) -> list[str]:
    own = [score for choice in asked if (score := choice.of(winner)) is not None]
    succeed = span(share(min(s.success for s in own)), share(max(s.success for s in own)))
    arrive = span(share(min(s.recall for s in own)), share(max(s.recall for s in own)))
    reasons = [f"{succeed} of what people ask for succeeds, and {arrive} of the notifications that are due arrive."]
    medians = [score.latency_s for score in own if score.latency_s is not None]
    late = [found for score in own if (found := results.mean(score.point, LATE_NOTIFICATION)) is not None]
    if medians and late:
        reasons.append(
            f"Half of the notifications take at most {duration(max(medians))}, 19 of 20 at most {duration(max(late))}."
        )
    reasons.extend(_others(results, winner, asked, criterion))
    for choice in asked:
        chosen = choice.chosen.approach
        if chosen != winner:
            reasons.append(f"With {place(choice.values)}, {chosen} is the better choice: {why(choice)}.")
        elif not choice.suffices:
            reasons.append(f"With {place(choice.values)} it is not enough: {why(choice)}.")
    reasons.append(_how_sure(results, asked, own, criterion))
    return reasons


def _how_sure(results: Results, asked: Sequence[Choice], own: Sequence[Score], criterion: Criterion) -> str:
    runs = min(score.runs for score in own)
    if runs < MIN_RUNS:
        return f"This rests on {counted(runs, 'run')} of each: another placement may decide otherwise."
    tied = next((choice for choice in asked if len(choice.best) > 1), None)
    if tied is None:
        return f"This rests on {runs} runs of each; what was ruled out was worse in every one of them."
    first, second = tied.best[:2]
    why_first = "it needs no server" if second.needs_server and not first.needs_server else "its mean is better"
    return (
        f"{runs} runs of each do not separate {first.approach} ({_range(results, first, criterion)}) from "
        f"{second.approach} ({_range(results, second, criterion)}); the first is named because {why_first}. More "
        f"placements (`--set topologies={max(10, 3 * runs)}`) may tell them apart."
    )


def _range(results: Results, score: Score, criterion: Criterion) -> str:
    found = results.get(score.point, criterion.metric)
    shown = next(one for one in SHOWN_METRICS if one.metric == criterion.metric)
    if found is None or found.low is None or found.high is None:
        return "unknown" if found is None else shown.told(found.mean)
    return span(shown.told(found.low), shown.told(found.high))


def _others(results: Results, winner: str, asked: Sequence[Choice], criterion: Criterion) -> list[str]:
    """The other approaches: what they lack, or how they differ by the study's measure and in traffic."""
    sentences = []
    for title in dict.fromkeys(score.approach for choice in asked for score in choice.scores):
        pairs = [(own, other) for choice in asked if (own := choice.of(winner)) and (other := choice.of(title))]
        if title == winner or not pairs:
            continue
        weak = [other for _, other in pairs if not other.dependable]
        if weak:
            worst = min(weak, key=lambda score: score.success * score.recall)
            cases = f" in the worst of {len(pairs)} cases" if len(pairs) > 1 else ""
            limit = _limit_words(results.plan, title)
            sentences.append(
                f"{title} is not dependable: {share(worst.success)} succeeds and {share(worst.recall)} arrives{cases}"
                + (f", because {limit}." if limit else ".")
            )
            continue
        measures = dict.fromkeys([criterion, TRAFFIC])
        told = [words for one in measures if (words := _difference(pairs[0], one))]
        where = f" with {place(asked[0].values)}" if len(pairs) > 1 else ""
        if told:
            sentences.append(f"{title} {listed(told, 'and')}{where}.")
    return sentences


def _difference(pair: tuple[Score, Score], criterion: Criterion) -> str:
    own, other = (score.value(criterion) for score in pair)
    return "" if own is None or other is None else criterion.difference(other, own)


def _tip(winner: str, choice: Choice, criterion: Criterion) -> Tip:
    own = choice.of(winner)
    if own is None:
        return Tip(choice.variation, "fails", f"{winner} has no result here")
    figures = f"{share(own.success)} succeeds, {share(own.recall)} arrives"
    best = choice.chosen
    if not own.dependable:
        instead = f"{best.approach} would do" if choice.suffices else "nothing else tried does better"
        return Tip(choice.variation, "fails", f"{figures}; {instead}")
    if own in choice.best:
        return Tip(choice.variation, "holds", figures)
    decided_by = choice.decided_by or criterion
    return Tip(choice.variation, "works", f"{figures}; {best.approach} {_difference((own, best), decided_by)}")


def why(choice: Choice) -> str:
    """What decided in this place."""
    chosen = choice.chosen
    if not chosen.dependable:
        return f"{share(chosen.success)} of operations succeed and {share(chosen.recall)} of notifications arrive"
    if len(choice.scores) == 1:
        return "the only one measured"
    if sum(score.dependable for score in choice.scores) == 1:
        return "the only dependable one"
    return f"it {choice.decided_by.better}" if choice.decided_by else "the runs of the others overlap with it"


def _limit_words(plan: Plan, title: str) -> str:
    """Why an approach cannot carry what this study shares; empty if it can.

    Approaches that send contents within their messages have a setting `content_bytes`.
    """
    choice = next(choice for choice in plan.definition.approaches if choice.title == title)
    scenario = next(run.scenario for run in plan.runs if plan.points[run.point].approach == title)
    settings = find_approach(choice.name).configure(scenario.settings)
    most_bytes: int | None = getattr(settings, "content_bytes", None)
    sizes = plan.runs[0].trace.options.sizes
    if most_bytes is None or sizes.kind == "text" or sizes.size_bytes <= most_bytes:
        return ""
    return f"it sends contents within messages, at most {most_bytes:,} bytes each"
