"""Small worlds for walks: connected places, and the overlay that came of the walks."""

from __future__ import annotations

import networkx as nx
from small_world import SmallWorld

from thyme.approaches.walks.protocol import DirectionalWalks
from thyme.papers.walks.graph import draw_graph


def square(nodes: int, network: int, radius: float = 0.3) -> list[tuple[float, float]]:
    """A connected unit disc graph at 100 m of range."""
    graph = draw_graph(nodes, network, seed=1, radius=radius)
    scale = 100.0 / radius
    return [(float(x) * scale, float(y) * scale) for x, y in zip(graph.x, graph.y, strict=True)]


def walk_node(world: SmallWorld, node: int) -> DirectionalWalks:
    store = world.node(node)
    assert isinstance(store, DirectionalWalks)
    return store


def overlay(world: SmallWorld, nodes: int) -> nx.Graph[int]:
    """The links that both ends know."""
    links: nx.Graph[int] = nx.Graph()
    for node in range(nodes):
        store = walk_node(world, node)
        if store.membership.walk is not None:
            links.add_node(node)
        for branch in store.branches:
            assert node in walk_node(world, branch).branches
            links.add_edge(node, int(branch))
    return links
