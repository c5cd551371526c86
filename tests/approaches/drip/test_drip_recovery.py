"""What a subscriber missed it gets from its broker as long as that remembers it, and no timer ever raises."""

from __future__ import annotations

from random import Random

import pytest
from drip_world import DripWorld, line
from hypothesis import example, given, settings
from hypothesis import strategies as st

from thyme.approaches.drip.broker_memory import event_number
from thyme.approaches.interface import Failure, StoreLimits
from thyme.approaches.requests import RetryOptions
from thyme.model.errors import InputError
from thyme.model.ids import NodeId, ObjectKey
from thyme.sim.faults import Rule

DEAF = Rule("jam", x_m=400.0, y_m=0.0, radius_m=10.0)
"""Node 5 of a row hears nothing."""
COLLIDING = ("reading-8888", "reading-19520642")
"""Two names that one node's CRC-32 cannot tell apart."""


def test_a_subscriber_that_loses_every_frame_goes_on_trying_and_raises_nothing() -> None:
    world = DripWorld(line(5), brokers=[0, 1, 2], retry=RetryOptions(pending=20), limits=StoreLimits())
    world.subscribe(4, "goal")
    world.lose()
    for i in range(20):
        world.insert(4, f"e{i}", "goal", wait_s=0.0)
    world.wait(120.0)
    assert len(world.outcomes) == 21
    assert {outcome.failure for outcome in world.outcomes[1:]} == {Failure.TIMEOUT}
    world.simulation.rules = ()
    world.wait(60.0)
    world.insert(0, "later", "goal")
    assert world.names(4)[-1] == "later"


def test_an_insertion_that_was_refused_is_not_taken_for_inserted() -> None:
    world = DripWorld(line(5), brokers=[0, 1, 2], limits=StoreLimits(pending_operations=5))
    world.lose()
    for i in range(5):
        world.insert(4, f"e{i}", "goal", wait_s=0.0)
    with pytest.raises(InputError, match="5 operations are in progress"):
        world.insert(4, "e5", "goal")
    world.wait(60.0)
    world.insert(4, "e5", "goal")


@pytest.mark.parametrize("burst", [0, 20, 80, 200])
def test_an_event_that_was_missed_is_found_however_many_came_after_it(burst: int) -> None:
    world = DripWorld(line(6), brokers=[0, 1, 2])
    world.subscribe(5, "goal")
    world.simulation.rules = (DEAF,)
    world.insert(0, "missed", "goal", wait_s=1.0)
    world.simulation.rules = ()
    for i in range(burst):
        world.insert(0, f"e{i}", "goal", wait_s=0.1)
    world.simulation.keep_frames()
    world.wait(100.0)
    assert sorted(world.names(5)) == sorted(["missed", *(f"e{i}" for i in range(burst))])
    rounds = world.sent("Registration").count((5, 4))
    assert rounds <= 3 + 4 + burst // 8, "what it has is not sent again and again"


def test_after_a_restart_only_what_is_new_is_sent_and_told() -> None:
    world = DripWorld(line(6), brokers=[0, 1, 2])
    world.subscribe(5, "goal")
    for i in range(100):
        world.insert(0, f"e{i}", "goal", wait_s=0.2)
    world.switch_off(5)
    world.insert(0, "meanwhile", "goal")
    world.simulation.keep_frames()
    world.switch_on(5)
    world.wait(40.0)
    assert world.names(5) == [*(f"e{i}" for i in range(100)), "meanwhile"]
    frames = world.simulation.frames()
    assert frames is not None
    answers = [row for row in frames.to_pylist() if row["message"] == "Registered" and row["to"] == 5]
    assert sum(row["size_bytes"] for row in answers) < 3_000, "the hundred that it has were only offered"


def test_a_second_subscription_gets_what_the_first_had_before_it() -> None:
    world = DripWorld(line(4), brokers=[0, 1, 2])
    first = world.subscribe(3, "goal")
    for i in range(12):
        world.insert(0, f"e{i}", "goal", wait_s=1.0)
    second = world.subscribe(3, "goal & !replay", wait_s=30.0)
    assert first.sid != second.sid
    assert sorted(world.names(3)) == sorted([f"e{i}" for i in range(12)] * 2)


def test_two_names_that_a_short_checksum_confuses_are_two_events() -> None:
    numbers = {event_number(ObjectKey(name, NodeId(0))) for name in COLLIDING}
    assert len(numbers) == 2
    assert all(int(float(number)) == number for number in numbers), "the log keeps numbers as floats"
    world = DripWorld(line(6), brokers=[0, 1, 2], likely=2, k=4)
    world.subscribe(5, "goal")
    world.insert(0, COLLIDING[0], "goal")
    world.simulation.rules = (DEAF,)
    world.insert(0, COLLIDING[1], "goal", wait_s=8.0)
    world.simulation.rules = ()
    world.wait(100.0)
    assert world.names(5) == list(COLLIDING)


@given(seed=st.integers(0, 10_000), loss=st.sampled_from([0.0, 0.1, 0.3]))
@example(seed=686, loss=0.0)
@settings(max_examples=12, deadline=None)
def test_with_loss_and_restarts_everything_remembered_arrives_once(seed: int, loss: float) -> None:
    """The judge knows only what was inserted: each subscriber is told of each object once, and of nothing else."""
    draws = Random(seed)
    world = DripWorld(line(5), brokers=[0, 1, 2], seed=seed)
    for node in (3, 4):
        world.subscribe(node, "goal")
    world.simulation.rules = (Rule("loss", probability=loss),) if loss else ()
    inserted = []
    for i in range(draws.randint(5, 60)):
        if draws.random() < 0.1:
            off = draws.choice((3, 4))
            world.switch_off(off)
            world.wait(draws.uniform(0.0, 20.0))
            world.switch_on(off)
        publisher = draws.randrange(3)
        tag = draws.choice(("goal", "corner"))
        world.insert(publisher, f"e{i}", tag, wait_s=draws.choice((0.1, 0.1, 5.0)))
        inserted += [f"e{i}"] if tag == "goal" else []
    world.simulation.rules = ()
    world.wait(150.0)
    for node in (3, 4):
        assert sorted(world.names(node)) == sorted(inserted)
