"""What stores may tell their users: only what matches, only within the frame, nothing twice, nothing deleted."""

from __future__ import annotations

from thyme.fuzz.case import Case, Judgement, ObjectCase, SubscriptionCase, Violation
from thyme.fuzz.queries import is_true
from thyme.fuzz.watch import Told
from thyme.model.ids import ObjectKey, SubscriptionKey

DELETED_S = 20.0
"""A subscription made so long after a deletion was acknowledged is not told of the object."""
RETURNED_S = 10.0
"""Whoever comes back with what was deleted meanwhile has so long to learn of it."""


def judge_tellings(case: Case) -> Judgement:
    seen: dict[tuple[SubscriptionKey, ObjectKey], Told] = {}
    for told in case.evidence.told:
        yield from _judge(case, told)
        first = seen.setdefault((told.subscription, told.object), told)
        if first is told:
            continue
        seen[(told.subscription, told.object)] = told
        if not case.undone(told.subscription.subscriber, first.at_s):
            text = f"subscription {told.subscription} was told of {told.object} again, first at {first.at_s:.2f} s"
            yield Violation("once", told.at_s, text)


def _judge(case: Case, told: Told) -> Judgement:
    who = f"subscription {told.subscription} was told of {told.object}"
    subscription, thing = case.subscriptions.get(told.subscription), case.objects.get(told.object)
    if subscription is None or subscription.made.refused:
        yield Violation("matches", told.at_s, f"{who}, but that subscription was refused or never made")
    elif thing is None or thing.inserted.refused:
        yield Violation("matches", told.at_s, f"{who}, whose insertion was refused or never asked for")
    else:
        yield from _judge_match(case, told, subscription, thing, who)
        yield from _judge_deleted(case, told, subscription, thing, who)


def _judge_match(case: Case, told: Told, subscription: SubscriptionCase, thing: ObjectCase, who: str) -> Judgement:
    operation, revoked = thing.operation, subscription.revoked
    if revoked is not None and not revoked.ok and case.undone(told.subscription.subscriber, revoked.at_s):
        revoked = None
    if (told.tags, told.size_bytes) != (tuple(sorted(operation.tags)), len(operation.content())):
        yield Violation("matches", told.at_s, f"{who} with tags {told.tags} and {told.size_bytes} bytes")
    if abs(told.published_s - thing.published_s) > 1e-9:
        yield Violation("matches", told.at_s, f"{who} as published at {told.published_s}, not {thing.published_s} s")
    if not is_true(subscription.operation.query, operation.tags):
        yield Violation("matches", told.at_s, f"{who}, tags {operation.tags}: not {subscription.operation.query!r}")
    if not subscription.holds(thing.published_s):
        frame = f"[{subscription.operation.start_s}, {subscription.operation.end_s})"
        yield Violation("frame", told.at_s, f"{who}, published at {thing.published_s:.3f} s, not in {frame}")
    if revoked is not None and not revoked.refused and told.at_s > revoked.at_s:
        yield Violation("matches", told.at_s, f"{who}, but unsubscribed at {revoked.at_s:.2f} s")


def _judge_deleted(case: Case, told: Told, subscription: SubscriptionCase, thing: ObjectCase, who: str) -> Judgement:
    deleted, made_s = thing.deleted, subscription.made.at_s
    if deleted is None or not deleted.ok or case.of_the_papers or made_s < deleted.ended_s + DELETED_S:
        return
    crowd, since_s = case.crowd, deleted.at_s
    if crowd.disturbed(since_s, told.at_s) or crowd.forgot(since_s, told.at_s):
        return
    if crowd.returned(made_s - RETURNED_S, told.at_s):
        return
    text = f"{who}, deleted at {deleted.ended_s:.2f} s; the subscription is of {made_s:.2f} s"
    yield Violation("deleted", told.at_s, text)
