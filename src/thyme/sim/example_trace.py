"""A small trace to begin with: some ask for a tag, others post about it, within a minute."""

from __future__ import annotations

from random import Random

from thyme.model.errors import InputError
from thyme.model.ids import NodeId
from thyme.model.operations import Operation
from thyme.model.records import OperationKind

TAGS = ("goal", "food", "music")
FIRST_S, ASKED_S, LAST_S = 62.0, 75.0, 112.0
"""All have joined by the first; most ask before the posts come."""
MIN_USERS = 2


def example_operations(users: int, seed: int = 1) -> list[Operation]:
    """A third of the users ask for a tag each, and everybody posts once."""
    if users < MIN_USERS:
        raise InputError(f"users is {users}; expected at least {MIN_USERS}")
    draws = Random(f"{seed}/example trace")
    drawn: list[tuple[float, int, str]] = []
    for node in range(users):
        if node % 3 == 0:
            drawn.append((round(draws.uniform(FIRST_S, ASKED_S), 3), node, "ask"))
        drawn.append((round(draws.uniform(FIRST_S, LAST_S), 3), node, "post"))
    found = []
    for number, (at_s, node, what) in enumerate(sorted(drawn)):
        tag = draws.choice(TAGS)
        if what == "ask":
            found.append(Operation(number, at_s, NodeId(node), OperationKind.SUBSCRIBE, sid=0, query=tag))
        else:
            text = f"{tag}, seen by {node}"
            insert = Operation(number, at_s, NodeId(node), OperationKind.INSERT, oid="first", tags=(tag,), text=text)
            found.append(insert)
    return found
