"""Worlds in which subscribers were not notified of all that matches (`notified/`), each judged by itself.

Every operation must succeed, and every object that is never deleted must be notified to every subscription that it
matches, whenever either was made. Where people leave, one who stays has a copy of each object.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from thyme.model.frames import TimeFrame
from thyme.model.ids import SubscriptionKey
from thyme.model.operations import Operation
from thyme.model.queries import parse_query
from thyme.model.records import OperationKind
from thyme.model.subscriptions import Subscription
from thyme.sim.run import simulate
from thyme.sim.scenario import load_scenario
from thyme.sim.traces import read_trace

FOLDER = Path(__file__).parent / "notified"
UNSUBSCRIBING_S = 1.0
"""What is inserted so shortly before a subscription is revoked may be notified or not."""


def expected(operations: list[Operation]) -> set[tuple[int, str, str]]:
    deleted = {(o.node, o.oid) for o in operations if o.kind is OperationKind.DELETE}
    ends = {(o.node, o.sid): o.at_s for o in operations if o.kind is OperationKind.UNSUBSCRIBE}
    pairs: set[tuple[int, str, str]] = set()
    for asked in operations:
        if asked.kind is not OperationKind.SUBSCRIBE:
            continue
        query = Subscription.to_query(
            SubscriptionKey(asked.sid, asked.node), parse_query(asked.query), TimeFrame.always()
        )
        start_s = asked.start_s if asked.start_s is not None else 0.0
        end_s = asked.end_s if asked.end_s is not None else float("inf")
        end_s = min(end_s, ends.get((asked.node, asked.sid), float("inf")) - UNSUBSCRIBING_S)
        for made in operations:
            if made.kind is OperationKind.INSERT and (made.node, made.oid) not in deleted:
                tags = set(made.tags)
                alike = any(tags.issuperset(c.positive) and tags.isdisjoint(c.negative) for c in query.conjunctions)
                if alike and start_s < made.at_s < end_s:
                    pairs.add((asked.node, f"{asked.sid}@{asked.node}", f"{made.oid}@{made.node}"))
    return pairs


@pytest.mark.parametrize("name", sorted(folder.name for folder in FOLDER.iterdir()))
def test_every_subscriber_is_notified_of_all_that_matches(name: str) -> None:
    scenario = load_scenario(FOLDER / name / "scenario.toml")
    operations = list(read_trace(FOLDER / name / scenario.trace))
    events = simulate(scenario, operations).events.to_pylist()
    succeeded = {event["operation"] for event in events if event["kind"] == "succeeded"}
    told = {(e["node"], e["subscription"], e["object"]) for e in events if e["kind"] == "notified"}
    assert [o for o in operations if o.operation not in succeeded] == []
    assert sorted(expected(operations) - told) == []
