"""Small random worlds, as traces, and what the matching index makes of them."""

from __future__ import annotations

from random import Random

from thyme.model.ids import NodeId
from thyme.model.matching import MatchingIndex
from thyme.model.objects import Metadata
from thyme.model.operations import Operation
from thyme.model.queries import parse_query
from thyme.model.records import OperationKind
from thyme.model.subscriptions import Subscription

TAGS = ("a", "b", "c", "d")
QUERIES = (
    "a",
    "b",
    "c",
    "d",
    "a & b",
    "a | b",
    "a & !b",
    "!a",
    "!a & !b",
    "a & (b | !c)",
    "(a | b) & (c | d)",
    "d | !d & a",
)


def random_world(seed: int, operations: int = 24) -> list[Operation]:
    """A valid trace in which many operations share an instant and frames lie anywhere."""
    random = Random(seed)
    times = sorted(float(random.randrange(8)) for _ in range(operations))
    trace: list[Operation] = []
    objects: list[tuple[str, int]] = []
    standing: list[tuple[int, int]] = []
    for number, at_s in enumerate(times):
        node = NodeId(random.randrange(2))
        kind = random.choices(["insert", "subscribe", "delete", "unsubscribe"], [5, 4, 2, 1])[0]
        if kind == "delete" and objects:
            oid, owner = objects.pop(random.randrange(len(objects)))
            trace.append(Operation(number, at_s, NodeId(owner), OperationKind.DELETE, oid=oid))
        elif kind == "unsubscribe" and standing:
            sid, owner = standing.pop(random.randrange(len(standing)))
            trace.append(Operation(number, at_s, NodeId(owner), OperationKind.UNSUBSCRIBE, sid=sid))
        elif kind == "subscribe":
            start_s, end_s = _frame(random, at_s)
            query = random.choice(QUERIES)
            standing.append((number, node))
            trace.append(
                Operation(
                    number, at_s, node, OperationKind.SUBSCRIBE, sid=number, query=query, start_s=start_s, end_s=end_s
                )
            )
        else:
            tags = tuple(sorted(random.sample(TAGS, random.randint(1, 3))))
            objects.append((f"o{number}", node))
            trace.append(Operation(number, at_s, node, OperationKind.INSERT, oid=f"o{number}", tags=tags))
    return trace


def _frame(random: Random, at_s: float) -> tuple[float | None, float | None]:
    low, high = sorted(random.choices(range(-1, 10), k=2))
    choices: list[tuple[float | None, float | None]] = [
        (None, None),
        (at_s, None),
        (None, at_s),
        (None, float(high)),
        (float(low), None),
        (float(low), float(high)),
    ]
    return random.choice(choices)


def notified(trace: list[Operation]) -> set[tuple[str, str]]:
    """⟨subscription, object⟩ pairs that the matching index gives when it plays the trace."""
    index = MatchingIndex()
    pairs: set[tuple[str, str]] = set()
    for operation in trace:
        match operation.kind:
            case OperationKind.INSERT:
                metadata = Metadata(operation.object_key, operation.tags, b"", operation.at_s, 0)
                pairs |= {(str(one.key), str(metadata.key)) for one in index.insert(metadata)}
            case OperationKind.DELETE:
                index.delete(operation.object_key)
            case OperationKind.SUBSCRIBE:
                query = parse_query(operation.query)
                subscription = Subscription.to_query(operation.subscription_key, query, operation.frame)
                batch = index.subscribe(subscription, 1_000)
                pairs |= {(str(subscription.key), str(one.key)) for one in batch.matches}
            case OperationKind.UNSUBSCRIBE:
                index.unsubscribe(operation.subscription_key)
            case _:
                raise AssertionError(operation.kind)
    return pairs
