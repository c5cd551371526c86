"""Laws of SocialCast that hold whatever happens: who may become a carrier, what a buffer holds, and until when."""

from __future__ import annotations

from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from social_world import SocialWorld

from thyme.approaches.socialcast.buffers import Buffer, BufferedMessage, RecentMessages
from thyme.approaches.socialcast.neighbours import Neighbour
from thyme.approaches.socialcast.routers import BestCarrier
from thyme.approaches.socialcast.utilities import CarrierScore
from thyme.host import Host, MemoryStore
from thyme.model.errors import InputError
from thyme.model.ids import NodeId, ObjectKey
from thyme.model.objects import Metadata
from thyme.sim.faults import Rule
from thyme.wire.socialcast import Control, Data, identifier

TAGS = ("rugby",)


def message(number: int, expires_s: float | None = None) -> Data:
    return Data(Metadata(ObjectKey(f"m{number}", NodeId(0)), TAGS, b"", 1.0, 4), b"news", 0, (), expires_s)


def buffer(maximum: int) -> Buffer:
    return Buffer(cast(Host, SimpleNamespace(store=MemoryStore(), now=lambda: 0.0)), maximum)


def with_score(value: int) -> CarrierScore:
    return cast(CarrierScore, SimpleNamespace(score=lambda tags: value))


@given(
    st.integers(0, 1000),
    st.integers(0, 1000),
    st.lists(st.tuples(st.integers(0, 1000), st.booleans()), max_size=8),
    st.integers(1, 5),
)
def test_copies_go_to_the_best_who_lack_the_message_and_only_beyond_the_hysteresis(
    own: int, hysteresis: int, others: list[tuple[int, bool]], copies: int
) -> None:
    data = message(0)
    id_ = identifier(data.metadata.key)
    present = {
        NodeId(node): Neighbour(NodeId(node), Control((), (TAGS,), (score,), 0, (id_,) if has else ()), 0.0)
        for node, (score, has) in enumerate(others)
    }
    router = BestCarrier(with_score(own), hysteresis)
    router.begin(present)
    held = BufferedMessage(id_, data.metadata, data.content, None)
    held.copies.update((copy, 0) for copy in range(copies))
    chosen: list[int] = []
    for handover in router.handovers(held):
        assert len(handover.copies) == 1
        assert not handover.keeps
        handover.to.received.add(id_)
        chosen.append(others[handover.to.node][0])
    able = sorted((score for score, has in others if not has and score > own + hysteresis), reverse=True)
    assert chosen == able[:copies]


@given(st.integers(1, 6), st.lists(st.tuples(st.booleans(), st.integers(0, 5), st.integers(0, 3)), max_size=60))
def test_a_buffer_never_exceeds_its_maximum_and_forgets_the_oldest_first(
    maximum: int, steps: list[tuple[bool, int, int]]
) -> None:
    one = buffer(maximum)
    expected: list[tuple[int, int]] = []
    for adds, number, copy in steps:
        data = message(number)
        id_ = identifier(data.metadata.key)
        if adds:
            one.add(data, (copy,), 0)
            if (id_, copy) not in expected:
                expected = [*expected, (id_, copy)][-maximum:]
        else:
            one.remove(id_, copy)
            expected = [each for each in expected if each != (id_, copy)]
        assert len(one) == len(expected) <= maximum
        assert {(held.id, copy) for held in one for copy in held.copies} == set(expected)


@given(st.lists(st.none() | st.floats(0.0, 100.0), max_size=12), st.floats(0.0, 100.0))
def test_what_its_publisher_gave_a_time_limit_is_gone_at_that_time(limits: list[float | None], now_s: float) -> None:
    one = buffer(100)
    for number, expires_s in enumerate(limits):
        one.add(message(number, expires_s), (0, 1), 0)
    one.expire(now_s)
    left = [held.expires_s for held in one]
    assert left == [expires_s for expires_s in limits if expires_s is None or expires_s > now_s]


@given(st.integers(1, 8), st.lists(st.integers(0, 12), max_size=60))
def test_the_memory_holds_the_last_messages_received(maximum: int, received: list[int]) -> None:
    memory = RecentMessages(maximum)
    for id_ in received:
        memory.add(id_)
    last = list(dict.fromkeys(reversed(received)))[:maximum]
    assert list(memory.told()) == last[::-1]


@given(
    seed=st.integers(0, 10_000),
    memory_ids=st.sampled_from([1, 2, 100]),
    routing=st.sampled_from(["prediction", "none", "spray", "epidemic"]),
)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_with_loss_and_restarts_nobody_is_told_twice(tmp_path: Path, seed: int, memory_ids: int, routing: str) -> None:
    """However few messages neighbours remember, and whoever restarts with its store or is refused something."""
    draws = Random(seed)
    contacts = []
    for _ in range(draws.randint(5, 30)):
        a, b = draws.sample(range(4), 2)
        start_s = draws.uniform(0.0, 500.0)
        contacts.append((a, b, start_s, start_s + draws.uniform(1.0, 150.0)))
    faults = [Rule("loss", probability=draws.choice((0.1, 0.3)))] if draws.random() < 0.7 else []
    world = SocialWorld(
        tmp_path, 4, contacts, faults, routing=routing, hysteresis=0.0, period_s=5.0, memory_ids=memory_ids
    )
    for node in range(4):
        world.subscribe(node, "goal")
    published: list[str] = []
    at_s = 0.0
    while at_s < 600.0:
        at_s += draws.uniform(1.0, 30.0)
        world.until(at_s)
        if draws.random() < 0.2:
            node = draws.randrange(4)
            published.append(f"{node}-{len(published)}")
            world.publish(node, published[-1], "goal")
            with pytest.raises(InputError):
                world.publish(node, published[-1], "goal")
        if draws.random() < 0.3:
            world.restart(draws.randrange(4))
    told = [(node, name) for node, name, _ in world.notified]
    assert len(told) == len(set(told))
    assert {name for _, name in told} == set(published), "each publisher subscribes itself, so all are told of"
