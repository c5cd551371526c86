"""Reach by contacts: the same hearers as by distance, and recorded contacts as a scenario's movement."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from presence import moving_nodes

from thyme.model.errors import InputError
from thyme.sim.radios.disc.neighbours import ContactReach, Neighbours
from thyme.sim.run import Run, contacts_in, movement_for, radio_for
from thyme.sim.scenario import Scenario, scenario_of
from thyme.world.contacts.contact_table import Contacts, contacts_from
from thyme.world.contacts.encounters import contacts_of
from thyme.world.mobility.placement import uniform_places
from thyme.world.mobility.waypoint import Waypoint, random_waypoint

TRACE = "20 ann bob\n40 ann bob\n100 bob cem\n"


def scenario(file: Path, **changes: Any) -> Scenario:
    given: dict[str, Any] = {
        "nodes": 3,
        "approach": "socialcast",
        "movement": {"model": "contacts", "file": str(file)},
        "time": {"join_from_s": 0.0, "join_to_s": 0.0, "until_s": 200.0},
    }
    return scenario_of({**given, **changes}, "test")


def recorded(one: Scenario) -> Contacts:
    found = contacts_in(one, movement_for(one), 100.0)
    assert found is not None
    return found


@settings(max_examples=10)
@given(st.integers(0, 1000))
@pytest.mark.compiled
def test_contacts_of_a_movement_give_the_same_neighbours_as_distances(seed: int) -> None:
    places = uniform_places(12, 500.0, 500.0, seed)
    movement = random_waypoint(places, 500.0, 500.0, Waypoint(), 300.0, seed)
    by_distance = Neighbours(movement, 150.0)
    by_contact = ContactReach(contacts_of(movement, 150.0, 300.0))
    for at_s in np.linspace(1.0, 299.0, 40):
        for node in range(12):
            near = [other for other, _ in by_distance.within(node, float(at_s))]
            assert [other for other, _ in by_contact.within(node, float(at_s))] == near
            for other in range(12):
                known = by_contact.towards(node, other, float(at_s)).count == 1
                assert known == (other in near)


def test_a_contact_lasts_from_its_start_to_its_very_end() -> None:
    reach = ContactReach(contacts_from(2, [10.0], [20.0], [0], [1]))
    assert [reach.within(0, at_s).count == 1 for at_s in (9.9, 10.0, 15.0, 20.0, 20.1)] == [
        False,
        True,
        True,
        True,
        False,
    ]


def test_a_run_begins_with_the_first_contact_or_where_the_scenario_says(tmp_path: Path) -> None:
    file = tmp_path / "office.txt"
    file.write_text(TRACE)
    contacts = recorded(scenario(file))
    assert contacts.start_s.tolist() == [0.0, 80.0]
    assert contacts.end_s.tolist() == [40.0, 100.0]
    later = recorded(scenario(file, movement={"model": "contacts", "file": str(file), "begin_s": 60.0}))
    assert later.start_s.tolist() == [20.0]


def test_people_of_a_trace_hear_each_other_when_they_met(tmp_path: Path) -> None:
    file = tmp_path / "office.txt"
    file.write_text(TRACE)
    result = Run(scenario(file)).go()
    heard = [row["node"] for row in result.events.to_pylist() if row["kind"] == "received"]
    assert heard == [0, 1, 2]


def test_a_trace_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "office.txt"
    file.write_text(TRACE)
    with pytest.raises(InputError, match="has 3 nodes; the scenario has 2"):
        Run(scenario(file, nodes=2))
    with pytest.raises(InputError, match="has no positions"):
        Run(scenario(file, radio={"model": "wifi"}))
    with pytest.raises(InputError):
        Run(scenario(tmp_path / "nowhere.txt"))


@pytest.mark.compiled
def test_community_mobility_is_a_movement_of_a_scenario() -> None:
    given = {
        "nodes": 20,
        "venue": {"width_m": 1000.0, "height_m": 1000.0},
        "movement": {"model": "community", "caves": {"caves": 2}, "grid": 5},
        "time": {"until_s": 300.0},
    }
    crowd = scenario_of(given, "test")
    movement = movement_for(crowd)
    assert movement.nodes == 20
    assert moving_nodes(movement, 150.0).all()
    assert radio_for(crowd, movement).airtime_s()["idle"] == [0.0] * 20
    for wrong, told in (
        ({"grit": 5}, "'movement.grit'"),
        ({"caves": {"cave": 2}}, "'movement.caves.cave'"),
        ({"grid": 0}, "grid"),
    ):
        with pytest.raises(InputError, match=told):
            scenario_of({**given, "movement": {"model": "community", **wrong}}, "test")
