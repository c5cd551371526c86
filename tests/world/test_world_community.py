"""Community mobility: the network, its communities, and contacts like those of real people."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from presence import moving_nodes

from thyme.model.errors import InputError
from thyme.world.contacts.encounters import contacts_of
from thyme.world.contacts.statistics import statistics_of, time_together
from thyme.world.mobility.community import Community, community_movement
from thyme.world.mobility.social import Caves, caveman

HOURS_S = 28_800.0


@pytest.mark.parametrize("seed", range(3))
def test_communities_are_those_of_the_reference_algorithm(seed: int) -> None:
    network = caveman(40, Caves(caves=5, rewiring=0.2), seed)
    graph = nx.from_numpy_array((network.ties > 0.1).astype(int))
    levels = [next(levels) for levels in [nx.community.girvan_newman(graph)] for _ in range(8)]
    best = max(nx.community.modularity(graph, level) for level in levels)
    ours = [set(network.members(community)) for community in range(network.communities)]
    assert nx.community.modularity(graph, ours) == pytest.approx(best)


def test_without_rewiring_communities_are_the_caves() -> None:
    network = caveman(30, Caves(caves=5, rewiring=0.0), 1)
    assert (network.community == network.cave).all()


def test_ties_are_symmetric_and_one_in_ten_is_rewired() -> None:
    network = caveman(100, Caves(), 7)
    strong = network.ties > 0.1
    assert (network.ties == network.ties.T).all()
    assert (np.diag(network.ties) == 0.0).all()
    assert network.ties[strong].min() >= 0.9
    inside = network.cave[:, None] == network.cave[None, :]
    assert strong.sum() // 2 == 450
    assert (strong & ~inside).sum() / strong.sum() == pytest.approx(0.1, abs=0.04)


def test_the_crowd_is_reproduced_by_its_seed() -> None:
    one, same, other = (community_movement(30, 2e3, 2e3, Community(), 3000.0, seed) for seed in (4, 4, 5))
    assert (one.movement.x_m == same.movement.x_m).all()
    assert one.movement.x_m.shape != other.movement.x_m.shape or (one.movement.x_m != other.movement.x_m).any()


def test_nobody_jumps_leaves_the_area_or_exceeds_a_speed() -> None:
    movement = community_movement(30, 2000.0, 1000.0, Community(max_pause_s=20.0), 3000.0, 1).movement
    for at_s in np.linspace(0.0, 3500.0, 50):
        here, soon = movement.positions(float(at_s)), movement.positions(float(at_s) + 0.01)
        assert (here >= -1e-6).all()
        assert (here <= np.array([2000.0, 1000.0]) + 1e-6).all()
        assert np.hypot(*(soon - here).T).max() <= 0.06 + 1e-6
    assert not moving_nodes(movement, 1e6).any()


def test_communities_start_in_squares_of_their_own() -> None:
    crowd = community_movement(100, 4000.0, 4000.0, Community(), 100.0, 2)
    column, row = (crowd.movement.positions(0.0) // 200.0).astype(int).T
    assert (row * 20 + column == crowd.squares[0][crowd.network.community]).all()
    assert len(set(crowd.squares[0].tolist())) == crowd.network.communities


def test_the_deterministic_choice_settles_at_fixed_places() -> None:
    crowd = community_movement(100, 4000.0, 4000.0, Community(choice="deterministic"), HOURS_S, 2)
    column, row = (crowd.movement.positions(HOURS_S) // 200.0).astype(int).T
    assert (row * 20 + column == crowd.squares[0][crowd.network.community]).mean() > 0.95


def test_after_a_reconfiguration_people_gather_elsewhere() -> None:
    how = Community(choice="deterministic", reconfiguration_s=10_000.0)
    crowd = community_movement(100, 4000.0, 4000.0, how, 20_000.0, 2)
    assert crowd.squares.shape == (3, crowd.network.communities)
    column, row = (crowd.movement.positions(19_900.0) // 200.0).astype(int).T
    assert (row * 20 + column == crowd.squares[1][crowd.network.community]).mean() > 0.95


@pytest.mark.parametrize("seed", range(3))
def test_contacts_land_among_those_of_real_people(seed: int) -> None:
    """The bands are the lowest and highest of seven published traces, slightly widened."""
    crowd = community_movement(100, 4000.0, 4000.0, Community(), HOURS_S, seed)
    contacts = contacts_of(crowd.movement, 250.0, HOURS_S)
    found = statistics_of(contacts)
    assert 80.0 <= found.gap_median_s <= 1400.0
    assert 0.1 <= found.gap_over_1h <= 0.311
    assert 0.28 <= found.modularity <= 0.81
    assert 0.11 <= found.pair_share <= 0.97
    assert min(degree for _, degree in time_together(contacts).degree()) >= 10


def test_crowds_that_cannot_be_are_refused() -> None:
    with pytest.raises(InputError, match="cannot fill 10 caves"):
        community_movement(5, 100.0, 100.0, Community(), 10.0, 1)
    with pytest.raises(InputError, match="do not fit"):
        community_movement(50, 100.0, 100.0, Community(grid=2), 10.0, 1)
    with pytest.raises(InputError, match="reconfigurations"):
        Community(reconfiguration_s=0.0)
