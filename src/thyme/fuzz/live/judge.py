"""The judge of histories of live nodes, in terms of what applications see.

When the network has been whole for `SETTLE_S`: every living object that was acknowledged before was notified to every
subscription that it matches, whichever came first, and is found; deleted objects are not found, nor notified to later
subscriptions; contents are equal. While nothing disturbs the crowd, and in the crowd that has recovered, operations
succeed, and objects are notified, within `PROMPT_S`. At the end, too, each was notified only once, unless a crash undid
the device's memory of it; nobody was notified of what its owner did not insert, or did not say of it; every node knows
all others, holds a bounded state, sends little, and shows the right time if most clocks are right. What a liar is told,
and what it says of itself, is not judged; nor is the time of a device that joined alone with a wrong clock, because
nobody could be reached: its time changes at half speed only.

The judge shares no code with nodes: queries are matched by its own rule, times are the simulation's.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from thyme.approaches.registry import find_approach
from thyme.fuzz.live.histories import ACTIVE_S, QUERIES, SETTLE_S, History
from thyme.fuzz.live.playing import END_S, HistoryEvidence, Inserted, LiveSubscription

MAX_OFF_S = 1.5
"""A crowd's time may be off by this much if most clocks are right."""
PROMPT_S = 1.0
"""A disk takes up to 0.1 s, several times, and a subscription waits for answers of others."""
KNOWN_S = 5.0
"""A subscription that is older is known to the crowd."""
MAX_IDLE_FRAMES_PER_S = 12.0
MAX_UNACKNOWLEDGED = 16
"""Messages and parcels of a node under way at the end."""
RECORDS_EACH = 2
"""Records that an operation, or a notification, may leave on a disk, …"""
RECORDS = 100
"""… beyond these."""
MAX_TIMERS = 40


def judge(history: History, evidence: HistoryEvidence) -> list[str]:
    """Which promises were broken, and how."""
    broken = [f"internal error: {text}" for text in evidence.failures]
    broken += _judge_notices(history, evidence)
    declared = find_approach(history.approach).capabilities
    if declared.stores and not declared.delivers_contents and not evidence.lost_server:
        if not declared.needs_server:  # a server's notifications go one way
            broken += _judge_lost(history, evidence, past=not declared.past_is_best_effort)
            broken += _judge_calm(history, evidence)
        if not declared.past_is_best_effort:
            broken += _judge_searches(history, evidence)
    broken += _judge_nodes(history, evidence)
    return broken


def _judge_lost(history: History, evidence: HistoryEvidence, *, past: bool) -> Iterator[str]:
    """`past`: whether what was inserted before a subscription counts."""
    liar = history.liar
    for one in sorted(evidence.subscriptions, key=lambda one: (one.node, one.sid)):
        for (name, owner), made in evidence.objects.items():
            if one.ended or not made.lives or liar in (one.node, owner) or not _matches(one, made):
                continue
            if owner not in history.crowd_of(one.node):
                continue
            assert made.acknowledged_s is not None
            if not past and made.acknowledged_s < one.at_s:
                continue
            due_s = max(ACTIVE_S, made.acknowledged_s, one.at_s) + SETTLE_S
            seen = evidence.early if due_s <= evidence.early_s else evidence.notices
            if due_s <= END_S and (one.node, one.sid, name, owner) not in seen:
                late = " in time" if (one.node, one.sid, name, owner) in evidence.notices else ""
                yield f"not notified{late}: node {one.node}, subscription {one.sid}, {name}@{owner}"


def _judge_calm(history: History, evidence: HistoryEvidence) -> Iterator[str]:
    """What is done while nothing disturbs the crowd is done, and seen by others, at once."""
    for asked in evidence.operations:
        if not history.calm(asked.begun_s - SETTLE_S, asked.begun_s + PROMPT_S):
            continue
        if asked.error or asked.ended_s is None or asked.ended_s > asked.begun_s + PROMPT_S:
            end = asked.error or (f"{asked.ended_s - asked.begun_s:.2f} s" if asked.ended_s is not None else "no end")
            yield f"disturbed by nothing: node {asked.node}, {asked.what}: {end}"
    for one in evidence.subscriptions:
        for (name, owner), made in evidence.objects.items():
            at_s, notified = made.acknowledged_s, (one.node, one.sid, name, owner)
            if at_s is None or one.ended or not made.lives or at_s < one.at_s + KNOWN_S or not _matches(one, made):
                continue
            if not history.calm(at_s - SETTLE_S, at_s + PROMPT_S) or not _is_fair(history, evidence, one.node, owner):
                continue
            late_s = evidence.first_s.get(notified, inf) - at_s
            if late_s > PROMPT_S:
                what = f"node {one.node}, subscription {one.sid}, {name}@{owner}"
                yield f"disturbed by nothing, notified after {late_s:.1f} s: {what}"


def _judge_notices(history: History, evidence: HistoryEvidence) -> Iterator[str]:
    yield from (f"notified of what its owner did not say: {text}" for text in evidence.altered)
    known = {(one.node, one.sid): one for one in evidence.subscriptions}
    for key, count in sorted(evidence.notices.items()):
        node, sid, name, owner = key
        if history.liar in (node, owner):
            continue
        made, one = evidence.objects.get((name, owner)), known.get((node, sid))
        what = f"node {node}, subscription {sid}, {name}@{owner}"
        if count > 1 + evidence.repeatable[key]:
            yield f"notified {count} times: {what}"
        if owner not in history.crowd_of(node):
            yield f"notified of what another version inserted: {what}"
        if made is None:
            yield f"notified of what nobody inserted: {what}"
        elif one is not None and not _matches(one, made):
            yield f"notified of what does not match: {what}"
        elif one is not None and made.deleted_s is not None and one.at_s >= max(ACTIVE_S, made.deleted_s) + SETTLE_S:
            yield f"notified of what was deleted: {what}"


def _judge_searches(history: History, evidence: HistoryEvidence) -> Iterator[str]:
    for node, found in sorted(evidence.found.items()):
        for (name, owner), made in evidence.objects.items():
            if made.again or not _is_fair(history, evidence, node, owner):
                continue
            there = (name, owner) in found
            if there and made.deleted_s is not None:
                yield f"deleted and found: node {node}, {name}@{owner}"
            early = made.lives and made.acknowledged_s is not None and made.acknowledged_s < ACTIVE_S
            if early and not there:
                yield f"not found: node {node}, {name}@{owner}"
    for node, found in sorted(evidence.found_again.items()):
        for (name, owner), made in evidence.objects.items():
            if not made.again or history.lie_s or not _is_fair(history, evidence, node, owner):
                continue
            there, gone = (name, owner) in found, made.deleted_s is not None
            if there == gone and (made.lives or gone):
                how = "deleted and found" if gone else "not found"
                yield f"disturbed by nothing, {how}: node {node}, {name}@{owner}"
    for (node, name, owner), content in sorted(evidence.contents.items()):
        if history.liar not in (node, owner) and content != evidence.objects[(name, owner)].content:
            yield f"not retrieved: node {node}, {name}@{owner}: {str(content)[:80]}"


def _judge_nodes(history: History, evidence: HistoryEvidence) -> Iterator[str]:
    most = RECORDS + RECORDS_EACH * (len(evidence.objects) + len(evidence.subscriptions) + len(evidence.notices))
    for node, remains in sorted(evidence.remains.items()):
        if node == history.liar:
            continue
        crowd = history.crowd_of(node)
        right = node not in evidence.astray and _mostly_right(history, evidence, node)
        if remains.peers != len(crowd) - 1:
            yield f"node {node} has {remains.peers} of {len(crowd) - 1} peers"
        if right and abs(evidence.off_s[node]) > MAX_OFF_S:
            yield f"the time of node {node} is {evidence.off_s[node]:.1f} s off"
        if evidence.idle_frames_per_s[node] > MAX_IDLE_FRAMES_PER_S:
            yield f"node {node} sends {evidence.idle_frames_per_s[node]:.1f} frames a second while idle"
        if remains.unacknowledged > MAX_UNACKNOWLEDGED:
            yield f"node {node} has {remains.unacknowledged} messages under way while idle"
        if remains.unfinished and history.liar < 0:
            yield f"node {node} holds {remains.unfinished} records of what should have ended"
        if remains.records > most or remains.timers > MAX_TIMERS:
            yield f"node {node} holds {remains.records} records and {remains.timers} timers"


def _mostly_right(history: History, evidence: HistoryEvidence, node: int) -> bool:
    """Whether most clocks of a node's crowd are right; else an object may be of its future."""
    crowd = history.crowd_of(node)
    return 2 * sum(one in evidence.wrong_clocks or one == history.liar for one in crowd) < len(crowd)


def _is_fair(history: History, evidence: HistoryEvidence, node: int, owner: int) -> bool:
    """Whether a node should find, at once, what another inserted: both are honest, of one version, and right."""
    if history.liar in (node, owner) or owner not in history.crowd_of(node) or evidence.astray & {node, owner}:
        return False
    return _mostly_right(history, evidence, node)


def _matches(one: LiveSubscription, made: Inserted) -> bool:
    _, wanted, unwanted = QUERIES[one.query]
    tags = set(made.tags)
    return any(tags.issuperset(some) for some in wanted) and not tags.intersection(unwanted)
