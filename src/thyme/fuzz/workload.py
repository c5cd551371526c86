"""What the people of a random world do: a valid trace with every operation that a trace can hold.

Tags are few, so that much matches; in half of the worlds one tag is hot. Some worlds are wound up before they end:
everything is deleted and unsubscribed. Near the end a few people search the whole past, which shows what
was lost. Retrievals and requests for more follow from notifications.
"""

from __future__ import annotations

from random import Random
from typing import Any

import msgspec

from thyme.approaches.registry import find_approach
from thyme.model.ids import NodeId
from thyme.model.operations import Operation
from thyme.model.records import OperationKind

TAGS = ("a", "b", "c", "d", "e")
CENSUSES = 2
SOONEST_END_S = 5.0
"""After its insertion an object lasts at least so long: more than clocks differ by."""
Draft = tuple[float, dict[str, Any]]


class _Plan(msgspec.Struct, frozen=True):
    """What one world's people have in common: operations begin at `from_s`, nothing new after `last_s`."""

    nodes: int
    from_s: float
    last_s: float
    to_s: float
    weights: tuple[float, ...]
    deletes: bool
    winds_up: bool


def draw_operations(approach: str, draws: Random, nodes: int, from_s: float, to_s: float) -> list[Operation]:
    """Operations from `from_s` to `to_s`, numbered in time order."""
    capabilities = find_approach(approach).capabilities
    hot = draws.random() < 0.5
    winds_up = draws.random() < 0.3
    last_s = from_s + (to_s - from_s) * (0.7 if winds_up else 0.85)
    weights = tuple(8.0 if hot and tag == TAGS[0] else 1.0 for tag in TAGS)
    plan = _Plan(nodes, from_s, last_s, to_s, weights, capabilities.deletes, winds_up)
    drafts: list[Draft] = []
    for number in range(draws.randint(6, 30)):
        drafts += _object(draws, number, plan)
    for number in range(draws.randint(3, 16)):
        drafts += _subscription(draws, number, plan)
    if capabilities.answers_past:
        for number in range(CENSUSES):
            at_s = round(draws.uniform(last_s, to_s), 3)
            search = {"kind": OperationKind.SUBSCRIBE, "node": draws.randrange(nodes), "sid": 1_000 + number}
            drafts.append((at_s, {**search, "query": " | ".join(TAGS), "end_s": at_s}))
    return in_order(drafts)


def draw_ends(operations: list[Operation], draws: Random, to_s: float) -> list[Operation]:
    """In some worlds a share of the objects expires, soon or late. Drawn apart: otherwise worlds stay as they were."""
    share = draws.choice((0.0, 0.0, 0.3, 0.8))
    ending: list[Operation] = []
    for one in operations:
        if one.kind is OperationKind.INSERT and draws.random() < share:
            end_s = one.at_s + SOONEST_END_S + draws.choice((0.0, 1.0)) * draws.uniform(0.0, to_s - one.at_s)
            one = msgspec.structs.replace(one, end_s=round(end_s, 3))
        ending.append(one)
    return ending


def in_order(drafts: list[Draft]) -> list[Operation]:
    """Operations as a trace has them: by time, numbered from 0."""
    ordered = sorted(drafts, key=lambda draft: draft[0])
    return [
        msgspec.convert({"operation": number, "at_s": at_s, **fields}, Operation)
        for number, (at_s, fields) in enumerate(ordered)
    ]


def _object(draws: Random, number: int, plan: _Plan) -> list[Draft]:
    node, at_s = NodeId(draws.randrange(plan.nodes)), _instant(draws, plan)
    tags = sorted(set(draws.choices(TAGS, plan.weights, k=draws.choice((1, 2, 3)))))
    name = {"node": node, "oid": f"o{number}"}
    content = draws.choice(({"size_bytes": 10}, {"size_bytes": 200}, {"size_bytes": 3_000}, {"summary_bytes": 100}))
    drafts: list[Draft] = [(at_s, {"kind": OperationKind.INSERT, **name, "tags": tags, **content})]
    if plan.winds_up or draws.random() < 0.3:
        gone_s = draws.uniform(plan.last_s, plan.to_s) if draws.random() < 0.5 else at_s + draws.uniform(0.01, 20.0)
        if plan.deletes or draws.random() < 0.05:
            drafts.append((round(min(max(gone_s, at_s), plan.to_s), 3), {"kind": OperationKind.DELETE, **name}))
    return drafts


def _subscription(draws: Random, number: int, plan: _Plan) -> list[Draft]:
    node, at_s = NodeId(draws.randrange(plan.nodes)), _instant(draws, plan)
    start_s, end_s = _frame(draws, at_s)
    name = {"node": node, "sid": number}
    asked = {"kind": OperationKind.SUBSCRIBE, **name, "query": _query(draws, plan.weights)}
    asked |= {} if start_s is None else {"start_s": round(start_s, 3)}
    asked |= {} if end_s is None else {"end_s": round(end_s, 3)}
    drafts: list[Draft] = [(at_s, asked)]
    if plan.winds_up or draws.random() < 0.25:
        latest_s = plan.to_s if plan.winds_up else min(plan.to_s, at_s + 30.0)
        drafts.append((round(draws.uniform(at_s, latest_s), 3), {"kind": OperationKind.UNSUBSCRIBE, **name}))
    return drafts


def _frame(draws: Random, at_s: float) -> tuple[float | None, float | None]:
    """Everything, the future, the past, around now, gone by, to come, or no instant at all."""
    frames = ((None, None), (at_s, None), (None, at_s), (at_s - 15.0, at_s + 15.0))
    rare = ((at_s - 20.0, at_s - 5.0), (at_s + 5.0, at_s + 25.0), (at_s, at_s))
    return draws.choice((*frames, *frames, *rare))


def _instant(draws: Random, plan: _Plan) -> float:
    """Anywhere, or within one second in the middle that many choose."""
    if draws.random() < 0.2:
        return round((plan.from_s + plan.last_s) / 2 + draws.random(), 3)
    return round(draws.uniform(plan.from_s, plan.last_s), 3)


def _query(draws: Random, weights: tuple[float, ...]) -> str:
    if draws.random() < 0.03:
        return f"!{draws.choice(TAGS)}"
    conjunctions: list[str] = []
    for _ in range(draws.choice((1, 1, 1, 2, 3))):
        wanted = sorted(set(draws.choices(TAGS, weights, k=draws.choice((1, 1, 2)))))
        unwanted = [tag for tag in draws.sample(TAGS, draws.choice((0, 0, 1))) if tag not in wanted]
        conjunctions.append("(" + " & ".join(wanted + [f"!{tag}" for tag in unwanted]) + ")")
    return " | ".join(conjunctions)
