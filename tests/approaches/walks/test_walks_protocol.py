"""Directional random walks as messages: the overlay is a tree, events take matching branches, none is lost."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import msgspec
import networkx as nx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from small_world import SmallWorld, line
from walk_world import overlay, square, walk_node

from thyme.approaches.interface import Failure
from thyme.approaches.walks.filters import (
    CountingFilter,
    FilterOptions,
    cells_of_tag,
)
from thyme.approaches.walks.options import WalkerOptions
from thyme.model.errors import InputError
from thyme.model.frames import TimeFrame
from thyme.model.ids import NodeId, ObjectKey, SubscriptionKey
from thyme.model.objects import Metadata
from thyme.wire import walks as wire
from thyme.wire.codec import encode
from thyme.wire.message import Message
from thyme.wire.walks import Advert, Offer, WalkName


def test_nodes_that_take_no_part_stay_silent(tmp_path: Path) -> None:
    world = SmallWorld(tmp_path, line(4), "walks")
    world.run.world.keep_frames()
    world.wait(60.0)
    frames = world.run.world.frames()
    assert frames is not None
    assert frames.num_rows == 0


def test_an_event_reaches_a_subscriber_along_the_walks(tmp_path: Path) -> None:
    world = SmallWorld(tmp_path, line(6), "walks")
    world.wait(5.0)
    world.subscribe(0, "goal")
    world.insert(5, "a", "goal", "match")
    world.insert(5, "b", "corner")
    assert world.names() == ["a"]
    assert all(outcome.ok for outcome in world.outcomes)


def test_walks_that_meet_have_a_broker(tmp_path: Path) -> None:
    """Two arms of a cross: the second walk ends on the first, at a node with three branches or its tip."""
    places = [(x * 80.0, 160.0) for x in range(5)] + [(160.0, 160.0 - 80.0 * y) for y in (1, 2)]
    world = SmallWorld(tmp_path, places, "walks")
    world.wait(5.0)
    world.subscribe(0, "goal")
    world.subscribe(4, "goal")
    world.subscribe(6, "goal")
    links = overlay(world, len(places))
    assert nx.is_tree(links)
    assert links.degree(2) >= 3
    world.insert(6, "x", "goal")
    assert sorted(node for node, _ in world.notified) == [0, 4, 6]


def test_events_take_matching_branches_only(tmp_path: Path) -> None:
    world = SmallWorld(tmp_path, line(7), "walks")
    world.wait(5.0)
    world.subscribe(0, "goal")
    world.subscribe(6, "corner")
    before = walk_node(world, 5).forwarded
    world.insert(3, "g", "goal")
    assert walk_node(world, 5).forwarded == before
    assert walk_node(world, 1).forwarded == 1
    assert world.names(0) == ["g"]
    assert world.names(6) == []


def test_an_unsubscription_takes_its_cells_back_everywhere(tmp_path: Path) -> None:
    world = SmallWorld(tmp_path, line(6), "walks")
    world.wait(5.0)
    key = world.subscribe(0, "goal")
    kept = world.subscribe(0, "goal & late")
    world.insert(5, "a", "goal")
    world.unsubscribe(0, key.sid)
    world.insert(5, "b", "goal")
    world.unsubscribe(0, kept.sid)
    world.insert(5, "c", "goal", "late")
    assert world.names() == ["a"]
    for node in range(6):
        store = walk_node(world, node)
        assert store.branches.subscriptions == 0
        assert store.branches.matching(("goal",), but=store.node) == []


def test_a_subscription_is_taken_back_when_its_time_frame_ends(tmp_path: Path) -> None:
    world = SmallWorld(tmp_path, line(4), "walks")
    world.wait(5.0)
    world.subscribe(0, "goal", TimeFrame(world.now_s, world.now_s + 100.0))
    world.insert(3, "a", "goal")
    world.wait(100.0)
    world.insert(3, "b", "goal")
    assert world.names() == ["a"]
    assert all(walk_node(world, node).branches.subscriptions == 0 for node in range(4))


def test_a_query_without_a_positive_tag_is_offered_everything(tmp_path: Path) -> None:
    world = SmallWorld(tmp_path, line(4), "walks")
    world.wait(5.0)
    world.subscribe(0, "!boring")
    world.insert(3, "a", "goal")
    world.insert(3, "b", "boring")
    assert world.names() == ["a"]


def test_contents_are_fetched_back_along_the_walks(tmp_path: Path) -> None:
    world = SmallWorld(tmp_path, line(6), "walks")
    world.wait(5.0)
    world.subscribe(0, "goal")
    data = bytes(range(256)) * 20
    metadata = world.insert(5, "a", "goal", data=data)
    assert world.retrieve(0, metadata) == data
    world.delete(5, "a")
    assert world.retrieve(0, metadata) is None
    assert world.last_failure() == Failure.DELETED


def test_contents_whose_event_never_came_by_are_searched_for(tmp_path: Path) -> None:
    world = SmallWorld(tmp_path, line(6), "walks")
    world.wait(5.0)
    world.subscribe(0, "goal")
    metadata = world.insert(5, "a", "corner", data=b"flag")
    assert world.names() == []
    assert world.retrieve(0, metadata) == b"flag"


def test_the_papers_walks_refuse_the_past_at_once(tmp_path: Path) -> None:
    world = SmallWorld(tmp_path, line(2), "walks", {"paper": True})
    world.wait(5.0)
    assert not walk_node(world, 0).capabilities.answers_past
    with pytest.raises(InputError, match="must reach into the future"):
        world.subscribe(0, "goal", TimeFrame.past(world.now_s - 1.0))


def test_a_subscriber_that_was_off_walks_again(tmp_path: Path) -> None:
    world = SmallWorld(tmp_path, line(5), "walks")
    world.wait(5.0)
    world.subscribe(4, "other")
    world.subscribe(0, "goal")
    world.switch_off(0)
    world.wait(20.0)
    world.switch_on(0)
    world.insert(4, "a", "goal")
    assert world.names() == ["a"]


def test_every_message_reads_back_as_it_was_written() -> None:
    walk = WalkName(1.5, NodeId(3))
    key = ObjectKey("o", NodeId(1))
    advert = Advert(SubscriptionKey(1, NodeId(2)), ((1, 2), (3,)), 4.5)
    token = wire.Token(walk, 2, 7, rests_at=9, shut_in=1)
    messages: list[Message] = [
        wire.Probe(walk, 1, 2),
        Offer(walk, 1, 2, NodeId(3), 4, 5, None, True),
        wire.Beside(walk, 3),
        wire.WalkerMoved(token, (advert,)),
        wire.WalkerReturned(token, True),
        wire.WalksMet(walk),
        wire.Anchored(walk),
        wire.Rested(walk),
        wire.Advertised((advert,)),
        wire.Event(Metadata(key, ("goal",), b"s", 1.0, 3), 2),
        wire.Event(Metadata(key, ("goal",), b"s", 1.0, 3), 2, advert.key),
        wire.Fetch(key, (NodeId(1), NodeId(2)), 3, 0, 9),
        wire.Fetched(key, (), 3, True, 0, 4, b"part"),
        wire.Unlinked(),
        wire.Present(),
    ]
    for message in messages:
        written = msgspec.msgpack.encode(message)
        assert msgspec.msgpack.decode(written, type=type(message)) == message


def test_marks_are_overheard_and_no_message_carries_a_position() -> None:
    offer = Offer(WalkName(1.0, NodeId(3)), 1, 2, NodeId(4), 5, 6, None, False)
    assert len(encode(offer)) < 40
    assert not any("position" in field or field in ("x", "y") for field in Offer.__struct_fields__)


_folders = count()


@given(
    network=st.integers(0, 5_000),
    nodes=st.integers(8, 30),
    subscribers=st.integers(1, 5),
    publishers=st.integers(1, 3),
    apart_s=st.sampled_from([0.0, 0.05, 1.0, 30.0]),
    prune=st.booleans(),
    method=st.sampled_from(["neighbourhood", "second", "weights"]),
)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_matching_notification_is_lost_on_a_static_connected_overlay(
    tmp_path: Path,
    network: int,
    nodes: int,
    subscribers: int,
    publishers: int,
    apart_s: float,
    prune: bool,
    method: str,
) -> None:
    """However close in time the walks begin, they end in one tree, and every insertion, a publisher's first one
    above all, is notified once to all that had subscribed before it."""
    folder = tmp_path / str(next(_folders))
    folder.mkdir()
    together = {"steps_after_met": 200, "eager_steps": 200} if apart_s < 30.0 else {}
    options = {"walker": {"prune_backtracked": prune, "method": method, **together}}
    world = SmallWorld(folder, square(nodes, network, 0.45), "walks", options)
    world.wait(5.0)
    chosen = [int(v) for v in np.random.default_rng(network).permutation(nodes)[: subscribers + publishers]]
    tags = ("red", "green", "blue")
    wanted = {node: tags[at % 3] for at, node in enumerate(chosen[:subscribers])}
    expected = []
    for node, tag in wanted.items():
        world.subscribe(node, tag, wait_s=apart_s)
    for turn in ("first", "second"):
        for node in chosen[subscribers:]:
            for tag in tags:
                world.insert(node, f"{turn}-{tag}-{node}", tag, wait_s=apart_s / 3)
                expected += [(subscriber, f"{turn}-{tag}-{node}") for subscriber in wanted if wanted[subscriber] == tag]
        world.wait(300.0)
        assert sorted((node, key.oid) for node, key in world.notified) == sorted(expected)
    assert all(outcome.ok for outcome in world.outcomes)
    assert len(world.outcomes) == subscribers + 6 * publishers
    links = overlay(world, nodes)
    assert nx.is_tree(links)
    assert set(chosen) <= set(links)


@pytest.mark.parametrize("network", range(6))
def test_the_first_event_of_a_publisher_off_the_overlay_reaches_everybody(tmp_path: Path, network: int) -> None:
    """The event goes out once the filters of the branch that was met are known."""
    world = SmallWorld(tmp_path, square(100, network, 0.2), "walks")
    world.wait(5.0)
    for node in (0, 20, 40):
        world.subscribe(node, "goal", wait_s=2.0)
    world.wait(100.0)
    off = next(node for node in range(100) if walk_node(world, node).membership.walk is None)
    world.insert(off, "a", "goal")
    assert sorted(node for node, _ in world.notified) == [0, 20, 40]


def test_an_event_is_sent_after_to_a_subscriber_whose_walk_meets_late(tmp_path: Path) -> None:
    """Both have given up waiting before their walks meet."""
    slow = {"settle_s": 1.0, "walker": {"eager_steps": 0, "slow_step_s": 5.0}}
    world = SmallWorld(tmp_path, line(8), "walks", slow)
    world.wait(5.0)
    world.subscribe(0, "goal", wait_s=2.0)
    metadata = world.insert(7, "a", "goal", data=b"seen", wait_s=2.0)
    assert [outcome.ok for outcome in world.outcomes] == [True, True]
    assert world.names() == []
    world.wait(120.0)
    world.insert(7, "b", "goal")
    assert world.names() == ["a", "b"]
    assert world.retrieve(0, metadata) == b"seen"


def test_a_subscription_of_the_papers_walks_gets_nothing_that_was_published_before_it(tmp_path: Path) -> None:
    world = SmallWorld(tmp_path, line(5), "walks", {"paper": True})
    world.wait(5.0)
    world.insert(0, "before", "goal")
    world.subscribe(4, "goal")
    world.insert(0, "after", "goal")
    assert world.names() == ["after"]


def test_a_subscription_is_told_of_earlier_objects_of_its_own_node(tmp_path: Path) -> None:
    world = SmallWorld(tmp_path, line(2), "walks")
    world.wait(5.0)
    world.insert(0, "own", "goal")
    world.subscribe(0, "goal", TimeFrame.past(world.now_s), wait_s=30.0)
    assert world.names() == ["own"]


def test_publishers_answer_for_the_past_and_for_no_more_than_the_latest_of_a_bound(tmp_path: Path) -> None:
    world = SmallWorld(tmp_path, line(5), "walks", {"published": 2})
    world.wait(5.0)
    for name in ("a", "b", "c"):
        world.insert(0, name, "goal", wait_s=30.0)
    world.delete(0, "b")
    world.subscribe(4, "goal", TimeFrame.past(world.now_s), wait_s=60.0)
    assert world.names() == ["c"]
    world.insert(0, "later", "goal", wait_s=30.0)
    assert world.names() == ["c"]


def test_lonely_walks_slow_down_but_go_on_until_they_meet(tmp_path: Path) -> None:
    """Each has taken its lonely steps long before the other is in sight."""
    world = SmallWorld(tmp_path, line(40), "walks", {"walker": {"lonely_steps": 4, "eager_steps": 4}})
    world.wait(5.0)
    world.subscribe(0, "goal", wait_s=0.0)
    world.subscribe(39, "goal")
    assert not nx.is_connected(overlay(world, 40))
    world.wait(600.0)
    assert nx.is_tree(overlay(world, 40))
    world.insert(39, "a", "goal")
    assert sorted(node for node, _ in world.notified) == [0, 39]


def test_pauses_grow_to_a_named_maximum() -> None:
    options = WalkerOptions(eager_steps=10, slow_step_s=2.0, lonely_steps=20, longest_pause_s=7.0, rest_s=3.0)
    assert [options.pause_s(step) for step in (0, 9, 10, 20, 40, 1000)] == [0.0, 0.0, 2.0, 2.0, 4.0, 7.0]
    assert [options.pause_between_attempts_s(attempt) for attempt in (1, 2, 3, 99)] == [3.0, 6.0, 7.0, 7.0]


def test_a_walk_of_the_paper_that_is_alone_rests_when_it_has_been_everywhere(tmp_path: Path) -> None:
    world = SmallWorld(tmp_path, line(6), "walks", {"paper": True})
    world.wait(5.0)
    world.subscribe(2, "goal", wait_s=2_000.0)
    assert len(overlay(world, 6)) == 6
    assert not any(walk_node(world, node).walker.walking for node in range(6))


def test_a_counting_filter_forgets_exactly_what_was_removed() -> None:
    options = FilterOptions(cells=64, hashes=3)
    tags = [f"tag{i}" for i in range(40)]
    filled = CountingFilter(options)
    for tag in tags:
        filled.add(cells_of_tag(tag, options))
    assert all(filled.may_contain(tag) for tag in tags)
    for tag in tags:
        filled.remove(cells_of_tag(tag, options))
    assert not any(filled.may_contain(tag) for tag in tags)


def expected_false_positives(items: int, options: FilterOptions) -> float:
    """The textbook rate for one tag when `items` others are in the filter."""
    free = (1.0 - 1.0 / options.cells) ** (options.hashes * items)
    return float((1.0 - free) ** options.hashes)


def test_the_measured_false_positive_rate_is_the_expected_one() -> None:
    options = FilterOptions()
    for items in (50, 100, 200):
        filled = CountingFilter(options)
        for i in range(items):
            filled.add(cells_of_tag(f"in{i}", options))
        measured = sum(filled.may_contain(f"out{i}") for i in range(20_000)) / 20_000
        assert measured == pytest.approx(expected_false_positives(items, options), rel=0.35)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: FilterOptions(cells=4), "cells is 4"),
        (lambda: FilterOptions(hashes=0), "hashes is 0"),
        (lambda: WalkerOptions(lonely_steps=0), "lonely_steps is 0"),
        (lambda: WalkerOptions(offer_window_s=0.0), "offer_window_s is 0; "),
    ],
)
def test_a_broken_bound_is_named(make: object, said: str) -> None:
    with pytest.raises(InputError, match=said):
        make()  # type: ignore[operator]


def test_a_walk_that_was_met_rests_and_leaves_nodes_out(tmp_path: Path) -> None:
    """With the defaults the overlay is one tree over a part of the network only."""
    world = SmallWorld(tmp_path, square(100, 2, 0.2), "walks")
    world.wait(5.0)
    for node in range(5):
        world.subscribe(node, "goal", wait_s=2.0)
    world.wait(120.0)
    links = overlay(world, 100)
    assert nx.is_tree(links)
    assert len(links) < 80
    world.insert(99, "a", "goal")
    assert sorted(node for node, _ in world.notified) == [0, 1, 2, 3, 4]


def test_pure_walks_are_the_baseline(tmp_path: Path) -> None:
    world = SmallWorld(tmp_path, square(20, 3, 0.45), "walks", {"walker": {"pure": True}})
    world.wait(5.0)
    world.subscribe(0, "goal")
    world.insert(19, "a", "goal")
    assert world.names() == ["a"]
