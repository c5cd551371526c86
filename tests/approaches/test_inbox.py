"""A subscriber's memory of what it was told: each match once, over restarts, within its bounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thyme.approaches import inbox as module
from thyme.approaches.contents import ContentOptions, Fetches
from thyme.approaches.deadlines import Ends
from thyme.approaches.inbox import NOTIFIED, Inbox
from thyme.approaches.interface import Failure, Outcome
from thyme.approaches.names import KIND, UsedNames
from thyme.approaches.requests import Requests, RetryOptions
from thyme.host import MemoryStore, StoreFull
from thyme.model.errors import InputError
from thyme.model.frames import TimeFrame
from thyme.model.ids import NodeId, ObjectKey, SubscriptionKey
from thyme.model.objects import Metadata, size_of
from thyme.model.queries import parse_query
from thyme.model.records import Counted
from thyme.model.subscriptions import Subscription
from thyme.wire.signing import PLAIN
from thyme.wire.storage import PartReply, PartRequest, PastMatches

ME = NodeId(3)


class _Timer:
    def cancel(self) -> None: ...


class FakeHost:
    """A machine whose store outlives the protocol, and whose time stands unless it is set."""

    def __init__(self) -> None:
        self.node = ME
        self.random = Random(1)
        self.store = MemoryStore()
        self.codec = PLAIN
        self.now_s = 0.0
        self.due: list[Callable[[], None]] = []
        self.recorded: list[Any] = []

    def now(self) -> float:
        return self.now_s

    def alone(self) -> bool:
        return False

    def part_bytes(self) -> int:
        return 0

    def idle(self) -> bool:
        return True

    def after(self, delay_s: float, action: Callable[[], None]) -> _Timer:
        if delay_s == 0.0:
            self.due.append(action)
        return _Timer()

    def record(self, event: Any) -> None:
        self.recorded.append(event)


def key(sid: int) -> SubscriptionKey:
    return SubscriptionKey(sid, ME)


def goal(sid: int) -> Subscription:
    return Subscription.to_query(key(sid), parse_query("goal"), TimeFrame.always())


def framed(sid: int, end_s: float) -> Subscription:
    return Subscription.to_query(key(sid), parse_query("goal"), TimeFrame(None, end_s))


def thing(oid: str) -> Metadata:
    return Metadata(ObjectKey(oid, NodeId(1)), ("goal",), b"", 1.0, 1)


def inbox_of(host: FakeHost, memory: int = 100) -> Inbox[NodeId]:
    return Inbox(host, 10, memory)  # type: ignore[arg-type]


@given(st.lists(st.tuples(st.sampled_from(["tell", "restart", "unsubscribe"]), st.integers(0, 2), st.integers(0, 9))))
def test_each_object_is_told_once_per_subscription_over_restarts(steps: list[tuple[str, int, int]]) -> None:
    host, told = FakeHost(), list[tuple[int, str]]()
    inbox = inbox_of(host)
    for sid in range(3):
        inbox.add(goal(sid), lambda key, matches, hops: told.extend((key.sid, one.key.oid) for one in matches))
    wanted: dict[tuple[int, str], None] = {}
    revoked = set()
    for step, sid, number in steps:
        if step == "restart":
            inbox = inbox_of(host)
            inbox.resume(lambda key, matches, hops: told.extend((key.sid, one.key.oid) for one in matches))
        elif step == "unsubscribe":
            inbox.remove(sid)
            revoked.add(sid)
            assert not [name for name, _ in host.store.items(NOTIFIED) if name.startswith(f"{sid}/")]
        else:
            inbox.accept(key(sid), thing(f"a/{number}"))
            if sid not in revoked:
                wanted[(sid, f"a/{number}")] = None
    assert told == list(wanted)


def test_the_memory_is_bounded_and_its_order_survives_a_restart() -> None:
    host, told = FakeHost(), list[str]()
    inbox = inbox_of(host, memory=3)
    inbox.add(goal(0), lambda key, matches, hops: told.extend(one.key.oid for one in matches))
    for oid in "abc":
        inbox.accept(key(0), thing(oid))
    inbox = inbox_of(host, memory=3)
    inbox.resume(lambda key, matches, hops: told.extend(one.key.oid for one in matches))
    inbox.accept(key(0), thing("d"))
    assert [name for name, _ in host.store.items(NOTIFIED)] == ["0/1/b", "0/1/c", "0/1/d"]
    assert not inbox.accept(key(0), thing("b"))
    assert inbox.accept(key(0), thing("a")), "the one told first was forgotten first"


def test_what_came_together_is_told_together_without_what_was_told_or_does_not_match() -> None:
    inbox, told = inbox_of(FakeHost()), list[list[str]]()
    inbox.add(goal(0), lambda key, matches, hops: told.append([one.key.oid for one in matches]))
    other = Metadata(ObjectKey("other", NodeId(1)), ("foul",), b"", 0.0, 1)
    assert inbox.accept_all(key(0), [thing("a"), other, thing("b"), thing("a")]) == 2
    assert inbox.accept_all(key(0), [thing("b"), thing("c")]) == 1
    assert inbox.accept_all(key(0), [thing("c")]) == 0
    assert told == [["a", "b"], ["c"]]


def test_what_was_noted_before_the_disk_was_full_is_told_and_the_rest_when_it_comes_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    host, told = FakeHost(), list[str]()
    inbox, put = inbox_of(host), host.store.put
    inbox.add(goal(0), lambda key, matches, hops: told.extend(one.key.oid for one in matches))

    def put_some(kind: str, name: str, value: bytes) -> None:
        if name.endswith("/c"):
            raise StoreFull("the disk is full")
        put(kind, name, value)

    monkeypatch.setattr(host.store, "put", put_some)
    with pytest.raises(StoreFull):
        inbox.accept_all(key(0), [thing(oid) for oid in "abcd"])
    assert told == ["a", "b"]
    monkeypatch.setattr(host.store, "put", put)
    assert inbox.accept_all(key(0), [thing(oid) for oid in "abcd"]) == 2
    assert told == ["a", "b", "c", "d"]


def test_what_comes_between_a_restart_and_resume_is_told_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEPT_BACK", 2)
    host, told = FakeHost(), list[tuple[str, int]]()
    inbox_of(host).add(goal(0), ignore)
    inbox = inbox_of(host)
    assert [inbox.accept(key(0), thing(oid), 4) for oid in "aabc"] == [True, False, True, False]
    assert list(host.store.items(NOTIFIED)) == [], "nobody was told yet"
    inbox.resume(lambda key, matches, hops: told.extend((one.key.oid, hops) for one in matches))
    assert told == [("a", 4), ("b", 4)]
    assert not inbox.accept(key(0), thing("a"))


def test_used_numbers_are_bounded_and_those_below_stay_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "USED_NUMBERS", 3)
    host = FakeHost()
    inbox = inbox_of(host)
    for sid in (1, 5, 6, 9):
        inbox.add(goal(sid), ignore)
        inbox.remove(sid)
    assert len(list(host.store.items(module.USED))) == 3
    for sid in (1, 4, 5, 6, 9):
        with pytest.raises(InputError, match="used the number"):
            inbox_of(host).add(goal(sid), ignore)
    inbox_of(host).add(goal(7), ignore)


def test_used_names_are_bounded_in_number_and_age() -> None:
    host = FakeHost()

    def names() -> UsedNames:
        return UsedNames(host, 3, 100.0)  # type: ignore[arg-type]

    for at_s, oid in enumerate("abcd"):
        host.now_s = float(at_s)
        names().use(oid)
    assert [oid in names() for oid in "abcd"] == [False, True, True, True]
    host.now_s = 50.0
    names().use("b")
    host.now_s = 120.0
    assert [oid in names() for oid in "bcd"] == [True, False, False]
    assert [name for name, _ in host.store.items(KIND)] == ["b"]


def test_a_request_beyond_the_maximum_is_sent_once_and_ends_as_refused() -> None:
    """It never raises: timers begin requests too."""
    host = FakeHost()
    requests = Requests(host, RetryOptions(pending=1))  # type: ignore[arg-type]
    sent: list[int] = []
    outcomes: list[Outcome] = []
    first = requests.begin(sent.append, outcomes.append)
    second = requests.begin(sent.append, outcomes.append)
    assert sent == [first, second]
    assert outcomes == []
    for action in host.due:
        action()
    assert [outcome.failure for outcome in outcomes] == [Failure.REFUSED]
    assert [type(event) for event in host.recorded] == [Counted]
    assert not requests.resolve(second, Outcome())
    assert requests.resolve(first, Outcome())


def test_an_object_of_many_parts_is_fetched_with_as_many_requests_as_there_may_be() -> None:
    requests = Requests(FakeHost(), RetryOptions(pending=1))  # type: ignore[arg-type]
    asked: list[PartRequest] = []
    fetches: Fetches[str] = Fetches(
        requests, lambda source, request: asked.append(request), ContentOptions(part_bytes=100)
    )
    fetched: list[tuple[bool, int]] = []
    key = ObjectKey("film", NodeId(1))
    film = Metadata.of(key, ("film",), b"", 0.0, bytes(250))
    fetches.fetch(film, ["source"], lambda outcome, data: fetched.append((outcome.ok, size_of(data))))
    for part in range(3):
        assert len(asked) == part + 1
        one = asked[-1]
        fetches.on_reply(PartReply(one.request, key, True, one.offset, 250, bytes(min(100, 250 - one.offset))))
    assert fetched == [(True, 250)]


def ignore(key: SubscriptionKey, matches: Sequence[Metadata], hops: int) -> None: ...


def test_an_ended_subscription_keeps_its_place_for_a_while_after_it_was_last_asked_for() -> None:
    host = FakeHost()
    inbox = inbox_of(host)
    gone: list[int] = []
    inbox.removed = gone.append
    inbox.add(framed(0, 50.0), ignore)
    inbox.add(goal(1), ignore)
    inbox.accept(key(0), thing("a"))
    host.now_s = 50.0 + module.ENDED_S - 1.0
    assert inbox.get(0).subscription == framed(0, 50.0)
    host.now_s += module.ENDED_S - 1.0
    assert inbox.accept(key(0), thing("b")), "published within the frame, and late"
    host.now_s += 2.0
    with pytest.raises(InputError, match="subscription 0 of this node has ended"):
        inbox.get(0)
    assert gone == [0]
    assert (len(inbox), list(host.store.items(NOTIFIED))) == (1, [])
    assert inbox_of(host).ended(0)
    assert not inbox_of(host).ended(1)


def test_one_with_matches_left_to_ask_for_keeps_its_place_for_longer() -> None:
    host = FakeHost()
    inbox = inbox_of(host)
    inbox.add(framed(0, 50.0), ignore)
    inbox.get(0).past.arrive(NodeId(1), PastMatches(key(0), (thing("a"),), None, 5))
    host.now_s = module.UNPAGED_S - 1.0
    assert inbox.get(0).remaining == 6
    host.now_s += module.UNPAGED_S + 1.0
    assert inbox.ended(0)


def test_where_there_is_no_place_the_one_that_ended_first_makes_room() -> None:
    host = FakeHost()
    inbox = inbox_of(host)
    for sid in range(10):
        inbox.add(goal(sid) if sid % 2 else framed(sid, 20.0 - sid), ignore)
    host.now_s = 14.0
    for sid, ended in ((10, [8]), (11, [6, 8])):
        inbox.add(goal(sid), ignore)
        assert [each for each in range(10) if inbox.ended(each)] == ended
    with pytest.raises(InputError, match="10 subscriptions already"):
        inbox.add(goal(12), ignore)


class PatientHost(FakeHost):
    """A machine whose timers ring when its time has come to them."""

    def __init__(self) -> None:
        super().__init__()
        self.timers: list[tuple[float, int, Callable[[], None]]] = []

    def after(self, delay_s: float, action: Callable[[], None]) -> _Timer:
        self.timers.append((self.now_s + delay_s, len(self.timers), action))
        return _Timer()

    def live(self) -> None:
        while self.timers:
            first = min(self.timers)
            self.timers.remove(first)
            self.now_s = max(self.now_s, first[0])
            first[2]()


def test_subscriptions_of_others_are_forgotten_a_while_after_their_frames() -> None:
    host = PatientHost()
    forgotten: list[tuple[float, int]] = []
    ends = Ends(host, lambda one: forgotten.append((host.now_s, one.sid)), 20.0)  # type: ignore[arg-type]
    for sid, end_s in enumerate((50.0, 10.0, 30.0)):
        ends.watch(framed(sid, end_s))
    ends.watch(goal(3))
    ends.unwatch(key(2))
    host.now_s = 5.0
    ends.watch(framed(4, 1.0))
    host.live()
    assert forgotten == [(25.0, 4), (30.0, 1), (70.0, 0)], "a search of the past counts from its coming"
