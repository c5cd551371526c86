"""What remains at the end: names stay used, nodes hold live objects only, and there is little traffic."""

from __future__ import annotations

from collections import Counter
from math import inf

from thyme.fuzz.case import Case, Judgement, ObjectCase, SubscriptionCase, Violation
from thyme.model.records import OperationKind

FORGOTTEN_S = 40.0
"""Deleted, revoked or expired state is gone after this time, at nodes that were on and settled throughout."""
QUIET_S = 20.0
"""How long traffic is counted, at the end of the run."""
QUIET_AFTER_S = 60.0
"""From this long after the last operation, switch or fault on, a crowd is quiet …"""
QUIET_FRAMES_PER_NODE_S = 1.0
"""… which is at most this many frames per node and second, without beacons and routing …"""
WALKING_FRAMES_PER_NODE_S = 5.0
"""… or this many if people walk, since nodes then transfer state from cell to cell …"""
WALKING_MPS = 6.0
"""… at up to this speed; faster nodes cross more cells, and may send proportionally more …"""
SMALL_PARTS = 2.0
"""… and this factor more if contents travel in the smallest parts: an object then has twelve times as many."""
_OBJECTS = ("objects", "metadata")


def judge_remains(case: Case) -> Judgement:
    if case.evidence.storm_s >= 0.0:
        yield Violation("quiet", case.evidence.storm_s, "the crowd sends without end")
        return
    for text in case.evidence.names_taken_again:
        yield Violation("names", case.end_s, text)
    calm_s = case.end_s - FORGOTTEN_S
    if not case.crowd.switched(calm_s, case.end_s) and not case.of_the_papers and not case.full_queues:
        for node in sorted(case.evidence.held):
            if case.whole(node, calm_s, case.end_s):
                yield from _judge_contents(case, node)
                yield from _judge_counts(case, node)
    yield from _judge_quiet(case)


def _judge_contents(case: Case, node: int) -> Judgement:
    """A retrieved copy stays with the node that retrieved it."""
    mine = [one for one in case.evidence.asked if one.kind is OperationKind.RETRIEVE and one.node == node]
    fetched = {str(one.object) for one in mine if one.ok}
    for key, thing in case.objects.items():
        deleted, here = thing.deleted, str(key) in case.evidence.held[node].contents
        if here and _has_ended(case, thing):
            yield Violation("forgets", case.end_s, f"node {node} still has {key}, ended at {thing.ended_s:.2f} s")
        elif here and deleted is not None and str(key) not in fetched and _is_forgotten(case, thing):
            text = f"node {node} still has {key}, deleted at {deleted.ended_s:.2f} s"
            found = Violation("forgets", case.end_s, text)
            yield from () if case.crowd.disturbed(deleted.at_s, case.end_s) else (found,)


def _judge_counts(case: Case, node: int) -> Judgement:
    counts = case.evidence.held[node].counts
    live = sum(_is_live(case, one) for one in case.subscriptions.values())
    if counts.get("subscriptions", 0) > live:
        text = f"node {node} holds {counts['subscriptions']} subscriptions; {live} are live in the whole crowd"
        yield Violation("bounded", case.end_s, text)
    stored = sum(not one.inserted.refused and not _is_forgotten(case, one) for one in case.objects.values())
    for name in _OBJECTS:
        if counts.get(name, 0) > stored:
            yield Violation("forgets", case.end_s, f"node {node} holds {counts[name]} {name}; {stored} are live")


def _is_forgotten(case: Case, one: ObjectCase) -> bool:
    """Whether no node should hold the object any more: it ended, or its deletion was acknowledged, long enough ago."""
    deleted_s = one.deleted.ended_s if one.deleted is not None and one.deleted.ok else inf
    return _has_ended(case, one) or deleted_s <= case.end_s - FORGOTTEN_S


def _has_ended(case: Case, one: ObjectCase) -> bool:
    return one.ended_s <= case.end_s - FORGOTTEN_S


def _is_live(case: Case, one: SubscriptionCase) -> bool:
    """Whether anybody may still hold the subscription: it was not refused, its revocation was not acknowledged by now,
    and its frame has not ended."""
    gone_s = case.end_s - FORGOTTEN_S
    if one.made.refused or (one.revoked is not None and one.revoked.ok and one.revoked.ended_s <= gone_s):
        return False
    end_s = one.operation.end_s
    return end_s is None or end_s > gone_s


def _judge_quiet(case: Case) -> Judgement:
    from_s = case.end_s - QUIET_AFTER_S
    last_s = max((one.at_s for one in case.evidence.asked), default=0.0)
    if last_s > from_s or case.crowd.disturbed(from_s, case.end_s) or case.crowd.switched(from_s, case.end_s):
        return
    late = [(sender, name) for at_s, sender, name in case.evidence.frames if at_s >= case.end_s - QUIET_S]
    each = QUIET_FRAMES_PER_NODE_S
    if case.crowd.walks:
        each = WALKING_FRAMES_PER_NODE_S * max(1.0, case.crowd.speed_mps / WALKING_MPS)
        each *= SMALL_PARTS if case.small_parts else 1.0
    most = each * QUIET_S * max(1, len(case.evidence.held))
    if len(late) > most:
        told = ", ".join(f"{count} {name}" for name, count in Counter(name for _, name in late).most_common(3))
        text = f"{len(late)} frames in the last {QUIET_S:g} s, {most:g} are allowed: {told}"
        yield Violation("quiet", case.end_s, text)
