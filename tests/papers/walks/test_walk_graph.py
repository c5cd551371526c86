"""Unit disc graphs: the links are right, connected means connected, and a name gives one graph."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thyme.model.errors import InputError
from thyme.papers.walks.graph import UnitDiscGraph, draw_graph, graph_of_points, widest_distance


def as_networkx(graph: UnitDiscGraph) -> nx.Graph[int]:
    drawn: nx.Graph[int] = nx.Graph()
    drawn.add_nodes_from(range(graph.nodes))
    drawn.add_edges_from((v, int(w)) for v in range(graph.nodes) for w in graph.neighbours_of(v))
    return drawn


@given(st.integers(2, 80), st.floats(0.02, 1.4), st.integers(0, 2**32 - 1))
@settings(max_examples=60)
def test_neighbours_are_exactly_the_nodes_below_the_radius(nodes: int, radius: float, seed: int) -> None:
    points = np.random.default_rng(seed).random((nodes, 2))
    x, y = np.ascontiguousarray(points[:, 0]), np.ascontiguousarray(points[:, 1])
    graph = graph_of_points(x, y, radius)
    for v in range(nodes):
        near = (x - x[v]) ** 2 + (y - y[v]) ** 2 < radius * radius
        near[v] = False
        assert graph.neighbours_of(v).tolist() == np.flatnonzero(near).tolist()


@given(st.integers(1, 60), st.integers(1, 8), st.integers(0, 2**32 - 1))
@settings(max_examples=100)
def test_the_hull_finds_the_largest_distance(count: int, steps: int, seed: int) -> None:
    points = np.random.default_rng(seed).integers(0, steps + 1, (count, 2)) / steps
    x, y = np.ascontiguousarray(points[:, 0]), np.ascontiguousarray(points[:, 1])
    order = np.lexsort((y, x)).astype(np.int32)
    expected = max(float(np.hypot(x - x[i], y - y[i]).max()) for i in range(count))
    assert widest_distance(x, y, order) == pytest.approx(expected)


@pytest.mark.parametrize("nodes", [1000, 2000])
def test_drawn_graphs_are_connected(nodes: int) -> None:
    for network in range(3):
        assert nx.is_connected(as_networkx(draw_graph(nodes, network, seed=1)))


def test_about_one_placement_in_ten_is_connected_at_1000_nodes() -> None:
    placements = sum(draw_graph(1000, network, seed=3).placements for network in range(60))
    assert 4 <= placements / 60 <= 20


def test_a_name_gives_one_graph_and_another_name_another() -> None:
    first, again = draw_graph(300, 4, seed=9, radius=0.2), draw_graph(300, 4, seed=9, radius=0.2)
    assert np.array_equal(first.x, again.x)
    assert np.array_equal(first.neighbours, again.neighbours)
    for other in (draw_graph(300, 5, seed=9, radius=0.2), draw_graph(300, 4, seed=8, radius=0.2)):
        assert not np.array_equal(first.x, other.x)


def test_a_radius_that_cannot_connect_is_refused_after_a_named_number_of_placements() -> None:
    with pytest.raises(InputError, match=r"radius 0\.01 cannot connect 100 nodes: none of 50 placements"):
        draw_graph(100, 0, seed=1, radius=0.01, max_graph_draws=50)


@pytest.mark.parametrize(
    ("nodes", "radius", "draws", "said"),
    [
        (1, 0.05, 10, "nodes is 1"),
        (100_001, 0.05, 10, "nodes is 100001"),
        (10, 0.0, 10, "radius is 0.0"),
        (10, 1.5, 10, "radius is 1.5"),
        (10, float("nan"), 10, "radius is nan"),
        (10, 0.5, 0, "max_graph_draws is 0"),
    ],
)
def test_bounds_are_named(nodes: int, radius: float, draws: int, said: str) -> None:
    with pytest.raises(InputError, match=said):
        draw_graph(nodes, 0, seed=1, radius=radius, max_graph_draws=draws)
