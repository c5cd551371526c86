"""What the people of a random world do: a valid trace with every operation that a trace can hold.

Tags are few, so that much matches; in half of the worlds one tag is hot. Some worlds are wound up before they end:
everything is deleted and unsubscribed. Near the end a few people search the whole past (`census`), which shows what
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
Draft = tuple[float, dict[str, Any]]


def draw_operations(approach: str, draws: Random, nodes: int, from_s: float, to_s: float) -> list[Operation]:
    """Operations from `from_s` to `to_s`, numbered in time order."""
    capabilities = find_approach(approach).capabilities
    weights = [8.0 if tag == "a" else 1.0 for tag in TAGS] if draws.random() < 0.5 else [1.0] * len(TAGS)
    winds_up = draws.random() < 0.3
    last_s = from_s + (to_s - from_s) * (0.7 if winds_up else 0.85)
    drafts: list[Draft] = []
    for number in range(draws.randint(6, 30)):
        drafts += _object(draws, number, nodes, from_s, last_s, to_s, weights, capabilities.deletes, winds_up)
    for number in range(draws.randint(3, 16)):
        ends_s = to_s if winds_up else None
        drafts += _subscription(draws, number, nodes, from_s, last_s, to_s, weights, ends_s)
    if capabilities.answers_past:
        for number in range(CENSUSES):
            at_s = draws.uniform(last_s, to_s)
            search = {"kind": OperationKind.SUBSCRIBE, "node": draws.randrange(nodes), "sid": 1_000 + number}
            drafts.append((at_s, {**search, "query": " | ".join(TAGS), "end_s": at_s}))
    return in_order(drafts)


def in_order(drafts: list[Draft]) -> list[Operation]:
    """Operations as a trace has them: by time, numbered from 0."""
    ordered = sorted(drafts, key=lambda draft: draft[0])
    return [
        msgspec.convert({"operation": number, "at_s": at_s, **fields}, Operation)
        for number, (at_s, fields) in enumerate(ordered)
    ]


def _object(
    draws: Random,
    number: int,
    nodes: int,
    from_s: float,
    last_s: float,
    to_s: float,
    weights: list[float],
    deletes: bool,
    winds_up: bool,
) -> list[Draft]:
    node, at_s = NodeId(draws.randrange(nodes)), _instant(draws, from_s, last_s)
    tags = sorted(set(draws.choices(TAGS, weights, k=draws.choice((1, 2, 3)))))
    name = {"node": node, "oid": f"o{number}"}
    content = draws.choice(({"text": "x" * 10}, {"text": "y" * 200}, {"size_bytes": 3_000}, {"summary_bytes": 100}))
    drafts: list[Draft] = [(at_s, {"kind": OperationKind.INSERT, **name, "tags": tags, **content})]
    if winds_up or draws.random() < 0.3:
        gone_s = draws.uniform(last_s, to_s) if draws.random() < 0.5 else at_s + draws.uniform(0.01, 20.0)
        if deletes or draws.random() < 0.05:
            drafts.append((min(max(gone_s, at_s), to_s), {"kind": OperationKind.DELETE, **name}))
    return drafts


def _subscription(
    draws: Random,
    number: int,
    nodes: int,
    from_s: float,
    last_s: float,
    to_s: float,
    weights: list[float],
    ends_s: float | None,
) -> list[Draft]:
    node, at_s = NodeId(draws.randrange(nodes)), _instant(draws, from_s, last_s)
    frames = {"always": (None, None), "future": (at_s, None), "past": (None, at_s), "soon": (at_s - 15.0, at_s + 15.0)}
    frames |= {"gone": (at_s - 20.0, at_s - 5.0), "later": (at_s + 5.0, at_s + 25.0), "empty": (at_s, at_s)}
    kinds = ("always", "always", "future", "future", "past", "past", "soon", "gone", "later", "empty")
    start_s, end_s = frames[draws.choice(kinds)]
    name = {"node": node, "sid": number}
    asked = {"kind": OperationKind.SUBSCRIBE, **name, "query": _query(draws, weights)}
    if start_s is not None:
        asked["start_s"] = start_s
    if end_s is not None:
        asked["end_s"] = end_s
    drafts: list[Draft] = [(at_s, asked)]
    if ends_s is not None or draws.random() < 0.25:
        latest_s = to_s if ends_s is not None else min(to_s, at_s + 30.0)
        drafts.append((draws.uniform(at_s, latest_s), {"kind": OperationKind.UNSUBSCRIBE, **name}))
    return drafts


def _instant(draws: Random, from_s: float, to_s: float) -> float:
    """Anywhere, or within one second in the middle that many choose."""
    burst_s = (from_s + to_s) / 2
    return burst_s + draws.random() if draws.random() < 0.2 else draws.uniform(from_s, to_s)


def _query(draws: Random, weights: list[float]) -> str:
    if draws.random() < 0.03:
        return f"!{draws.choice(TAGS)}"
    conjunctions: list[str] = []
    for _ in range(draws.choice((1, 1, 1, 2, 3))):
        wanted = sorted(set(draws.choices(TAGS, weights, k=draws.choice((1, 1, 2)))))
        unwanted = [tag for tag in draws.sample(TAGS, draws.choice((0, 0, 1))) if tag not in wanted]
        conjunctions.append("(" + " & ".join(wanted + [f"!{tag}" for tag in unwanted]) + ")")
    return " | ".join(conjunctions)
