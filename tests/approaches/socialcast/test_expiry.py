"""Expiry by publisher time: what has expired is told to nobody, wherever it lies and whoever asks."""

from __future__ import annotations

from pathlib import Path

import pytest
from social_world import SocialWorld

from thyme.model.errors import InputError
from thyme.model.objects import Content


def test_a_new_subscription_is_not_told_of_what_has_expired_in_the_buffer(tmp_path: Path) -> None:
    for later_s, told in ((4.5, ["try"]), (5.0, []), (5.5, [])):
        world = SocialWorld(tmp_path, 2, [], lifetime_s=5.0)
        world.until(100.0)
        world.publish(0, "try", "rugby")
        world.until(100.0 + later_s)
        world.subscribe(0, "rugby")
        assert world.names(0) == told


def test_what_expired_while_a_node_was_off_is_gone_when_it_is_back(tmp_path: Path) -> None:
    world = SocialWorld(tmp_path, 2, [(0, 1, 150.0, 400.0)], lifetime_s=5.0)
    world.subscribe(1, "rugby")
    world.until(100.0)
    world.publish(0, "try", "rugby")
    world.run.switch_off(0, True)
    world.until(200.0)
    world.run.switch_on(0, 0.0)
    assert world.copies(0) == 0
    assert list(world.node(0).host.store.items("socialcast copy")) == []
    world.subscribe(0, "rugby")
    world.until(300.0)
    assert world.notified == []


def test_what_has_not_expired_survives_a_restart(tmp_path: Path) -> None:
    world = SocialWorld(tmp_path, 2, [(0, 1, 150.0, 400.0)], lifetime_s=500.0)
    world.subscribe(1, "rugby")
    world.until(100.0)
    world.publish(0, "try", "rugby")
    world.restart(0)
    world.until(300.0)
    assert world.names(1) == ["try"]


def test_lifetimes_go_by_tag_and_the_shortest_counts(tmp_path: Path) -> None:
    world = SocialWorld(
        tmp_path, 2, [(0, 1, 150.0, 400.0)], lifetime_s=500.0, lifetimes_s={"concert": 30, "advert": 90}
    )
    world.subscribe(1, "rugby | concert | advert")
    world.until(100.0)
    world.publish(0, "try", "rugby")
    world.publish(0, "gig", "concert", "advert", "rugby")
    world.publish(0, "beer", "advert", "rugby")
    world.until(149.0)
    assert world.copies(0) == 6, "three copies of two messages; that of the concert has expired"
    world.until(400.0)
    assert sorted(world.names(1)) == ["beer", "try"]


def test_a_publisher_may_say_when_a_message_expires(tmp_path: Path) -> None:
    world = SocialWorld(tmp_path, 2, [(0, 1, 150.0, 400.0)], lifetime_s=10.0)
    world.subscribe(1, "rugby")
    world.until(100.0)
    for name, expires_s in (("early", 120.0), ("late", 1000.0)):
        world.node(0).insert(name, b"news", ["rugby"], b"", world.outcomes.append, expires_s=expires_s)
    world.publish(0, "as set", "rugby")
    world.restart(0)
    world.until(400.0)
    assert world.names(1) == ["late"]
    world.until(1100.0)
    assert world.copies(0) == world.copies(1) == 0


def test_contents_and_names_go_when_their_messages_have_expired(tmp_path: Path) -> None:
    bounds = {"used_names": 50}
    world = SocialWorld(tmp_path, 2, [(0, 1, 0.0, 5_000.0)], lifetime_s=30.0, read_s=60.0, limits=bounds)
    world.subscribe(1, "goal")
    for i in range(200):
        world.until(10.0 + 5.0 * i)
        world.publish(0, f"m{i}", "goal", data=bytes(1_000))
    last = world.publish(0, "last", "goal")
    assert len(world.names(1)) >= 190
    for node in (0, 1):
        store = world.node(node).host.store
        assert len(list(store.items("content"))) <= (30 + 60 + 20) / 5 + 1
        assert len(list(store.items("used name"))) <= 50
    world.restart(1)
    world.until(1_080.0)
    fetched: list[Content] = []
    world.node(0).retrieve(last, lambda outcome, data: fetched.append(data))
    assert fetched == [b"news"], "what has just expired may still be read"
    world.until(1_200.0)
    for node in (0, 1):
        store = world.node(node).host.store
        assert list(store.items("content")) == list(store.items("socialcast content")) == []
        assert sum(store.size(f"m{i}@0") for i in range(200)) == 0


def test_without_a_time_limit_the_latest_contents_are_kept(tmp_path: Path) -> None:
    world = SocialWorld(tmp_path, 2, [(0, 1, 0.0, 5_000.0)], contents=3)
    world.subscribe(1, "goal")
    for i in range(5):
        world.publish(0, f"m{i}", "goal")
        world.until(100.0 * (i + 1))
    world.restart(1)
    for node in (0, 1):
        assert [name for name, _ in world.node(node).host.store.items("content")] == ["m2@0", "m3@0", "m4@0"]
    with pytest.raises(InputError, match="inserted by this node before"):
        world.publish(0, "m0", "goal")


@pytest.mark.parametrize("expires_s", [99.0, 100.0, float("inf"), float("nan")])
def test_an_expiry_that_is_no_time_to_come_is_refused_and_nothing_is_published(
    tmp_path: Path, expires_s: float
) -> None:
    world = SocialWorld(tmp_path, 2, [])
    world.until(100.0)
    with pytest.raises(InputError, match=f"expires_s is {expires_s:g}; expected a time after now, 100"):
        world.node(0).insert("try", b"news", ["rugby"], b"", world.outcomes.append, expires_s=expires_s)
    assert world.copies(0) == 0
