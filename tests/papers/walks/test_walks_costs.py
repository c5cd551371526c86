"""What neighbours offer a walker, from overhearing alone, is what the paper's equations count on the graph."""

from __future__ import annotations

import itertools
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from small_world import SmallWorld

from thyme.approaches.walks.walker import Walker
from thyme.model.ids import NodeId
from thyme.papers.walks.graph import draw_graph
from thyme.wire.message import Message
from thyme.wire.walks import Offer

NODES, RADIUS = 50, 0.25


@pytest.fixture
def offers(monkeypatch: pytest.MonkeyPatch) -> dict[tuple[int, NodeId], Offer]:
    """Every offer of a run by step and sender."""
    heard: dict[tuple[int, NodeId], Offer] = {}
    plain = Walker.receive

    def listen(walker: Walker, sender: NodeId, message: Message) -> bool:
        if isinstance(message, Offer):
            heard[message.step, sender] = message
        return plain(walker, sender, message)

    monkeypatch.setattr(Walker, "receive", listen)
    return heard


def walk_once(folder: Path, method: str) -> nx.Graph[int]:
    """One walk, alone in a network, for its first steps; the graph it walks on."""
    drawn = draw_graph(NODES, 3, seed=1, radius=RADIUS)
    places = [(float(x) * 100 / RADIUS, float(y) * 100 / RADIUS) for x, y in zip(drawn.x, drawn.y, strict=True)]
    world = SmallWorld(folder, places, "walks", {"walker": {"method": method, "eager_steps": 200}})
    world.wait(5.0)
    world.subscribe(0, "goal", wait_s=3.0)
    links: nx.Graph[int] = nx.Graph()
    links.add_edges_from((v, int(w)) for v in range(NODES) for w in drawn.neighbours_of(v))
    return links


def around(links: nx.Graph[int], nodes: set[int]) -> set[int]:
    return {neighbour for node in nodes for neighbour in links[node]}


@pytest.mark.parametrize("method", ["neighbourhood", "second"])
def test_marks_are_the_neighbourhoods_of_all_nodes_but_the_last(
    method: str, tmp_path: Path, offers: dict[tuple[int, NodeId], Offer]
) -> None:
    links = walk_once(tmp_path, method)
    holder = {step: int(offer.to) for (step, _), offer in offers.items()}
    assert max(holder) >= 20
    for (step, sender), offer in offers.items():
        beside = around(links, {holder[before] for before in range(1, step)})
        assert offer.marked == len(beside & set(links[int(sender)]))
        second = around(links, beside) if method == "second" else set()
        assert offer.second == len(second & set(links[int(sender)]))


def test_weights_count_the_neighbours_shared_with_the_node_before(
    tmp_path: Path, offers: dict[tuple[int, NodeId], Offer]
) -> None:
    links = walk_once(tmp_path, "weights")
    holder = {step: int(offer.to) for (step, _), offer in offers.items()}
    counted = 0
    for (step, sender), offer in offers.items():
        if step > 1 and holder[step] in links[holder[step - 1]]:
            assert offer.marked == len(set(links[holder[step - 1]]) & set(links[int(sender)]))
            counted += 1
    assert counted > 100


@pytest.mark.parametrize("method", ["neighbourhood", "second", "weights"])
def test_the_walker_goes_to_a_neighbour_of_least_cost(
    method: str, tmp_path: Path, offers: dict[tuple[int, NodeId], Offer]
) -> None:
    walk_once(tmp_path, method)
    steps = sorted({step for step, _ in offers})
    went = []
    for step, following in itertools.pairwise(steps):
        near = {sender: offer for (at, sender), offer in offers.items() if at == step and not offer.visited}
        to = next(offer.to for (at, _), offer in offers.items() if at == following)
        if to in near:
            costs = {sender: offer.marked + 0.5 * offer.second for sender, offer in near.items()}
            went.append(costs[to] == min(costs.values()))
    assert len(went) >= 10
    assert np.all(went)
