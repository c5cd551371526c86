"""Searching histories of live nodes for broken promises, and making a broken one smaller.

Promises are in terms of what applications see. The judge shares no code with nodes: queries are matched by its own
rule, times are the simulation's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import product

import msgspec

from thyme.fuzz.live.histories import QUERIES, History, draw_history
from thyme.fuzz.live.playing import Evidence, Inserted, Player, Subscribed

MAX_TRIES = 200
"""Smaller histories that are tried."""
MAX_OFF_S = 1.5
"""A crowd's time may be off by this much if most clocks are right."""
MAX_IDLE_FRAMES_PER_S = 12.0


class HistoryVerdict(msgspec.Struct, frozen=True):
    approach: str
    seed: int
    steps: int
    notices: int
    broken: list[str]
    states: dict[str, int]
    timeline: list[str]


def judge_history(history: History) -> HistoryVerdict:
    evidence = Player(history).play()
    broken = judge(history, evidence)
    notices = sum(evidence.notices.values())
    states: Counter[str] = evidence.states
    return HistoryVerdict(
        history.approach, history.seed, len(history.steps), notices, broken, dict(states), evidence.timeline
    )


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
    return sum(step.what == "start" for step in history.steps) == history.nodes


def _kind(text: str) -> str:
    return text.partition(":")[0].strip("0123456789. ")


def _judge_seed(case: tuple[str, int]) -> HistoryVerdict:
    return judge_history(draw_history(*case))


def judge(history: History, evidence: Evidence) -> list[str]:
    """Which promises were broken, and how."""
    broken = [f"internal error: {text}" for text in evidence.failures]
    known = {(one.node, one.sid): one for one in evidence.subscriptions}
    broken += _lost(evidence, known)
    for (node, sid, name, owner), count in sorted(evidence.notices.items()):
        made, one = evidence.objects.get((name, owner)), known.get((node, sid))
        what = f"node {node}, subscription {sid}, {name}@{owner}"
        if count > 1:
            broken.append(f"notified {count} times: {what}")
        if made is None or (one is not None and not _matches(one, made)):
            broken.append(f"notified of what does not match: {what}")
    for node, found in sorted(evidence.found.items()):
        gone = [key for key in sorted(found) if key in evidence.objects and evidence.objects[key].deleted]
        broken += [f"deleted and found: node {node}, {name}@{owner}" for name, owner in gone]
        living = [key for key, made in evidence.objects.items() if made.acknowledged and not made.deletion_begun]
        broken += [f"not found: node {node}, {name}@{owner}" for name, owner in living if (name, owner) not in found]
    for (node, name, owner), content in sorted(evidence.contents.items()):
        if content != evidence.objects[(name, owner)].content:
            broken.append(f"not retrieved: node {node}, {name}@{owner}: {str(content)[:80]}")
    right = 2 * evidence.wrong_clocks < history.nodes
    for node in range(history.nodes):
        if evidence.peers.get(node) != history.nodes - 1:
            broken.append(f"node {node} has {evidence.peers.get(node)} of {history.nodes - 1} peers")
        if right and abs(evidence.off_s.get(node, 0.0)) > MAX_OFF_S:
            broken.append(f"the time of node {node} is {evidence.off_s[node]:.1f} s off")
        if evidence.idle_frames_per_s.get(node, 0.0) > MAX_IDLE_FRAMES_PER_S:
            broken.append(f"node {node} sends {evidence.idle_frames_per_s[node]:.1f} frames a second while idle")
    return broken


def _lost(evidence: Evidence, known: dict[tuple[int, int], Subscribed]) -> list[str]:
    lost = []
    for (node, sid), one in sorted(known.items()):
        for (name, owner), made in evidence.objects.items():
            due = made.acknowledged and not made.deletion_begun and not one.ended and _matches(one, made)
            if due and not evidence.notices[(node, sid, name, owner)]:
                lost.append(f"not notified: node {node}, subscription {sid}, {name}@{owner}")
    return lost


def _matches(one: Subscribed, made: Inserted) -> bool:
    _, wanted, unwanted = QUERIES[one.query]
    tags = set(made.tags)
    return any(tags.issuperset(some) for some in wanted) and not tags.intersection(unwanted)
