"""The search: many worlds, played and judged in several processes, and the smallest of each kind that breaks a promise.

What a world shows depends on its approach and seed alone, so a search is repeated, cut and continued at will.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TypeVar

import msgspec

from thyme.fuzz.case import Case, Violation
from thyme.fuzz.judge import PROMISES, judge
from thyme.fuzz.play import play
from thyme.fuzz.shrink import shrink
from thyme.fuzz.worlds import World, draw_world

Given = TypeVar("Given")
Answer = TypeVar("Answer")


class Verdict(msgspec.Struct, frozen=True):
    """What one world showed."""

    approach: str
    seed: int
    operations: int
    """Asked for, retrievals and requests for more included."""
    told: int
    violations: tuple[Violation, ...]
    reached: dict[str, int] = {}
    """Pairs of a subscription and an object that were judged to the end of the run, by which came first and whether a
    fault or a switch was in the way."""

    def breaks(self) -> tuple[str, ...]:
        """The promises that were broken, in their order."""
        broken = {violation.promise for violation in self.violations}
        return tuple(promise for promise in PROMISES if promise in broken)


class BrokenPromise(msgspec.Struct, frozen=True):
    """A promise broken in one world, and the small world that shows it."""

    approach: str
    promise: str
    seed: int
    world: World
    violations: tuple[Violation, ...]


def judge_world(world: World) -> Verdict:
    evidence = play(world)
    case = Case(world, evidence)
    violations = tuple(judge(case))
    approach, seed = world.given["approach"], world.given["seed"]
    return Verdict(approach, seed, len(evidence.asked), len(evidence.told), violations, dict(case.reached))


def judge_seed(which: tuple[str, int]) -> Verdict:
    return judge_world(draw_world(*which))


def shrink_finding(which: tuple[str, int, str]) -> BrokenPromise:
    """The small world of one that breaks a promise."""
    approach, seed, promise = which

    def breaks(world: World) -> bool:
        return promise in judge_world(world).breaks()

    world = shrink(draw_world(approach, seed), breaks)
    violations = tuple(one for one in judge_world(world).violations if one.promise == promise)
    return BrokenPromise(approach, promise, seed, world, violations)


def search(approaches: Sequence[str], seeds: Iterable[int], jobs: int) -> Iterator[Verdict]:
    """The verdict of every approach and seed, in their order."""
    yield from _in_processes(judge_seed, [(approach, seed) for approach in approaches for seed in seeds], jobs)


def smallest(verdicts: Iterable[Verdict], jobs: int) -> Iterator[BrokenPromise]:
    """For each promise that an approach broke, the first world that showed it, shrunk."""
    first: dict[tuple[str, str], int] = {}
    for verdict in verdicts:
        for promise in verdict.breaks():
            first.setdefault((verdict.approach, promise), verdict.seed)
    which = [(approach, seed, promise) for (approach, promise), seed in first.items()]
    yield from _in_processes(shrink_finding, which, jobs)


def table_of(verdicts: Sequence[Verdict]) -> list[dict[str, int | str]]:
    """By approach: worlds, operations, and in how many worlds each promise was broken."""
    rows: list[dict[str, int | str]] = []
    for approach in dict.fromkeys(verdict.approach for verdict in verdicts):
        own = [verdict for verdict in verdicts if verdict.approach == approach]
        broken = Counter(promise for verdict in own for promise in verdict.breaks())
        row: dict[str, int | str] = {"approach": approach, "worlds": len(own)}
        row["operations"] = sum(verdict.operations for verdict in own)
        row["broken"] = sum(bool(verdict.violations) for verdict in own)
        rows.append(row | {promise: broken[promise] for promise in PROMISES})
    return rows


def reached_by(verdicts: Sequence[Verdict]) -> dict[str, Counter[str]]:
    """By approach: how often each state was reached."""
    reached: dict[str, Counter[str]] = {}
    for verdict in verdicts:
        reached.setdefault(verdict.approach, Counter()).update(verdict.reached)
    return reached


def _in_processes(work: Callable[[Given], Answer], given: Sequence[Given], jobs: int) -> Iterator[Answer]:
    if jobs <= 1:
        yield from map(work, given)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        yield from pool.map(work, given)
