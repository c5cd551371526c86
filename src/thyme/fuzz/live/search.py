"""Searching histories of live nodes for broken promises, and making a broken one smaller."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import product

import msgspec

from thyme.fuzz.live.histories import History, Start, draw_history
from thyme.fuzz.live.judge import judge
from thyme.fuzz.live.playing import Player

MAX_TRIES = 200
"""Smaller histories that are tried."""


class HistoryVerdict(msgspec.Struct, frozen=True):
    approach: str
    seed: int
    operations: int
    """Objects that were inserted, and subscriptions."""
    notices: int
    broken: list[str]
    states: dict[str, int]
    timeline: list[str]


def judge_history(history: History) -> HistoryVerdict:
    evidence = Player(history).play()
    broken = judge(history, evidence)
    notices = sum(evidence.notices.values())
    states: Counter[str] = evidence.states
    operations = len(evidence.objects) + len(evidence.subscriptions)
    return HistoryVerdict(history.approach, history.seed, operations, notices, broken, dict(states), evidence.timeline)


def search_histories(approaches: Iterable[str], seeds: range, jobs: int) -> Iterator[HistoryVerdict]:
    """The verdicts in order."""
    cases = list(product(approaches, seeds))
    if jobs < 2 or len(cases) < 2:
        yield from map(_judge_seed, cases)
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(_judge_seed, cases)


def smaller(history: History) -> tuple[History, HistoryVerdict]:
    """Leave out steps as long as a promise of the same kind stays broken."""
    verdict = judge_history(history)
    kinds = {_kind(text) for text in verdict.broken}
    size, tries = len(history.steps) // 2, 0
    while size and tries < MAX_TRIES and kinds:
        for first in range(0, len(history.steps), size):
            steps = history.steps[:first] + history.steps[first + size :]
            tried = msgspec.structs.replace(history, steps=steps)
            tries += 1
            found = judge_history(tried)
            if kinds & {_kind(text) for text in found.broken} and _all_start(tried):
                history, verdict = tried, found
                break
        else:
            size //= 2
    return history, verdict


def _all_start(history: History) -> bool:
    return sum(isinstance(step, Start) for step in history.steps) == history.nodes


def _kind(text: str) -> str:
    return text.partition(":")[0].strip("0123456789. ")


def _judge_seed(case: tuple[str, int]) -> HistoryVerdict:
    return judge_history(draw_history(*case))
