"""What neighbours in Thyme-LS know: the same, whatever they were told, in which order, and how often."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_inbox import FakeHost, PatientHost

from thyme.approaches.ls.agreement import Agreement, AgreementOptions, News
from thyme.approaches.ls.known import Known, Revocations
from thyme.approaches.ls.options import LocalStorageOptions
from thyme.model.errors import InputError
from thyme.model.frames import TimeFrame
from thyme.model.ids import NodeId, SubscriptionKey
from thyme.model.matching import MatchingIndex
from thyme.model.queries import parse_query
from thyme.model.subscriptions import Subscription
from thyme.wire.local import KnownDigest, KnownNews
from thyme.wire.message import Message

MEMORY, LIFE_S = 4, 100.0
keys = st.builds(SubscriptionKey, st.integers(0, 5), st.integers(0, 2).map(NodeId))
told = st.lists(st.tuples(keys, st.integers(0, 150).map(float)), max_size=20)


@given(told, st.permutations(range(20)))
def test_revocations_are_the_same_in_whatever_order_they_were_told(
    revocations: list[tuple[SubscriptionKey, float]], order: list[int]
) -> None:
    hosts = [FakeHost(), FakeHost()]
    for host in hosts:
        host.now_s = 150.0
    first, second = (Revocations(host, MEMORY, LIFE_S) for host in hosts)  # type: ignore[arg-type]
    for key, at_s in revocations:
        first.add(key, at_s)
    for place in [place for place in order if place < len(revocations)]:
        second.add(*revocations[place])
    latest = {key: max(at_s for each, at_s in revocations if each == key) for key, _ in revocations}
    recent = sorted(((at_s, key) for key, at_s in latest.items() if at_s >= 150.0 - LIFE_S))[-MEMORY:]
    for known in (first, second, Revocations(hosts[0], MEMORY, LIFE_S)):  # type: ignore[arg-type]
        assert known.all() == [(key, at_s) for at_s, key in recent]
    assert all(first.add(key, at_s) is None for key, at_s in revocations), "nothing of it is news"


class Air:
    """Nodes who all hear each other."""

    def __init__(self, nodes: int) -> None:
        self.nodes = [Node(self, NodeId(node)) for node in range(nodes)]
        self.frames: list[tuple[NodeId, NodeId | None, Message]] = []

    def deliver(self) -> int:
        """Everything arrives, and what it causes; how many frames that took."""
        sent = 0
        while self.frames or any(node.host.timers for node in self.nodes):
            for node in self.nodes:
                node.host.live()
            batch, self.frames = self.frames, []
            for sender, to, message in batch:
                sent += 1
                for node in self.nodes:
                    if node.host.node != sender and to in (None, node.host.node):
                        node.agreement.receive(sender, message)
        return sent

    def say(self) -> None:
        for node in self.nodes:
            node.host.now_s += 2.0
            self.frames.append((node.host.node, None, KnownDigest(node.known.digests.beacon())))


class Node:
    def __init__(self, air: Air, number: NodeId) -> None:
        self.host = PatientHost()
        self.host.node = number
        self.host.broadcast = lambda message: air.frames.append((number, None, message))  # type: ignore[attr-defined]
        self.host.unicast = lambda to, message: air.frames.append((number, to, message))  # type: ignore[attr-defined]
        self.index = MatchingIndex()
        self.known = Known(self.host, self.index, 10_000.0)  # type: ignore[arg-type]
        self.agreement = Agreement(self.host, AgreementOptions(), self.known, self.learn)  # type: ignore[arg-type]

    def learn(self, news: KnownNews) -> News:
        gone = [revocation for revocation in news.revoked if self.known.revoke(*revocation)]
        return [one for one in news.subscriptions if self.known.add(one)], gone

    def knows(self) -> tuple[list[SubscriptionKey], list[tuple[SubscriptionKey, float]]]:
        subscriptions, revoked = self.known.to_hand_over()
        return sorted(one.key for one in subscriptions), revoked


def goal(key: SubscriptionKey) -> Subscription:
    return Subscription.to_query(key, parse_query("goal"), TimeFrame.always())


steps = st.lists(st.tuples(st.integers(0, 2), st.booleans(), keys), max_size=25)


@given(steps)
def test_neighbours_agree_after_two_hellos_whatever_each_was_told(
    steps: list[tuple[int, bool, SubscriptionKey]],
) -> None:
    air = Air(3)
    revoked = {key for _, subscribed, key in steps if not subscribed}
    known = {key for _, subscribed, key in steps if subscribed} - revoked
    for number, subscribed, key in steps:
        node = air.nodes[number]
        if subscribed:
            node.known.add(goal(key))
        else:
            node.known.revoke(key, float(key.sid))
    for _ in range(3):
        air.say()
        air.deliver()
    expected = sorted(known), sorted(((key, float(key.sid)) for key in revoked), key=lambda one: (one[1], one[0]))
    assert [node.knows() for node in air.nodes] == [expected] * 3
    air.say()
    assert air.deliver() == 3, "who agrees has nothing more to say"


def test_a_large_difference_is_made_good_in_rounds() -> None:
    air = Air(2)
    for sid in range(500):
        air.nodes[sid % 2].known.add(goal(SubscriptionKey(sid, NodeId(9))))
    for _ in range(10):
        air.say()
        air.deliver()
    assert [len(node.knows()[0]) for node in air.nodes] == [500, 500]


@pytest.mark.parametrize("setting", [{"past_matches": 0}, {"collect_s": -1.0}, {"revoked_s": float("nan")}])
def test_settings_out_of_bounds_are_refused(setting: dict[str, float]) -> None:
    with pytest.raises(InputError, match=f"{next(iter(setting))} is"):
        LocalStorageOptions(**setting)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="hello_s is -1"):
        AgreementOptions(hello_s=-1.0)
