"""The judge: which promises a run broke.

It shares no code with the matching index, the oracle, the users or the pipeline: it reads queries and frames by itself
from the trace, and looks at what stores told, what they answered, what nodes held and what was sent.

Every approach, whatever happens:

- `raises`: no exception reaches the event loop.
- `matches`: a store tells only of objects that were inserted, as they were inserted, that satisfy the query, and only
  for a subscription that was accepted and not revoked on this device.
- `frame`: only of objects published within the frame, by their owner's clock.
- `once`: of each object once per subscription, restarts that keep the store included; again if a crash hit before the
  first telling was committed.
- `ends`: every operation that was not refused has exactly one outcome, within `ENDS_S` if its device stays on.
- `names`: a name or number that was acknowledged cannot be used again, and is refused at once.
- `retrieves`: what is retrieved are the bytes that were inserted; where contents come with the news
  (`delivers_contents`) they can be read until their lifetime ends.
- `quiet`: `QUIET_AFTER_S` after the last operation, switch and fault, at most `QUIET_FRAMES_PER_NODE_S`, or
  `WALKING_FRAMES_PER_NODE_S` (more in proportion to speed above `WALKING_MPS`, and `SMALL_PARTS` times that where parts
  are small), beacons and routing apart.

Every approach but the papers' configuration of Thyme-DCS, which has no repair:

- `deleted`: a subscription made `DELETED_S` after a deletion was acknowledged is not told of the object. Not judged if
  meanwhile a fault was in force or somebody lost their store, or for `RETURNED_S` after somebody came back.
- `forgets`: after `FORGOTTEN_S` in a settled crowd no node counts more metadata or objects than are live in the whole
  crowd, and none has contents that were deleted, unless it retrieved them. Not judged with full queues.
- `bounded`: nor does any count more subscriptions than are live: accepted, their revocation not acknowledged, their
  frame not ended.

ES, LS and DCS, which promise to store (not the papers' configuration, nor with one request at a time or full queues):

- `serves`: in a settled crowd, every operation succeeds.
- `finds`: a subscription that reaches into the past is told within `FOUND_S` of all that was acknowledged
  `ACKNOWLEDGED_S` before, if everybody is on, nobody ever lost their store, and all pages came.
- `keeps`: somebody has each acknowledged object, if nobody ever lost their store.
- `retrieves`: a retrieval succeeds if somebody had the content all the while (in ES, a server), and lasting links
  joined them from `SETTLED_S` before it was asked for.

A crowd is settled over a time if no fault was in force, nobody was switched, and links that lasted all that time, and
`SETTLED_S` before, join everybody who is on. Where people walk, `WALKERS_MISS` of `serves` and `finds` are forgiven.
"""

from __future__ import annotations

from thyme.fuzz.case import Case, Violation
from thyme.fuzz.play import Evidence
from thyme.fuzz.remains import judge_remains
from thyme.fuzz.services import judge_services
from thyme.fuzz.tellings import judge_tellings
from thyme.fuzz.worlds import World

PROMISES = (
    "raises",
    "matches",
    "frame",
    "once",
    "deleted",
    "ends",
    "serves",
    "finds",
    "keeps",
    "retrieves",
    "names",
    "forgets",
    "bounded",
    "quiet",
)


def judge(world: World, evidence: Evidence) -> list[Violation]:
    """The violations, by promise and time. After an exception nothing else is judged: the run is not whole."""
    case = Case(world, evidence)
    if evidence.broken:
        at_s = max((one.at_s for one in evidence.asked), default=0.0)
        return [Violation("raises", at_s, evidence.broken)]
    found = [*judge_tellings(case)]
    if evidence.storm_s < 0.0:
        found += judge_services(case)
    found += judge_remains(case)
    return sorted(found, key=lambda one: (PROMISES.index(one.promise), one.at_s, one.text))
