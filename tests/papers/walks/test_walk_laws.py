"""Laws of the construction, on random graphs and under every reading: no loops, brokers, one overlay."""

from __future__ import annotations

from itertools import combinations, pairwise

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from laid_open import Overlay, Walk, lay_open

from thyme.papers.walks.graph import UnitDiscGraph, draw_graph
from thyme.papers.walks.readings import Reading, WalkOptions, answers, parse_reading

readings = st.tuples(*(st.sampled_from(values) for values in answers().values())).map(
    lambda chosen: parse_reading(",".join(chosen))
)
directional = st.builds(
    WalkOptions, method=st.sampled_from(["neighbourhood", "second"]), branches=st.sampled_from([1, 2])
)
any_walk = st.builds(
    WalkOptions,
    method=st.sampled_from(["neighbourhood", "second", "weights"]),
    branches=st.sampled_from([1, 2]),
    pure=st.booleans(),
)


@st.composite
def starts(draw: st.DrawFn) -> tuple[UnitDiscGraph, list[int], int]:
    nodes = draw(st.integers(2, 70))
    graph = draw_graph(nodes, draw(st.integers(0, 10_000)), seed=1, radius=0.3 if nodes > 30 else 0.7)
    count = draw(st.integers(2, min(nodes, 12)))
    initiators = draw(st.permutations(range(nodes)))[:count]
    return graph, initiators, draw(st.integers(0, 2**31))


def way_of(walk: Walk, branch: int) -> list[int]:
    return [walk.initiator, *(hop.node for hop in walk.hops if hop.branch == branch)]


@given(starts(), directional, readings)
@settings(max_examples=150)
def test_directional_walks_are_free_of_loops(
    start: tuple[UnitDiscGraph, list[int], int], options: WalkOptions, reading: Reading
) -> None:
    graph, initiators, seed = start
    for walk in lay_open(graph, initiators, options, reading, seed).walks:
        forward = [walk.initiator, *(hop.node for hop in walk.hops if not hop.back)]
        if walk.hops and walk.hops[-1].met:
            forward.pop()  # the broker is another walk's node and may be shared
        assert len(forward) == len(set(forward))


@given(starts(), any_walk, readings)
@settings(max_examples=150)
def test_a_walk_only_ever_goes_to_a_neighbour(
    start: tuple[UnitDiscGraph, list[int], int], options: WalkOptions, reading: Reading
) -> None:
    graph, initiators, seed = start
    for walk in lay_open(graph, initiators, options, reading, seed).walks:
        for branch in range(options.branches):
            for a, b in pairwise(way_of(walk, branch)):
                assert b in graph.neighbours_of(a)


@given(starts(), any_walk, readings)
@settings(max_examples=150)
def test_every_pair_of_intersecting_walks_has_a_broker(
    start: tuple[UnitDiscGraph, list[int], int], options: WalkOptions, reading: Reading
) -> None:
    graph, initiators, seed = start
    overlay = lay_open(graph, initiators, options, reading, seed)
    brokers = set(overlay.brokers)
    assert brokers
    for one, other in combinations(overlay.walks, 2):
        shared = set(one.nodes) & set(other.nodes)
        assert shared <= brokers
    for walk in overlay.walks[2:]:
        near = {int(v) for node in walk.nodes for v in graph.neighbours_of(node)} | set(walk.nodes)
        assert near & brokers


def overlay_links(overlay: Overlay) -> nx.Graph[int]:
    links: nx.Graph[int] = nx.Graph()
    links.add_nodes_from(overlay.active)
    active = set(overlay.active)
    for walk in overlay.walks:
        for branch in range(2):
            links.add_edges_from((a, b) for a, b in pairwise(way_of(walk, branch)) if {a, b} <= active)
    return links


@given(starts(), any_walk, readings)
@settings(max_examples=150)
def test_the_overlay_is_connected_and_holds_every_initiator(
    start: tuple[UnitDiscGraph, list[int], int], options: WalkOptions, reading: Reading
) -> None:
    graph, initiators, seed = start
    overlay = lay_open(graph, initiators, options, reading, seed)
    assert set(initiators) <= set(overlay.active)
    assert set(overlay.active) == {node for walk in overlay.walks for node in walk.nodes}
    links = overlay_links(overlay)
    if reading.initiator == "as-printed":  # line 4 as printed ends beside a walk, not on it
        for node in initiators:
            links.add_edges_from((node, int(v)) for v in graph.neighbours_of(node) if v in set(overlay.active))
    assert nx.is_connected(links)


@pytest.mark.parametrize("field", list(answers()))
def test_every_answer_is_a_word_of_its_own(field: str) -> None:
    for word in answers()[field]:
        assert getattr(parse_reading(word), field) == word
        assert parse_reading(str(parse_reading(word))) == parse_reading(word)
