"""The past of a subscription: n at a time, the most recent of all sources, whatever is lost, doubled or late."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st
from test_inbox import ME, FakeHost, goal

from thyme.approaches.inbox import Inbox
from thyme.approaches.interface import Failure, Outcome
from thyme.approaches.pager import Pager
from thyme.approaches.past import PIECES_AT_ONCE, STREAM_MATCHES, STREAM_PIECES, Past, answer_in_pieces
from thyme.approaches.requests import Requests, RetryOptions
from thyme.model.ids import NodeId, ObjectKey
from thyme.model.matching import MatchingIndex
from thyme.model.objects import Metadata
from thyme.wire.signing import PLAIN
from thyme.wire.storage import MoreRequest, PastMatches

PIECE = 3


class World:
    """Owners with objects, a subscriber, and a network that loses, doubles and delays the owners' pieces."""

    def __init__(self, published: list[list[float]], size: int, seed: int, loss: float) -> None:
        self.host = FakeHost()
        self.chance = Random(seed)
        self.loss = loss
        self.told: list[ObjectKey] = []
        self.owners = [MatchingIndex() for _ in published]
        self.objects: list[Metadata] = []
        for owner, instants in enumerate(published):
            for i, at_s in enumerate(instants):
                self.objects.append(Metadata(ObjectKey(f"o{i}", NodeId(owner)), ("goal",), b"", at_s, 1))
                self.owners[owner].insert(self.objects[-1])
        self.inbox: Inbox[NodeId] = Inbox(self.host, 10, 10_000)  # type: ignore[arg-type]
        self.requests = Requests(self.host, RetryOptions())  # type: ignore[arg-type]
        self.pager: Pager[NodeId] = Pager(self.inbox, self.requests, self.ask, size)
        self.asked: list[tuple[NodeId, MoreRequest]] = []
        self.under_way: list[tuple[NodeId, PastMatches]] = []
        self.inbox.add(goal(0), lambda key, matches, hops: self.told.extend(one.key for one in matches))
        self.own = self.inbox.get(0)

    def ask(self, owner: NodeId, request: MoreRequest) -> None:
        self.asked.append((owner, request))

    def answer(self, owner: NodeId, request: MoreRequest) -> None:
        search = self.owners[owner].search
        pieces = answer_in_pieces(
            search, request.subscription, request.cursor, request.limit, PIECE, PLAIN.missing_bytes, request.request
        )
        self.under_way += [(owner, piece) for piece in pieces]

    def deliver(self) -> None:
        """What is under way arrives in some order, but some of it never does."""
        while self.under_way:
            place = 0 if self.chance.random() < 0.9 else self.chance.randrange(len(self.under_way))
            owner, piece = self.under_way.pop(place)
            if self.chance.random() < self.loss:
                continue
            for _ in range(1 + (self.chance.random() < 0.1)):
                self.pager.on_piece(owner, piece)

    def settle(self) -> None:
        """Requests are repeated until they are answered."""
        while self.asked:
            owner, request = self.asked.pop(0)
            while request.request in self.requests:
                again = MoreRequest(request.request, request.subscription, self.own.past.cursor(owner), request.limit)
                self.answer(owner, again)
                self.deliver()


instants = st.lists(st.integers(0, 12).map(float), max_size=12)


@given(
    st.lists(instants, min_size=1, max_size=4), st.integers(1, 7), st.integers(0, 2**20), st.sampled_from([0.0, 0.4])
)
def test_batches_are_the_most_recent_of_all(published: list[list[float]], size: int, seed: int, loss: float) -> None:
    world = World(published, size, seed, loss=0.0)  # an owner whose first answer is lost whole is not heard of
    for owner in range(len(published)):
        world.answer(NodeId(owner), MoreRequest(-1, world.own.subscription, None, size))
    world.deliver()
    world.loss = loss
    expected = [one.key for one in sorted(world.objects, key=lambda one: (-one.published_s, one.key))]
    for first_place in range(0, len(expected) + size, size):
        outcomes: list[Outcome] = []
        world.pager.give(world.own, outcomes.append)
        world.settle()
        assert world.told == expected[: first_place + size]
        left = max(0, len(expected) - first_place - size)
        assert outcomes == [Outcome(Failure.NONE, left)]


def test_the_first_piece_may_be_the_lost_one() -> None:
    world = World([[float(i) for i in range(8)]], 8, 1, 0.0)
    world.answer(NodeId(0), MoreRequest(-1, world.own.subscription, None, 8))
    del world.under_way[0]
    world.deliver()
    assert world.own.remaining > 0
    world.pager.give(world.own, lambda _: None)
    world.settle()
    assert [key.oid for key in world.told] == [f"o{i}" for i in reversed(range(8))]


def test_an_answer_has_a_few_pieces_at_most_and_says_what_is_left() -> None:
    world = World([[float(i) for i in range(100)]], 8, 1, 0.0)
    world.answer(NodeId(0), MoreRequest(7, world.own.subscription, None, STREAM_MATCHES - 1))
    pieces = [piece for _, piece in world.under_way]
    assert [piece.left for piece in pieces] == [100 - PIECE * (i + 1) for i in range(PIECES_AT_ONCE)]
    assert [piece.last for piece in pieces] == [False] * (PIECES_AT_ONCE - 1) + [True]


def test_an_owner_that_does_not_answer_fails_the_batch_and_not_the_others() -> None:
    world = World([[float(i) for i in range(0, 20, 2)], [float(i) for i in range(1, 20, 2)]], 4, 1, 0.0)
    for owner in (0, 1):
        world.answer(NodeId(owner), MoreRequest(-1, world.own.subscription, None, 4))
    world.deliver()
    outcomes: list[Outcome] = []
    for _ in range(3):
        world.pager.give(world.own, outcomes.append)
    while world.asked:
        owner, request = world.asked.pop(0)
        if owner == 0:
            world.requests.resolve(request.request, Outcome(Failure.TIMEOUT))
        else:
            world.answer(owner, request)
            world.deliver()
    assert [outcome.failure for outcome in outcomes] == [Failure.NONE, Failure.NONE, Failure.TIMEOUT]
    told = [(key.owner, key.oid) for key in world.told]
    assert told[:8] == [(1, "o9"), (0, "o9"), (1, "o8"), (0, "o8"), (1, "o7"), (0, "o7"), (1, "o6"), (0, "o6")]
    assert told[8:] == [(1, "o5"), (1, "o4"), (1, "o3"), (1, "o2")]


def test_an_owner_that_was_silent_is_asked_last_until_it_is_heard_from() -> None:
    world = World([[float(i) for i in range(0, 40, 2)], [float(i) for i in range(1, 20, 2)]], 4, 1, 0.0)
    for owner in (0, 1):
        world.answer(NodeId(owner), MoreRequest(-1, world.own.subscription, None, 4))
    world.deliver()
    outcomes: list[Outcome] = []
    asked: list[int] = []

    def play(silent: bool) -> None:
        world.pager.give(world.own, outcomes.append)
        while world.asked:
            owner, request = world.asked.pop(0)
            asked.append(owner)
            if owner == 0 and silent:
                world.requests.resolve(request.request, Outcome(Failure.TIMEOUT))
            else:
                world.answer(owner, request)
                world.deliver()

    for _ in range(3):
        play(silent=True)
    assert asked.count(0) == 1, "only the batch that needed it waited for it"
    assert [outcome.failure for outcome in outcomes] == [Failure.NONE, Failure.TIMEOUT, Failure.NONE]
    for _ in range(6):
        play(silent=False)
    assert len(world.told) == len(set(world.told)) == 30, "what it has is told when the others have no more"
    assert all(outcome.ok for outcome in outcomes[3:])


def test_who_answers_late_is_told_at_once_and_leaves_no_rest_untold() -> None:
    world = World([[1.0, 2.0], [float(i) for i in range(10, 16)]], 2, 1, 0.0)
    world.answer(NodeId(0), MoreRequest(-1, world.own.subscription, None, 2))
    world.deliver()
    world.pager.give(world.own, lambda _: None)
    world.answer(NodeId(1), MoreRequest(-1, world.own.subscription, None, 2))
    world.deliver()
    assert [str(key) for key in world.told] == ["o1@0", "o0@0", "o5@1", "o4@1"]
    assert world.own.remaining == 4
    for _ in range(2):
        world.pager.give(world.own, lambda _: None)
        world.settle()
    assert world.own.remaining == 0
    assert len(world.told) == 8
    assert ME not in {key.owner for key in world.told}


def test_a_piece_that_comes_after_the_first_batch_does_not_take_the_place_of_what_waits() -> None:
    world = World([[float(i) for i in range(7)]], 2, 1, 0.0)
    world.answer(NodeId(0), MoreRequest(-1, world.own.subscription, None, 7))
    first, *late = world.under_way
    world.pager.on_piece(*first)
    world.pager.give(world.own, lambda _: None)
    for piece in late:
        world.pager.on_piece(*piece)
    assert (len(world.told), world.own.remaining) == (2, 5)
    for _ in range(3):
        world.pager.give(world.own, lambda _: None)
    assert [key.oid for key in world.told] == [f"o{i}" for i in reversed(range(7))]


def test_pieces_that_overtook_a_late_one_are_told_with_it() -> None:
    world = World([[float(i) for i in range(7)]], 7, 1, 0.0)
    world.answer(NodeId(0), MoreRequest(-1, world.own.subscription, None, 7))
    late, *early = world.under_way
    for piece in early:
        world.pager.on_piece(*piece)
    world.pager.give(world.own, lambda _: None)
    ((_, request),) = world.asked
    world.requests.resolve(request.request, Outcome(Failure.TIMEOUT))
    assert world.told == []
    world.pager.on_piece(*late)
    assert (len(world.told), world.own.remaining) == (7, 0)


def test_all_pieces_of_a_stream_may_overtake_the_first_one() -> None:
    owner, past = NodeId(0), Past[NodeId](lambda *_: None)
    index = World([[float(i) for i in range(500)]], 10, 1, 0.0).owners[0]
    pieces = list(answer_in_pieces(index.search, goal(0), None, STREAM_MATCHES, PIECE, PLAIN.missing_bytes))
    assert len(pieces) > 2 * PIECES_AT_ONCE
    for piece in reversed(pieces[1:]):
        assert past.arrive(owner, piece) == []
    assert past.arrive(owner, pieces[0]) == pieces


@given(st.lists(instants, min_size=1, max_size=3), st.integers(1, 40), st.sampled_from([0.0, 0.3]), st.integers(0, 10))
def test_a_stream_tells_the_newest_first_and_each_once_whatever_is_lost(
    published: list[list[float]], most: int, loss: float, seed: int
) -> None:
    world = World(published, 2, seed, loss)
    for owner in range(len(published)):
        world.answer(NodeId(owner), MoreRequest(-1, world.own.subscription, None, 1))
    world.deliver()
    for owner in range(len(published)):
        world.own.past.expect(NodeId(owner), len(published[owner]))
    ended: list[Outcome] = []
    world.pager.give(world.own, ended.append, most)
    world.settle()
    everything = sorted(world.objects, key=lambda each: (-each.published_s, each.key))
    assert world.told == [each.key for each in everything[:most]]
    assert [outcome.ok for outcome in ended] == [True]


def test_a_stream_asks_for_more_before_it_tells_what_has_come() -> None:
    world = World([[float(i) for i in range(5_000)]], 2, 1, 0.0)
    world.own.past.expect(NodeId(0), 5_000)
    world.pager.give(world.own, lambda _: None, 5_000)
    told_when_asked = []
    while world.asked:
        told_when_asked.append(len(world.told))
        owner, request = world.asked.pop(0)
        assert request.limit == STREAM_MATCHES
        world.answer(owner, request)
        world.deliver()
    assert len(world.told) == 5_000
    assert len(told_when_asked) < 100


def test_the_next_batch_of_a_stream_finds_some_waiting_and_nothing_is_asked_for_twice() -> None:
    world = World([[float(i) for i in range(5_000)]], 2, 1, 0.0)
    world.own.past.expect(NodeId(0), 5_000)
    ended: list[Outcome] = []
    for number in range(1, 6):
        if number > 1:
            assert world.own.past.waiting, "the last batch asked ahead"
        world.pager.give(world.own, ended.append, 1_000)
        cursors = []
        while len(ended) < number:
            owner, request = world.asked.pop(0)
            cursors.append(request.cursor)
            world.answer(owner, request)
            world.deliver()
        assert len(set(cursors)) == len(cursors)
        assert len(world.told) == number * 1_000
    assert world.told == [each.key for each in reversed(world.objects)]
    assert [outcome.ok for outcome in ended] == [True] * 5


def test_a_stream_has_an_end_whatever_was_asked_for() -> None:
    world = World([[float(i) for i in range(2 * STREAM_MATCHES)]], 8, 1, 0.0)
    world.answer(NodeId(0), MoreRequest(7, world.own.subscription, None, 10**18))
    pieces = [piece for _, piece in world.under_way]
    assert len(pieces) <= STREAM_PIECES
    assert sum(len(piece.matches) for piece in pieces) + pieces[-1].left == 2 * STREAM_MATCHES
