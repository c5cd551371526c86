"""What the users of an emulated crowd do: subscribe to what some care about, and share things, at random but seeded.

Tags are as unequal as people's interests are: the second is half as frequent as the first, the third a third.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import msgspec

from thyme.model.ids import NodeId
from thyme.model.operations import Operation
from thyme.model.records import OperationKind
from thyme.model.settings.bounds import NotNegative, Positive

TAGS = ("goal", "crowd", "portugal", "france", "replay", "save", "corner", "card", "final", "anthem")


class WorkloadOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    duration_s: Positive = 60.0
    inserts_per_s: Positive = 2.0
    """Of the whole crowd."""
    size_bytes: int = 20_000
    deletes: NotNegative = 0.05
    """Part of the objects that their owners delete before the end."""
    settle_s: NotNegative = 3.0
    """Between the subscriptions, which come first, and what is shared."""


def operations_of(options: WorkloadOptions, nodes: int, begin_s: float, seed: int) -> list[Operation]:
    """The trace, in order of time, from `begin_s` on."""
    random = Random(f"{seed}/workload")
    planned: list[Operation] = []
    for node in range(nodes):
        at_s = begin_s + random.uniform(0.0, options.settle_s / 2.0)
        wanted, unwanted = _tags(random, 2)
        query = wanted if random.random() < 0.7 else f"{wanted} & !{unwanted}"
        start_s = None if random.random() < 0.3 else at_s
        planned.append(Operation(0, at_s, NodeId(node), OperationKind.SUBSCRIBE, sid=0, query=query, start_s=start_s))
    at_s, count = begin_s + options.settle_s, 0
    while (at_s := at_s + random.expovariate(options.inserts_per_s)) < begin_s + options.duration_s:
        node, count = NodeId(random.randrange(nodes)), count + 1
        tags = tuple(sorted(_tags(random, random.randint(1, 3))))
        size_bytes = max(1, round(options.size_bytes * random.lognormvariate(-0.5, 1.0)))
        planned.append(
            Operation(0, at_s, node, OperationKind.INSERT, oid=f"photo{count}", tags=tags, size_bytes=size_bytes)
        )
        if random.random() < options.deletes:
            gone_s = random.uniform(at_s, begin_s + options.duration_s)
            planned.append(Operation(0, gone_s, node, OperationKind.DELETE, oid=f"photo{count}"))
    planned.sort(key=lambda each: each.at_s)
    return [msgspec.structs.replace(each, operation=number) for number, each in enumerate(planned)]


def _tags(random: Random, count: int) -> Sequence[str]:
    """Different ones, the frequent ones more often."""
    chosen: dict[str, None] = {}
    weights = [1.0 / (rank + 1) for rank in range(len(TAGS))]
    while len(chosen) < count:
        chosen[random.choices(TAGS, weights)[0]] = None
    return list(chosen)
