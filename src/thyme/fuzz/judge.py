"""The judge: which promises a run broke.

It shares no code with the matching index, the oracle, the users or the pipeline: it reads queries and time frames from
the trace, and checks notifications, answers, stored contents and sent frames.

Every approach, whatever happens:

- `raises`: no exception reaches the event loop.
- `matches`: a store notifies only of objects that were inserted, unchanged, that satisfy the query, and only for a
  subscription that was accepted and not revoked on this device.
- `frame`: only of objects published within the time frame, by their owner's clock.
- `expired`: only of objects that have not ended by the device's clock, and none that had ended is retrieved.
- `once`: of each object once per subscription, also across restarts that keep the store; again if a crash came before
  the first notification was committed.
- `ends`: every operation that was not refused has exactly one outcome, within `ENDS_S` if its device stays on.
- `names`: a name or number that was acknowledged cannot be used again, and is refused at once.
- `retrieves`: retrieved bytes equal the inserted ones; contents that come with notifications (`delivers_contents`) can
  be read until their lifetime ends.
- `quiet`: `QUIET_AFTER_S` after the last operation, switch and fault, at most `QUIET_FRAMES_PER_NODE_S`, or
  `WALKING_FRAMES_PER_NODE_S` (more in proportion to speed above `WALKING_MPS`, and `SMALL_PARTS` times that where parts
  are small), beacons and routing apart.

Every approach but the papers' configuration of Thyme-DCS, which has no repair:

- `deleted`: a subscription made `DELETED_S` after a deletion was acknowledged is not notified of the object. Not
  judged if meanwhile a fault was in force or a node lost its store, or for `RETURNED_S` after a node came back.
- `forgets`: after `FORGOTTEN_S` in a settled crowd no node counts more metadata or objects than are live in the whole
  crowd, and none has contents that ended, or that were deleted unless it retrieved them. Not judged with full queues.
- `bounded`: nor does any count more subscriptions than are live: accepted, their revocation not acknowledged, their
  frame not ended.

ES, LS, DCS and walks, which promise to store (not the papers' configuration, nor with one request at a time, full
queues or publishers that keep one object):

- `serves`: in a settled crowd, every operation succeeds.
- `finds`: a subscription to the past is notified within `FOUND_S` of every object acknowledged `ACKNOWLEDGED_S` before,
  if all nodes are on, none ever lost its store, and all pages came.
- `tells`: at the end of a run that was settled for its last `TOLD_S`, with all nodes on, every active subscription was
  notified of every acknowledged, live and matching object, whichever came first, if no node ever lost its store and all
  pages came. Thyme-LS without `telling.sure`, whose notifications are sent once as in its paper, does not promise it of
  what came within `SETTLED_S` after a fault or a switch, or before one.
- `keeps`: some node has each acknowledged object, if no node ever lost its store.
- `retrieves`: a retrieval succeeds if a connected node had the content throughout (in ES, a server), over links that
  lasted from `SETTLED_S` before the request.

A crowd is settled over a time span if no fault was in force, no node was switched on or off, and links that lasted the
whole span, and `SETTLED_S` before, connect all nodes that are on. Where people walk, `WALKERS_MISS` of `serves` and
`finds` are forgiven.
"""

from __future__ import annotations

from thyme.fuzz.case import Case, Judgement, ObjectCase, SubscriptionCase, Violation
from thyme.fuzz.observer import NotifiedOf
from thyme.fuzz.queries import is_true
from thyme.fuzz.remains import judge_remains
from thyme.fuzz.services import judge_services
from thyme.model.ids import ObjectKey, SubscriptionKey

PROMISES = (
    "raises",
    "matches",
    "frame",
    "expired",
    "once",
    "deleted",
    "ends",
    "serves",
    "finds",
    "tells",
    "keeps",
    "retrieves",
    "names",
    "forgets",
    "bounded",
    "quiet",
)
DELETED_S = 20.0
"""A subscription made this long after a deletion was acknowledged is not notified of the object."""
RETURNED_S = 10.0
"""A node that returns with objects that were deleted meanwhile has this long to learn of it."""


def judge(case: Case) -> list[Violation]:
    """The violations, by promise and time. After an exception nothing else is judged: the run is not whole."""
    evidence = case.evidence
    if evidence.broken:
        at_s = max((one.at_s for one in evidence.asked), default=0.0)
        return [Violation("raises", at_s, evidence.broken)]
    found = [*_judge_notifications(case)]
    if evidence.storm_s < 0.0:
        found += judge_services(case)
    found += judge_remains(case)
    return sorted(found, key=lambda one: (PROMISES.index(one.promise), one.at_s, one.text))


def _judge_notifications(case: Case) -> Judgement:
    """`matches`, `frame`, `expired`, `once` and `deleted`."""
    seen: dict[tuple[SubscriptionKey, ObjectKey], NotifiedOf] = {}
    for told in case.evidence.told:
        yield from _judge_one(case, told)
        first = seen.setdefault((told.subscription, told.object), told)
        if first is told:
            continue
        seen[(told.subscription, told.object)] = told
        if not case.undone(told.subscription.subscriber, first.at_s):
            text = f"subscription {told.subscription} was told of {told.object} again, first at {first.at_s:.2f} s"
            yield Violation("once", told.at_s, text)


def _judge_one(case: Case, told: NotifiedOf) -> Judgement:
    who = f"subscription {told.subscription} was told of {told.object}"
    subscription, thing = case.subscriptions.get(told.subscription), case.objects.get(told.object)
    if subscription is None or subscription.made.refused:
        yield Violation("matches", told.at_s, f"{who}, but that subscription was refused or never made")
    elif thing is None or thing.inserted.refused:
        yield Violation("matches", told.at_s, f"{who}, whose insertion was refused or never asked for")
    else:
        yield from _judge_match(case, told, subscription, thing, who)
        yield from _judge_deleted(case, told, subscription, thing, who)


def _judge_match(
    case: Case, told: NotifiedOf, subscription: SubscriptionCase, thing: ObjectCase, who: str
) -> Judgement:
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
    here_s = told.at_s + case.evidence.skews_s[told.subscription.subscriber]
    if operation.end_s is not None and here_s > operation.end_s:
        yield Violation("expired", told.at_s, f"{who}, which ended at {operation.end_s:.3f} s")
    if revoked is not None and not revoked.refused and told.at_s > revoked.at_s:
        yield Violation("matches", told.at_s, f"{who}, but unsubscribed at {revoked.at_s:.2f} s")


def _judge_deleted(
    case: Case, told: NotifiedOf, subscription: SubscriptionCase, thing: ObjectCase, who: str
) -> Judgement:
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
