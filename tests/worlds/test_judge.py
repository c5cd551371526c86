"""The judge is not blind: what is wrong in the evidence is found, and what is right is not."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from thyme.fuzz.case import Case
from thyme.fuzz.judge import PROMISES, judge
from thyme.fuzz.play import Evidence, play
from thyme.fuzz.queries import is_true
from thyme.fuzz.workload import in_order
from thyme.fuzz.worlds import World
from thyme.model.ids import NodeId, ObjectKey
from thyme.model.queries import parse_query
from thyme.model.records import OperationKind

K = OperationKind


def calm_world(approach: str = "es") -> World:
    """Six people who stand close, insert, search and delete, with nothing in their way."""
    given = {
        "name": "calm",
        "nodes": 6,
        "approach": approach,
        "seed": 3,
        "venue": {"width_m": 80.0, "height_m": 80.0},
        "time": {"join_from_s": 0.0, "join_to_s": 5.0, "until_s": 160.0},
        "radio": {"model": "disc", "loss": 0.0},
    }
    drafts = [
        (40.0, {"kind": K.INSERT, "node": 0, "oid": "kept", "tags": ["a"], "size_bytes": 50}),
        (41.0, {"kind": K.INSERT, "node": 1, "oid": "gone", "tags": ["a", "b"], "size_bytes": 50}),
        (42.0, {"kind": K.SUBSCRIBE, "node": 2, "sid": 0, "query": "a & !c"}),
        (43.0, {"kind": K.INSERT, "node": 5, "oid": "brief", "tags": ["a"], "size_bytes": 50, "end_s": 60.0}),
        (50.0, {"kind": K.DELETE, "node": 1, "oid": "gone"}),
        (80.0, {"kind": K.SUBSCRIBE, "node": 3, "sid": 0, "query": "a"}),
        (85.0, {"kind": K.INSERT, "node": 4, "oid": "late", "tags": ["a"], "size_bytes": 50}),
    ]
    return World(given, tuple(in_order(drafts)))


def broken(world: World, evidence: Evidence) -> set[str]:
    return {violation.promise for violation in judge(Case(world, evidence))}


@pytest.mark.parametrize("approach", ["es", "ls", "dcs"])
def test_a_calm_crowd_breaks_no_promise_but_that_of_names(approach: str) -> None:
    world = calm_world(approach)
    assert broken(world, play(world)) <= {"names"}


def _tell(evidence: Evidence, **changes: object) -> None:
    last = evidence.told[-1]
    evidence.told.append(msgspec.structs.replace(last, at_s=last.at_s + 1.0, **changes))


def _tell_of(evidence: Evidence, oid: str, sid_of: int) -> None:
    """The subscription of a node is told of an object as it was inserted."""
    known = next(told for told in evidence.told if told.object.oid == oid)
    key = next(told.subscription for told in evidence.told if told.subscription.subscriber == sid_of)
    evidence.told.append(msgspec.structs.replace(known, at_s=120.0, subscription=key))


def _fail(evidence: Evidence, kind: OperationKind) -> None:
    one = next(asked for asked in evidence.asked if asked.kind is kind)
    one.failure = "timeout"


def _end_twice(evidence: Evidence) -> None:
    evidence.asked[0].outcomes = 2


def _never_end(evidence: Evidence) -> None:
    evidence.asked[0].outcomes = 0


def _lose(evidence: Evidence) -> None:
    evidence.kept_anywhere = frozenset()


def _silence(evidence: Evidence) -> None:
    evidence.told = [told for told in evidence.told if told.subscription.subscriber != 3]


def _withhold(evidence: Evidence) -> None:
    """The last notification, of what came after its subscription."""
    evidence.told.pop()


def _hoard(evidence: Evidence) -> None:
    held = evidence.held[6]
    evidence.held[6] = msgspec.structs.replace(held, counts={**held.counts, "subscriptions": 9})


def _keep(evidence: Evidence, key: str) -> None:
    held = evidence.held[5]
    evidence.held[5] = msgspec.structs.replace(held, contents=(*held.contents, key))


def _retrieve_late(evidence: Evidence) -> None:
    next(
        one for one in evidence.asked if one.kind is K.RETRIEVE and one.object == ObjectKey("brief", NodeId(5))
    ).at_s = 61.0


def _chatter(evidence: Evidence) -> None:
    evidence.frames += [(159.0, 0, "Noise")] * 1_000


def _swap_bytes(evidence: Evidence) -> None:
    one = next(asked for asked in evidence.asked if asked.kind is K.RETRIEVE)
    one.data = b"something else"


def _break(evidence: Evidence) -> None:
    evidence.broken = "ValueError: out of nowhere"


def _take_name(evidence: Evidence) -> None:
    evidence.names_taken_again = ["node 0 may insert 'kept' again"]


DAMAGES: list[tuple[str, Callable[[Evidence], None]]] = [
    ("raises", _break),
    ("matches", lambda evidence: _tell(evidence, tags=("a", "z"))),
    ("matches", lambda evidence: _tell(evidence, published_s=1.0)),
    ("once", lambda evidence: _tell(evidence)),
    ("deleted", lambda evidence: _tell_of(evidence, "gone", 3)),
    ("ends", _end_twice),
    ("ends", _never_end),
    ("serves", lambda evidence: _fail(evidence, K.INSERT)),
    ("finds", _silence),
    ("tells", _withhold),
    ("keeps", _lose),
    ("retrieves", lambda evidence: _fail(evidence, K.RETRIEVE)),
    ("retrieves", _swap_bytes),
    ("names", _take_name),
    ("forgets", lambda evidence: _keep(evidence, "gone@1")),
    ("forgets", lambda evidence: _keep(evidence, "brief@5")),
    ("expired", lambda evidence: _tell_of(evidence, "brief", 3)),
    ("expired", _retrieve_late),
    ("bounded", _hoard),
    ("quiet", _chatter),
]


@pytest.mark.parametrize(("promise", "damage"), DAMAGES)
def test_damaged_evidence_is_noticed(promise: str, damage: Callable[[Evidence], None]) -> None:
    world = calm_world()
    evidence = play(world)
    evidence.names_taken_again = []
    assert promise not in broken(world, evidence)
    damage(evidence)
    assert promise in broken(world, evidence)


@pytest.mark.parametrize(
    ("sure", "apart", "judged"), [(True, False, True), (True, True, True), (False, False, True), (False, True, False)]
)
def test_a_lost_notification_is_noticed_unless_it_is_sent_once_and_into_a_fault(
    sure: bool, apart: bool, judged: bool
) -> None:
    world = calm_world("ls")
    world.given["settings"] = {"telling": {"sure": sure}}
    if apart:
        world.given["faults"] = [{"kind": "partition", "from_s": 84.0, "to_s": 95.0, "at_m": 40.0}]
    evidence = play(world)
    if sure or not apart:
        assert "tells" not in broken(world, evidence)
    _withhold(evidence)
    assert ("tells" in broken(world, evidence)) == judged


def test_what_lies_outside_of_its_frame_is_noticed() -> None:
    world = calm_world()
    evidence = play(world)
    operations = [
        msgspec.structs.replace(one, end_s=60.0) if one.kind is K.SUBSCRIBE and one.node == 3 else one
        for one in world.operations
    ]
    assert "frame" in broken(World(world.given, tuple(operations)), evidence)


def test_what_no_longer_matches_is_noticed() -> None:
    world = calm_world()
    evidence = play(world)
    operations = [
        msgspec.structs.replace(one, query="a & !a") if one.kind is K.SUBSCRIBE else one for one in world.operations
    ]
    assert "matches" in broken(World(world.given, tuple(operations)), evidence)


def test_what_was_deleted_a_moment_ago_may_still_be_counted() -> None:
    world = calm_world()
    evidence = play(world)
    held = evidence.held[5]
    evidence.held[5] = msgspec.structs.replace(held, counts={**held.counts, "metadata": 3})
    assert "forgets" in broken(world, evidence), "two are live, and the third was deleted long ago"
    next(asked for asked in evidence.asked if asked.kind is K.DELETE).ended_s = 130.0
    assert "forgets" not in broken(world, evidence)


def test_every_promise_has_evidence_that_breaks_it() -> None:
    assert {promise for promise, _ in DAMAGES} | {"frame"} == set(PROMISES)


@pytest.mark.parametrize(
    "query", ["a", "!a", "a & b | c", "a & (b | !c)", "!(a | b) & c", "a and not b or c", "a||b&&!c"]
)
def test_the_judge_reads_queries_as_the_model_does(query: str) -> None:
    for number in range(8):
        tags = tuple(tag for bit, tag in enumerate("abc") if number >> bit & 1)
        assert is_true(query, tags) == parse_query(query).matches(tags)
