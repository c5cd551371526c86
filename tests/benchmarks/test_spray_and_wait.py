"""Spray and wait over contacts: copies, waiting, broken transfers and lifetimes."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.spray_and_wait import SprayAndWait, spray_and_wait
from thyme.model.errors import InputError
from thyme.world.contacts.contact_table import contacts_from
from thyme.world.contacts.encounters import contacts_of
from thyme.world.mobility.placement import uniform_places
from thyme.world.mobility.waypoint import Waypoint, random_waypoint

ONE_MESSAGE = SprayAndWait(every_s=1000.0)


def test_two_nodes_in_contact_deliver_after_one_transfer() -> None:
    contacts = contacts_from(2, [0.0], [100.0], [0], [1])
    found = spray_and_wait(contacts, ONE_MESSAGE, 1000.0, 1)
    assert (found.created, found.delivered, found.transfers) == (1, 1, 1)
    assert found.mean_delay_s == pytest.approx(2.0)


def test_a_message_waits_for_the_contact_with_its_destination() -> None:
    contacts = contacts_from(2, [300.0], [400.0], [0], [1])
    assert spray_and_wait(contacts, ONE_MESSAGE, 1000.0, 1).mean_delay_s == pytest.approx(302.0)


def test_a_contact_shorter_than_a_transfer_delivers_nothing() -> None:
    contacts = contacts_from(2, [300.0], [301.9], [0], [1])
    found = spray_and_wait(contacts, ONE_MESSAGE, 1000.0, 1)
    assert (found.delivered, found.broken_off) == (0, 1)


def test_a_message_past_its_lifetime_is_not_sent() -> None:
    contacts = contacts_from(2, [300.0], [400.0], [0], [1])
    how = msgspec.structs.replace(ONE_MESSAGE, lifetime_s=299.0)
    assert spray_and_wait(contacts, how, 1000.0, 1).transfers == 0


def test_a_full_buffer_pushes_out_the_oldest() -> None:
    how = SprayAndWait(every_s=10.0, max_buffered=1)
    found = spray_and_wait(contacts_from(2, [], [], [], []), how, 100.0, 1)
    assert (found.created, found.delivered) == (10, 0)
    assert found.pushed_out == 8


@settings(max_examples=15)
@given(st.integers(0, 1000), st.integers(1, 8))
def test_a_message_never_has_more_carriers_than_copies(seed: int, copies: int) -> None:
    places = uniform_places(12, 600.0, 600.0, seed)
    contacts = contacts_of(random_waypoint(places, 600.0, 600.0, Waypoint(1.0, 9.0), 900.0, seed), 80.0, 900.0)
    found = spray_and_wait(contacts, SprayAndWait(copies=copies, every_s=100.0), 900.0, seed)
    assert found.delivered <= found.created == 9
    assert found.relayed <= found.created * (copies - 1)
    assert found.relayed + found.delivered + found.broken_off <= found.transfers
    assert found == spray_and_wait(contacts, SprayAndWait(copies=copies, every_s=100.0), 900.0, seed)


def test_more_copies_deliver_sooner() -> None:
    places = uniform_places(30, 1500.0, 1500.0, 3)
    contacts = contacts_of(random_waypoint(places, 1500.0, 1500.0, Waypoint(1.0, 6.0), 7200.0, 3), 60.0, 7200.0)
    few, many = (spray_and_wait(contacts, SprayAndWait(copies=copies), 7200.0, 3) for copies in (1, 16))
    assert many.delivered > few.delivered
    assert many.transfers > few.transfers


def test_a_load_that_cannot_be_is_refused() -> None:
    with pytest.raises(InputError, match="at least two nodes"):
        spray_and_wait(contacts_from(1, [], [], [], []), ONE_MESSAGE, 10.0, 1)
    with pytest.raises(InputError, match="copies is 0; expected at least 1"):
        SprayAndWait(copies=0)
    for every_s in (0.0, float("nan"), float("inf")):
        with pytest.raises(InputError, match=f"every_s is {every_s:g}; expected a finite number above 0"):
            SprayAndWait(every_s=every_s)


@pytest.mark.parametrize("seed", range(8))
def test_what_the_destination_has_is_not_sent_to_it_again(seed: int) -> None:
    how = msgspec.structs.replace(ONE_MESSAGE, copies=8)
    contacts = contacts_from(3, [0.0, 50.0, 100.0, 150.0], [40.0, 90.0, 140.0, 190.0], [0, 1, 0, 0], [1, 2, 2, 1])
    found = spray_and_wait(contacts, how, 1000.0, seed)
    assert found.delivered == 1
    assert found.transfers == found.relayed + found.delivered
