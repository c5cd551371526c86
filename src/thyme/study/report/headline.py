"""The headline: which approach to choose for this crowd, why, how sure that is, and where it tips over.

What is chosen in each place is `choosing`'s; here it becomes an answer for the whole study, in words.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from thyme.approaches.deciding import DEPENDABLE_RECALL, DEPENDABLE_SUCCESS
from thyme.study.plan import Plan
from thyme.study.report.choosing import (
    CRITERIA,
    MIN_RUNS,
    TRAFFIC,
    Choice,
    Score,
    choices,
)
from thyme.study.results import Results
from thyme.study.scenes import ASKED
from thyme.study.shown_metrics import LATE_NOTIFICATION
from thyme.study.wording import counted, duration, listed, place, proportion, round_share, share, span

EQUAL = TRAFFIC.margin
"""Traffic that differs by less than this is told as about the same."""


class Tip(msgspec.Struct, frozen=True):
    """A scene beside the one that was asked, and what becomes of the answer in it."""

    scene: str
    holds: bool
    told: str
    only: tuple[str, ...] = ()
    """Of several that could not be told apart, those that are still the answer here, if not all are."""

    @property
    def verdict(self) -> str:
        return "tips over" if not self.holds else "holds in part" if self.only else "holds"


class Headline(msgspec.Struct, frozen=True):
    answer: str
    reasons: tuple[str, ...]
    choices: tuple[Choice, ...]
    """Of the scene that was asked, one for each place of the grid."""
    neighbours: tuple[Choice, ...] = ()
    tips: tuple[Tip, ...] = ()


def rules(plan: Plan) -> list[str]:
    """How the answer was found, for the report's reader."""
    criteria = ", then the one that ".join(one.better for one in CRITERIA[plan.definition.matters])
    return [
        (
            f"An approach is dependable where at least {round_share(DEPENDABLE_SUCCESS)} of operations succeed and at "
            f"least {round_share(DEPENDABLE_RECALL)} of the expected notifications arrive, in the mean over runs."
        ),
        (
            f"Among dependable approaches, the one that {criteria} is chosen. One is ruled out if it is worse by more "
            f"than a tenth (a hundredth, of notifications that arrive), and worse in every run; times that "
            f"differ by less than {duration(0.1)} count as equal."
        ),
        (
            f"With fewer than {MIN_RUNS} runs it has to be worse by more than half (a tenth, of notifications that "
            "arrive): how much runs differ is then not known."
        ),
        "Those that remain cannot be told apart, and the answer names them all.",
        (
            "Where none is dependable, the one with the largest product of success and notifications that arrive is "
            "named, and said not to suffice."
        ),
    ]


def headline(results: Results) -> Headline:
    found = choices(results)
    asked = [choice for choice in found if choice.scene in ("", ASKED)]
    beside = [choice for choice in found if choice.scene not in ("", ASKED)]
    if not asked:
        return Headline("No run finished, so there is nothing to choose from.", (), tuple(asked), tuple(beside))
    winners = _winners(asked)
    tips = tuple(_tip(winners, choice) for choice in beside) if _suffices(winners[0], asked) else ()
    answer = _answer(winners, asked, tips)
    return Headline(answer, tuple(_reasons(results, winners, asked)), tuple(asked), tuple(beside), tips)


def _winners(asked: Sequence[Choice]) -> list[str]:
    """Those that are among the best wherever they were asked for; else the one that is it most often."""
    everywhere = [name for name in asked[0].names if all(name in choice.names for choice in asked)]
    if everywhere:
        return everywhere
    names = [name for choice in asked for name in choice.names]
    return [max(dict.fromkeys(names), key=names.count)]


def _suffices(winner: str, asked: Sequence[Choice]) -> bool:
    return any(choice.suffices and winner in choice.names for choice in asked)


def _answer(winners: Sequence[str], asked: Sequence[Choice], tips: Sequence[Tip]) -> str:
    winner = winners[0]
    alone = all(len(choice.scores) == 1 for choice in asked)
    won = [choice for choice in asked if winner in choice.names]
    enough = [choice for choice in won if choice.suffices]
    if not enough:
        return f"Nothing tried here is dependable for this crowd. {winner} brings most, and that is not enough."
    failing = [tip.scene for tip in tips if not tip.holds]
    proviso = f", but not where {listed(failing, 'or')}" if failing else ""
    if len(enough) < len(asked):
        where = listed([place(choice.values) for choice in enough], "and")
        return f"{'' if alone else 'Choose '}{winner}{' works' if alone else ''} with {where}{proviso}."
    if alone:
        return f"{winner} works for this crowd{proviso}."
    if len(winners) > 1:
        both = f"{listed(winners, 'and')} do equally well here: this study cannot tell them apart{proviso}."
        parting: dict[str, list[str]] = {}
        for tip in tips:
            if tip.only:
                parting.setdefault(listed(tip.only, "or"), []).append(tip.scene)
        ways = [f"{name} where {listed(scenes, 'or')}" for name, scenes in parting.items()]
        return f"{both} Take {listed(ways, 'and')}." if ways else both
    return f"Choose {winner}{proviso}."


def _reasons(results: Results, winners: Sequence[str], asked: Sequence[Choice]) -> list[str]:
    winner = winners[0]
    own = [score for choice in asked for name in winners if (score := choice.of(name)) is not None]
    succeed = span(share(min(s.success for s in own)), share(max(s.success for s in own)))
    arrive = span(share(min(s.recall for s in own)), share(max(s.recall for s in own)))
    reasons = [f"{succeed} of what people ask for succeeds, and {arrive} of the notifications that are due arrive."]
    medians = [score.latency_s for score in own if score.latency_s is not None]
    late = [found for score in own if (found := results.mean(score.point, LATE_NOTIFICATION)) is not None]
    if medians and late:
        reasons.append(
            f"Half of the notifications take at most {duration(max(medians))}, 19 of 20 at most {duration(max(late))}."
        )
    reasons.extend(_beside(winner, winners, asked))
    for choice in asked:
        if winner not in choice.names:
            reasons.append(
                f"With {place(choice.values)}, {listed(choice.names, 'or')} is the better choice: {why(choice)}."
            )
        elif not choice.suffices:
            reasons.append(f"With {place(choice.values)} it does not suffice: {why(choice)}.")
    reasons.append(_how_sure(winners, own))
    return reasons


def _how_sure(winners: Sequence[str], own: Sequence[Score]) -> str:
    runs = min(score.runs for score in own)
    if len(winners) > 1:
        return (
            f"{counted(runs, 'run')} of each could not separate {listed(winners, 'and')}; more placements "
            f"(`--set topologies={max(10, 3 * runs)}`) or a harder scene would tell."
        )
    if runs < MIN_RUNS:
        return f"This rests on {counted(runs, 'run')} of each, so only large differences were counted."
    return f"This rests on {runs} runs of each; what was ruled out was worse in every one of them."


def _beside(winner: str, winners: Sequence[str], asked: Sequence[Choice]) -> list[str]:
    """The other approaches: what they lack, or what they send beside the winner, of several the one that sends
    least."""
    others: dict[str, list[tuple[Score, Score]]] = {}
    for choice in asked:
        best = [score for score in choice.best if score.approach in winners and score.air_bytes]
        own = min(best, key=lambda score: score.air_bytes or 0.0) if best else choice.of(winner)
        for score in choice.scores:
            if own is not None and score.approach not in winners:
                others.setdefault(score.approach, []).append((own, score))
    sentences = []
    for approach, pairs in others.items():
        weak = [score for _, score in pairs if not score.dependable]
        if weak:
            worst = min(weak, key=lambda score: score.success * score.recall)
            sentences.append(
                f"{approach} is not dependable: {share(worst.success)} succeeds and {share(worst.recall)} arrives"
                + (f" in the worst of {len(pairs)} cases." if len(pairs) > 1 else ".")
            )
            continue
        ratios = [score.air_bytes / own.air_bytes for own, score in pairs if own.air_bytes and score.air_bytes]
        if ratios:
            sentences.append(f"{approach} sends {proportion(min(ratios), max(ratios), EQUAL)} over the air.")
    return sentences


def _tip(winners: Sequence[str], choice: Choice) -> Tip:
    """Whether the answer is still the answer in another scene; of several winners, whether one of them is."""
    still = [name for name in winners if name in choice.names]
    winner = still[0] if still else winners[0]
    own = choice.of(winner)
    if own is None:
        return Tip(choice.scene, False, f"{winner} has no result here")
    figures = f"{share(own.success)} succeeds, {share(own.recall)} arrives"
    if still and own.dependable:
        only = tuple(still) if len(still) < len(winners) else ()
        aside = f" with {listed(still, 'and')}" if only else ""
        return Tip(choice.scene, True, f"{figures}{aside}", only)
    if not own.dependable:
        better = [name for name in choice.names if name != winner] if choice.suffices else []
        instead = f"; {listed(better, 'or')} would do" if better else "; nothing else tried does better"
        return Tip(choice.scene, False, f"{figures}{instead}")
    return Tip(choice.scene, False, f"{figures}, but {listed(choice.names, 'or')} is better: {why(choice)}")


def why(choice: Choice) -> str:
    """What decided in this place."""
    chosen = choice.chosen
    if not chosen.dependable:
        return f"{share(chosen.success)} of operations succeed and {share(chosen.recall)} of notifications arrive"
    if len(choice.scores) == 1:
        return "the only one measured"
    if sum(score.dependable for score in choice.scores) == 1:
        return "the only dependable one"
    return f"it {choice.decided_by}" if choice.decided_by else "the others cannot be told apart from it"
