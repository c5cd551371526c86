"""What users may count on: operations end, and in a settled crowd they succeed; what was acknowledged is kept, found
and retrieved."""

from __future__ import annotations

from thyme.fuzz.case import Case, Judgement, ObjectCase, SubscriptionCase, Violation
from thyme.fuzz.observer import ObservedOperation
from thyme.fuzz.queries import is_true
from thyme.model.chunks import content_digest
from thyme.model.ids import ObjectKey
from thyme.model.objects import InStore, size_of
from thyme.model.records import OperationKind

ENDS_S = 60.0
"""An operation ends within this, with one outcome: four tries take 30 s. A retrieval may try many sources."""
SETTLED_S = 20.0
"""A crowd is settled when nothing happened for this long: a little more than a period of DSDV."""
ACKNOWLEDGED_S = 10.0
"""An insertion acknowledged this long before a subscription belongs to its past."""
FOUND_S = 45.0
"""Past matches are notified within this time, page after page."""
TOLD_S = 50.0
"""In a crowd that was settled for this long, every active subscription was notified of every live object."""
SENT_S = 10.0
"""A notification that is sent once has arrived or is lost after this."""
WALKERS_MISS = 0.1
"""Of a crowd that walks, this share of operations may fail and of matches may be missed, and one of each."""
_SERVED = (
    OperationKind.INSERT,
    OperationKind.DELETE,
    OperationKind.SUBSCRIBE,
    OperationKind.UNSUBSCRIBE,
    OperationKind.MORE,
)


def judge_services(case: Case) -> Judgement:
    for asked in case.evidence.asked:
        yield from _judge_end(case, asked)
        if asked.kind is OperationKind.RETRIEVE:
            yield from _judge_retrieval(case, asked)
    if case.keeps_everything:
        yield from _judge_serving(case)
        yield from _judge_finding(case)
        yield from _judge_telling(case)
        yield from _judge_keeping(case)


def _what(asked: ObservedOperation) -> str:
    return f"{asked.kind.value} of {asked.object or asked.subscription} by node {asked.node} at {asked.at_s:.2f} s"


def _judge_end(case: Case, asked: ObservedOperation) -> Judgement:
    if asked.refused:
        return
    by_s = asked.at_s + ENDS_S
    if asked.outcomes > 1:
        yield Violation("ends", asked.ended_s, f"{_what(asked)} had {asked.outcomes} outcomes")
    may_wait = asked.outcomes > 0 or asked.kind is OperationKind.RETRIEVE or by_s >= case.end_s
    if not may_wait and case.crowd.on_throughout(asked.node, asked.at_s, by_s):
        yield Violation("ends", by_s, f"{_what(asked)} never ended")


def _judge_retrieval(case: Case, asked: ObservedOperation) -> Judgement:
    assert asked.object is not None
    thing = case.objects.get(asked.object)
    if asked.refused or asked.failure is None or thing is None:
        return
    if asked.ok:
        data = thing.operation.content()
        end_s = thing.operation.end_s
        if end_s is not None and asked.at_s + case.evidence.skews_s[asked.node] > end_s:
            yield Violation("expired", asked.ended_s, f"{_what(asked)} succeeded; it ended at {end_s:.3f} s")
        if asked.data not in (data, InStore(len(data), content_digest(data))):
            yield Violation("retrieves", asked.ended_s, f"{_what(asked)} brought {size_of(asked.data)} other bytes")
        return
    if thing.ends_from_s <= asked.ended_s or (thing.deleted is not None and thing.deleted.at_s <= asked.ended_s):
        return
    if case.capabilities.delivers_contents:
        lifetime_s = case.settings.get("lifetime_s", 0.0)
        if not lifetime_s or asked.at_s < thing.published_s + lifetime_s:
            yield Violation(
                "retrieves", asked.ended_s, f"{_what(asked)}: {asked.failure}, though it came with the news"
            )
        return
    from_s = asked.at_s - SETTLED_S
    if not case.keeps_everything or not thing.inserted.ok or case.crowd.disturbed(from_s, asked.ended_s):
        return
    holders = set(asked.holders) & (case.servers or set(asked.holders))
    near = holders & case.crowd.joined(asked.node, from_s, asked.ended_s)
    if near:
        yield Violation("retrieves", asked.ended_s, f"{_what(asked)}: {asked.failure}, though {sorted(near)} have it")


def _judge_serving(case: Case) -> Judgement:
    judged, failed = 0, []
    for asked in case.evidence.asked:
        if asked.kind not in _SERVED or asked.refused or asked.failure is None:
            continue
        if asked.ok:
            judged += 1
        elif case.whole(asked.node, asked.at_s - SETTLED_S, asked.ended_s):
            judged += 1
            failed.append(Violation("serves", asked.ended_s, f"{_what(asked)}: {asked.failure}"))
    if failed and not _forgiven(case, judged, len(failed)):
        yield from failed


def _judge_finding(case: Case) -> Judgement:
    told: dict[tuple[object, ObjectKey], float] = {}
    for one in case.evidence.told:
        told.setdefault((one.subscription, one.object), one.at_s)
    judged, missed = 0, []
    for key, subscription in case.subscriptions.items():
        if not _searched_undisturbed(case, subscription):
            continue
        made_s = subscription.made.at_s
        for name, thing in case.objects.items():
            if _is_past_match(subscription, thing):
                judged += 1
                if told.get((key, name), case.end_s) > made_s + FOUND_S:
                    text = f"subscription {key} of {made_s:.2f} s was not told of {name}, in store since "
                    missed.append(Violation("finds", made_s + FOUND_S, f"{text}{thing.inserted.ended_s:.2f} s"))
    if missed and not _forgiven(case, judged, len(missed)):
        yield from missed


def _searched_undisturbed(case: Case, subscription: SubscriptionCase) -> bool:
    """Whether all nodes were on and connected while it was answered, no node had ever lost its store, and each
    requested page came.
    """
    made = subscription.made
    from_s, to_s = made.at_s - SETTLED_S, made.at_s + FOUND_S
    if not made.ok or to_s > case.end_s or case.crowd.forgot(0.0, to_s):
        return False
    if subscription.revoked is not None and subscription.revoked.at_s < to_s:
        return False
    if not _pages_came(case, subscription) or not case.crowd.all_on(from_s, to_s):
        return False
    return case.whole(made.node, from_s, to_s)


def _judge_telling(case: Case) -> Judgement:
    """At the end of a run that ends settled, every active subscription has been notified of every acknowledged,
    matching object that was not deleted, whichever came first, and whatever faults there were before. If notifications
    are not repeated, there must have been no fault and no switch when the later of the two came.
    """
    due_s = case.end_s - TOLD_S
    if case.crowd.forgot(0.0, case.end_s) or not case.crowd.all_on(due_s, case.end_s):
        return
    told = {(one.subscription, one.object) for one in case.evidence.told}
    judged, missed = 0, []
    for key, subscription in case.subscriptions.items():
        if not _stands_to_the_end(case, subscription, due_s):
            continue
        for name, thing in case.objects.items():
            inserted, made = thing.inserted, subscription.made
            gone = thing.deleted is not None or thing.ends_from_s <= case.end_s
            if gone or not inserted.ok or inserted.ended_s > due_s:
                continue
            matches = is_true(subscription.operation.query, thing.operation.tags)
            if not matches or not subscription.holds(thing.published_s):
                continue
            later_s = max(inserted.ended_s, made.ended_s)
            from_s = later_s - SETTLED_S
            troubled = case.crowd.disturbed(from_s, later_s + SENT_S) or case.crowd.switched(from_s, due_s)
            if troubled and case.notifies_once:
                continue
            judged += 1
            case.reached["object first" if inserted.at_s < made.at_s else "subscription first"] += 1
            if troubled:
                case.reached["due in a fault or a switch"] += 1
            if (key, name) not in told:
                text = f"subscription {key} of {made.at_s:.2f} s was never told of {name}, inserted at "
                missed.append(Violation("tells", case.end_s, f"{text}{inserted.at_s:.2f} s"))
    if missed and not _forgiven(case, judged, len(missed)):
        yield from missed


def _stands_to_the_end(case: Case, subscription: SubscriptionCase, due_s: float) -> bool:
    """Whether it was accepted in time, was not revoked, its frame is open, all pages came, and all can be reached."""
    made, frame_end_s = subscription.made, subscription.operation.end_s
    if not made.ok or made.ended_s > due_s or subscription.revoked is not None:
        return False
    if frame_end_s is not None and frame_end_s <= case.end_s:
        return False
    return _pages_came(case, subscription) and case.whole(made.node, due_s, case.end_s)


def _pages_came(case: Case, subscription: SubscriptionCase) -> bool:
    name = subscription.made.subscription
    pages = [one for one in case.evidence.asked if one.kind is OperationKind.MORE and one.subscription == name]
    return all(page.ok for page in pages)


def _is_past_match(subscription: SubscriptionCase, thing: ObjectCase) -> bool:
    made_s = subscription.made.at_s
    gone = thing.ends_from_s < made_s + FOUND_S or (thing.deleted is not None and thing.deleted.at_s < made_s + FOUND_S)
    if gone or not thing.inserted.ok or thing.inserted.ended_s > made_s - ACKNOWLEDGED_S:
        return False
    matches = is_true(subscription.operation.query, thing.operation.tags)
    return matches and subscription.holds(thing.published_s)


def _judge_keeping(case: Case) -> Judgement:
    """Some node, on or off, has each acknowledged object that was not deleted and has not ended, if no node ever lost
    its store."""
    if case.crowd.forgot(0.0, case.end_s):
        return
    for key, thing in case.objects.items():
        gone = thing.deleted is not None or thing.ends_from_s <= case.end_s
        if thing.inserted.ok and not gone and str(key) not in case.evidence.kept_anywhere:
            yield Violation("keeps", case.end_s, f"nobody has {key}, acknowledged at {thing.inserted.ended_s:.2f} s")


def _forgiven(case: Case, judged: int, failed: int) -> bool:
    return case.crowd.walks and (failed == 1 or failed <= WALKERS_MISS * judged)
