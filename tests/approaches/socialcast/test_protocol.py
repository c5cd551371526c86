"""SocialCast on small tables of contacts: who reads, who carries, and what ends a message's way."""

from __future__ import annotations

from pathlib import Path

import pytest
from social_world import SocialWorld

from thyme.approaches.interface import Failure, Outcome
from thyme.approaches.registry import find_approach
from thyme.model.errors import InputError
from thyme.model.frames import TimeFrame
from thyme.model.objects import Content
from thyme.sim.faults import Rule

ACQUAINTED = (1, 2, 0.0, 295.0)
"""Node 1 is with node 2 for a long while, so it is a good carrier for what node 2 wants."""


def test_an_interested_neighbour_reads_a_message_and_does_not_carry_it(tmp_path: Path) -> None:
    world = SocialWorld(tmp_path, 2, [(0, 1, 0.0, 500.0)], hysteresis=1.0)
    world.subscribe(1, "rugby")
    world.until(100.0)
    world.publish(0, "try", "Rugby")
    world.until(200.0)
    assert world.notified == [(1, "try", 1)]
    assert (world.copies(0), world.copies(1)) == (3, 0)
    assert world.sent() == [(0, 1)]


def test_a_better_carrier_takes_one_copy_and_brings_it_to_the_subscriber(tmp_path: Path) -> None:
    world = SocialWorld(tmp_path, 3, [ACQUAINTED, (0, 1, 300.0, 400.0), (1, 2, 2000.0, 2100.0)])
    world.subscribe(2, "rugby")
    world.until(310.0)
    world.publish(0, "try", "rugby")
    world.until(350.0)
    assert (world.copies(0), world.copies(1)) == (2, 1)
    world.until(2100.0)
    assert world.notified == [(2, "try", 2)]


def test_without_a_better_carrier_nothing_moves(tmp_path: Path) -> None:
    world = SocialWorld(tmp_path, 3, [(0, 1, 0.0, 1000.0), (0, 2, 1500.0, 1501.0)])
    world.subscribe(2, "rugby")
    world.publish(0, "try", "rugby")
    world.until(1000.0)
    assert (world.copies(0), world.copies(1)) == (3, 0)
    assert world.sent() == []


def test_the_hysteresis_keeps_a_message_from_a_carrier_that_is_hardly_better(tmp_path: Path) -> None:
    contacts = [ACQUAINTED, (0, 1, 300.0, 400.0)]
    for hysteresis, moved in ((0.2, 1), (0.99, 0)):
        world = SocialWorld(tmp_path, 3, contacts, hysteresis=hysteresis)
        world.subscribe(2, "rugby")
        world.until(310.0)
        world.publish(0, "try", "rugby")
        world.until(400.0)
        assert world.copies(1) == moved


def test_a_subscriber_that_is_the_better_carrier_gets_one_message_for_both(tmp_path: Path) -> None:
    contacts = [ACQUAINTED, (0, 1, 300.0, 400.0)]
    world = SocialWorld(tmp_path, 3, contacts, copies=1)
    world.subscribe(1, "rugby")
    world.subscribe(2, "rugby")
    world.until(310.0)
    world.publish(0, "try", "rugby")
    world.until(340.0)
    assert world.names(1) == ["try"]
    assert world.sent()[0] == (0, 1)
    assert world.sent().count((0, 1)) == 1
    assert (world.copies(0), world.copies(1)) == (0, 1)


def test_two_copies_never_go_to_the_same_carrier(tmp_path: Path) -> None:
    world = SocialWorld(tmp_path, 3, [ACQUAINTED, (0, 1, 300.0, 20_000.0)])
    world.subscribe(2, "rugby")
    world.until(310.0)
    world.publish(0, "try", "rugby")
    world.until(20_000.0)
    assert world.sent().count((0, 1)) == 1


def test_a_message_is_read_at_its_last_hop_and_not_carried_on(tmp_path: Path) -> None:
    contacts = [ACQUAINTED, (0, 1, 300.0, 400.0), (1, 2, 2000.0, 2100.0)]
    world = SocialWorld(tmp_path, 3, contacts, ttl_hops=1)
    world.subscribe(2, "rugby")
    world.subscribe(1, "rugby")
    world.until(310.0)
    world.publish(0, "try", "rugby")
    world.until(400.0)
    assert world.names(1) == ["try"]
    assert world.copies(1) == 0
    world.until(2100.0)
    assert world.names(2) == []


def test_a_time_limit_of_the_publisher_ends_a_message_everywhere(tmp_path: Path) -> None:
    contacts = [ACQUAINTED, (0, 1, 300.0, 400.0), (1, 2, 2000.0, 2100.0)]
    world = SocialWorld(tmp_path, 3, contacts, lifetime_s=500.0, ttl_hops=0)
    world.subscribe(2, "rugby")
    world.until(310.0)
    world.publish(0, "try", "rugby")
    world.until(700.0)
    assert world.copies(1) == 1
    world.until(2100.0)
    assert world.names(2) == []
    assert world.copies(0) == world.copies(1) == 0


def test_a_subscriber_far_from_all_is_reached_within_the_time_frame_only(tmp_path: Path) -> None:
    world = SocialWorld(tmp_path, 2, [(0, 1, 500.0, 600.0)])
    world.subscribe(1, "rugby", TimeFrame(100.0, 300.0))
    for at_s, name in ((50.0, "early"), (200.0, "in time"), (400.0, "late")):
        world.until(at_s)
        world.publish(0, name, "rugby")
    world.until(500.0)
    world.restart(0)
    world.until(600.0)
    assert world.names(1) == []
    assert world.sent() == [], "a frame that has ended is not announced any more"


def test_only_what_was_published_within_the_frame_is_sent(tmp_path: Path) -> None:
    world = SocialWorld(tmp_path, 2, [(0, 1, 500.0, 600.0)])
    world.subscribe(1, "rugby", TimeFrame(100.0, 1000.0))
    for at_s, name in ((50.0, "early"), (200.0, "in time")):
        world.until(at_s)
        world.publish(0, name, "rugby")
    world.until(600.0)
    assert world.names(1) == ["in time"]
    assert world.sent() == [(0, 1)]


def test_queries_over_several_tags_are_checked_in_full(tmp_path: Path) -> None:
    world = SocialWorld(tmp_path, 2, [(0, 1, 0.0, 500.0)])
    world.subscribe(1, "rugby & (final | semifinal) & !replay")
    world.until(50.0)
    world.publish(0, "group", "rugby")
    world.publish(0, "final", "rugby", "final")
    world.publish(0, "again", "rugby", "final", "replay")
    world.publish(0, "semi", "semifinal", "rugby", "tv")
    world.until(200.0)
    assert sorted(world.names(1)) == ["final", "semi"]
    assert len(world.sent()) == 2


def test_a_query_without_a_wanted_tag_is_served_too(tmp_path: Path) -> None:
    world = SocialWorld(tmp_path, 2, [(0, 1, 0.0, 500.0)])
    world.subscribe(1, "!rugby")
    world.until(50.0)
    world.publish(0, "try", "rugby")
    world.publish(0, "mate", "chess")
    world.until(200.0)
    assert world.names(1) == ["mate"]


def test_who_unsubscribes_gets_no_more(tmp_path: Path) -> None:
    world = SocialWorld(tmp_path, 2, [(0, 1, 0.0, 1000.0)])
    key = world.subscribe(1, "rugby")
    world.until(100.0)
    world.publish(0, "before", "rugby")
    world.until(200.0)
    world.node(1).unsubscribe(key.sid, world.outcomes.append)
    world.until(300.0)
    world.publish(0, "after", "rugby")
    world.until(1000.0)
    assert world.names(1) == ["before"]
    assert len(world.sent()) == 1


def test_a_carrier_that_subscribes_reads_what_it_carries(tmp_path: Path) -> None:
    world = SocialWorld(tmp_path, 2, [])
    world.publish(0, "own", "rugby")
    world.subscribe(0, "rugby")
    world.subscribe(0, "rugby | tv")
    assert world.names(0) == ["own", "own"]


def test_what_the_memory_of_received_messages_holds_is_not_sent_again(tmp_path: Path) -> None:
    again = [(0, 1, float(start), float(start + 200)) for start in range(0, 5000, 500)]
    for remembered, sent in ((100, 3), (1, 3 * len(again))):
        world = SocialWorld(tmp_path, 2, again, memory_ids=remembered)
        world.subscribe(1, "rugby")
        for name in ("a", "b", "c"):
            world.publish(0, name, "rugby")
        world.until(5000.0)
        assert world.names(1) == ["a", "b", "c"], "the application is told once in any case"
        assert len(world.sent()) >= sent if remembered == 1 else len(world.sent()) == sent


def test_a_copy_that_the_link_cannot_deliver_by_itself_stays(tmp_path: Path) -> None:
    deaf = Rule("loss", message="Data")
    world = SocialWorld(tmp_path, 3, [ACQUAINTED, (0, 1, 300.0, 400.0)], faults=[deaf], handover="link")
    world.subscribe(2, "rugby")
    world.until(310.0)
    world.publish(0, "try", "rugby")
    world.until(332.0)
    assert world.sent() == [(0, 1)]
    assert world.copies(0) == 3


def test_a_full_buffer_lets_go_of_the_oldest_copy(tmp_path: Path) -> None:
    world = SocialWorld(tmp_path, 2, [(0, 1, 500.0, 600.0)], buffer_copies=2, copies=1)
    world.subscribe(1, "rugby")
    for name in ("a", "b", "c"):
        world.publish(0, name, "rugby")
    assert world.copies(0) == 2
    world.until(600.0)
    assert world.names(1) == ["b", "c"]


def test_copies_subscriptions_and_contents_survive_a_restart(tmp_path: Path) -> None:
    world = SocialWorld(tmp_path, 2, [(0, 1, 500.0, 600.0)])
    world.subscribe(1, "rugby")
    metadata = world.publish(0, "try", "rugby", data=b"five points")
    world.restart(0)
    world.restart(1)
    assert world.copies(0) == 3
    world.until(600.0)
    assert world.names(1) == ["try"]
    world.restart(1)
    fetched: list[tuple[Outcome, Content]] = []
    world.node(1).retrieve(metadata, lambda outcome, data: fetched.append((outcome, data)))
    assert fetched == [(Outcome(), b"five points")]


def test_contents_come_with_the_notification_and_from_nowhere_else(tmp_path: Path) -> None:
    world = SocialWorld(tmp_path, 3, [(0, 1, 0.0, 100.0)])
    world.subscribe(1, "rugby")
    metadata = world.publish(0, "try", "rugby", data=b"five points")
    world.until(100.0)
    fetched: list[tuple[Failure, Content]] = []
    for node in (0, 1, 2):
        world.node(node).retrieve(metadata, lambda outcome, data: fetched.append((outcome.failure, data)))
    assert fetched == [(Failure.NONE, b"five points"), (Failure.NONE, b"five points"), (Failure.NOT_FOUND, b"")]


def test_adapting_gamma_spends_fewer_copies_where_subscribers_are_near(tmp_path: Path) -> None:
    world = SocialWorld(tmp_path, 3, [(0, 1, 0.0, 900.0)], copies=4, adapt_copies=True)
    world.subscribe(1, "rugby")
    world.until(890.0)
    world.publish(0, "near", "rugby")
    world.publish(2, "far", "rugby")
    assert world.copies(0) == 3
    assert world.copies(2) == 7


def test_what_cannot_be_done_is_refused_at_once_and_declared(tmp_path: Path) -> None:
    world = SocialWorld(tmp_path, 2, [], content_bytes=10)
    node = world.node(0)
    assert not node.capabilities.stores
    assert node.capabilities.past_is_best_effort
    with pytest.raises(InputError, match="has 11 bytes"):
        node.insert("large", bytes(11), ["rugby"], b"", world.outcomes.append)
    world.publish(0, "try", "rugby")
    with pytest.raises(InputError, match="immutable"):
        world.publish(0, "try", "rugby")
    with pytest.raises(InputError, match="only the owner can delete"):
        node.delete("other", world.outcomes.append)
    world.until(100.0)
    with pytest.raises(InputError, match="no subscription 7"):
        node.unsubscribe(7, world.outcomes.append)
    with pytest.raises(InputError, match="fit a control message"):
        world.subscribe(0, " & ".join(f"({'a' * 40}{i} | {'b' * 40}{i})" for i in range(8)))


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"copies": 0}, "settings.copies is 0; expected a whole number >= 1"),
        ({"hysteresis": 1.5}, "hysteresis is 1.5; expected a number <= 1"),
        ({"memory_ids": 0}, "memory_ids is 0; expected a whole number >= 1"),
        ({"buffer_copies": 0}, "buffer_copies is 0; expected a whole number >= 1"),
        ({"ttl_hops": -1}, "ttl_hops is -1; expected a whole number >= 0"),
        ({"period_s": 0.0}, "period_s is 0.0; expected a number > 0"),
        ({"period_s": float("inf")}, "period_s is inf; expected a finite number > 0"),
        ({"period_s": float("nan")}, "period_s is nan; expected a number > 0"),
        ({"lifetime_s": float("inf")}, "lifetime_s is inf; expected a finite number ≥ 0"),
        ({"lifetimes_s": {"concert": 0.0}}, "lifetimes_s is .*concert.*; expected a number > 0"),
        ({"lifetimes_s": {"concert": float("inf")}}, "lifetimes_s of 'concert' is inf; expected a finite number > 0"),
        ({"lifetimes_s": {"#Concert": 5.0}}, "lifetimes_s has '#Concert'; expected .* 'concert'"),
        ({"answer_wait_s": 0.0}, "answer_wait_s is 0.0; expected a number > 0"),
        ({"unreleased_s": float("nan")}, "unreleased_s is nan; expected a number > 0"),
        ({"pending_handovers": 0}, "pending_handovers is 0; expected a whole number >= 1"),
        ({"handover": "hope"}, "handover"),
        ({"utilities": {"weight_colocation": 0.9}}, "sum to one"),
        ({"content_bytes": 60_000}, "content_bytes is 60000; expected a whole number <= 36000"),
        ({"routing": "psychic"}, "routing"),
        ({"gamma": 3}, "gamma"),
    ],
)
def test_settings_outside_their_domain_name_the_bound(settings: dict[str, object], told: str) -> None:
    with pytest.raises(InputError, match=told):
        find_approach("socialcast").configure(settings)


def test_a_tombstone_reaches_carriers_that_the_owner_never_meets_and_ends_what_they_carry(tmp_path: Path) -> None:
    contacts = [(0, 1, 100.0, 160.0), (1, 2, 300.0, 360.0), (0, 1, 500.0, 560.0), (1, 2, 700.0, 760.0)]
    world = SocialWorld(tmp_path, 4, [*contacts, (2, 3, 900.0, 960.0)], routing="epidemic")
    metadata = world.publish(0, "try", "rugby")
    world.until(400.0)
    assert world.copies(2) == 1
    world.node(0).delete("try", world.outcomes.append)
    assert world.copies(0) == 0
    world.until(800.0)
    assert world.copies(1) == world.copies(2) == 0
    world.subscribe(3, "rugby")
    world.until(1_000.0)
    assert world.names(3) == []
    assert metadata.key.oid == "try"
    with pytest.raises(InputError, match="was inserted by this node before"):
        world.publish(0, "try", "rugby")


def test_a_deletion_that_nobody_met_in_time_does_not_stop_a_copy_and_is_not_undone_by_it(tmp_path: Path) -> None:
    contacts = [(0, 1, 100.0, 160.0), (1, 2, 300.0, 360.0), (0, 2, 500.0, 560.0), (1, 2, 700.0, 760.0)]
    world = SocialWorld(tmp_path, 3, contacts, routing="epidemic")
    world.publish(0, "try", "rugby")
    world.until(200.0)
    world.node(0).delete("try", world.outcomes.append)
    world.subscribe(2, "rugby")
    world.until(800.0)
    assert world.names(2) == ["try"], "told by who had not heard of the deletion"
    assert [world.copies(node) for node in range(3)] == [0, 0, 0]


def test_a_search_of_the_past_is_told_of_what_neighbours_carry(tmp_path: Path) -> None:
    world = SocialWorld(tmp_path, 2, [(0, 1, 0.0, 400.0)])
    world.publish(0, "try", "rugby")
    world.until(100.0)
    world.subscribe(1, "rugby", TimeFrame.past(100.0))
    world.until(110.0)
    world.publish(0, "later", "rugby")
    world.until(200.0)
    assert world.names(1) == ["try"]
