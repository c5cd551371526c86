"""Algorithms 1 and 2 on small graphs drawn by hand."""

from __future__ import annotations

import numpy as np
import pytest
from laid_open import Overlay, graph_of_edges, lay_open

from thyme.papers.walks.costs import LinkArrays, cost_of, mark_around
from thyme.papers.walks.overlay_state import new_board, take
from thyme.papers.walks.readings import Reading, WalkOptions, parse_reading, rules_of

X, Y, A, B, C, D, Z, P, Q = range(9)
FROM_X_AND_Y = [(X, Y), (X, P), (X, Q), (Y, A), (Y, B), (Y, C), (Y, D), (Y, Z)]
AROUND_P_AND_Q = [(A, P), (A, Q), (B, P), (C, P), (C, Q), (D, Q)]
FIGURE_5 = graph_of_edges(
    9,
    [*FROM_X_AND_Y, *AROUND_P_AND_Q, (A, B)],
)
DEAD_END = graph_of_edges(9, [(0, 1), (1, 2), (1, 3), (3, 4), (4, 5), (5, 6), (6, 7), (7, 8)])


def costs(options: WalkOptions) -> list[float]:
    """What a … z cost when x and y are on the walk and the neighbours of x are marked."""
    rules = rules_of(options, Reading())
    links = LinkArrays(FIGURE_5.offsets, FIGURE_5.neighbours)
    board = new_board(9, 0)
    take(board, 0, X)
    take(board, 0, Y)
    board.branch[0, 0]["tip"], board.branch[0, 0]["before"] = Y, X
    mark_around(links, board, 0, X, rules.second)
    return [cost_of(links, board, rules, 0, 0, node) for node in (A, B, C, D, Z)]


def test_candidates_of_figure_5_cost_3_2_3_2_1() -> None:
    assert costs(WalkOptions()) == [3, 2, 3, 2, 1]


def test_the_earlier_weight_counts_neighbours_shared_with_the_penultimate_node() -> None:
    assert costs(WalkOptions(method="weights")) == [3, 2, 3, 2, 1]


def test_the_earlier_cost_weighs_first_and_second_neighbourhoods() -> None:
    assert costs(WalkOptions(method="second", alpha=1.0, beta=0.5)) == [3.5, 2.5, 3, 2, 1]
    assert costs(WalkOptions(method="second", alpha=2.0, beta=0.0)) == [6, 4, 6, 4, 2]


def test_the_weight_method_adds_its_penalty_for_every_earlier_step() -> None:
    rules = rules_of(WalkOptions(method="weights", penalty=10.0), Reading())
    links = LinkArrays(FIGURE_5.offsets, FIGURE_5.neighbours)
    board = new_board(9, 0)
    board.branch[0, 0]["before"] = X
    take(board, 0, Z)
    take(board, 0, Z)
    assert cost_of(links, board, rules, 0, 0, Z) == 21


def test_the_walk_of_figure_5_goes_on_to_z() -> None:
    """From x the walk is led over y (its only way to the second walk), and there z is cheapest."""
    graph = graph_of_edges(
        12,
        [*FROM_X_AND_Y, *AROUND_P_AND_Q, (Z, 9), (9, 10), (10, 11)],
    )
    for seed in range(40):
        way = [hop.node for hop in lay_open(graph, [X, 11], seed=seed).walks[0].hops]
        if way[0] == Y:
            assert way[1] == Z
            return
    raise AssertionError("no seed led the first step to y")


def dead_end(reading: str) -> Overlay:
    return lay_open(DEAD_END, [0, 8], reading=parse_reading("first-tie," + reading))


def test_a_dead_end_is_left_by_going_back() -> None:
    walk = dead_end("default").walks[0]
    assert [(hop.node, hop.back, hop.met) for hop in walk.hops] == [
        (1, False, False),
        (2, False, False),
        (1, True, False),
        (3, False, False),
        (4, False, True),
    ]


def test_backtracked_nodes_are_active_or_not_as_the_reading_says() -> None:
    assert 2 in dead_end("counted").active
    assert dead_end("pruned").active == (0, 1, 3, 4, 5, 6, 7, 8)


def test_both_first_walks_stop_at_their_meeting_or_each_meets_by_itself() -> None:
    line = graph_of_edges(6, [(i, i + 1) for i in range(5)])
    stopped = lay_open(line, [0, 5], reading=parse_reading("both-stop"))
    assert [walk.hops[-1].met for walk in stopped.walks] == [True, False]
    gone_on = lay_open(line, [0, 5], reading=parse_reading("each-meets"))
    assert all(walk.hops[-1].met for walk in gone_on.walks)


def test_a_walk_meets_by_looking_around_or_only_by_stepping_on() -> None:
    """Node 2 hears the walk of 0 and 1; with a way on to 3 it may also miss it."""
    graph = graph_of_edges(5, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)])
    looks = lay_open(graph, [0, 1, 2], reading=parse_reading("looks-around"))
    assert [hop.node for hop in looks.walks[2].hops] == [1]
    ways = {
        tuple(h.node for h in lay_open(graph, [0, 1, 2], reading=parse_reading("steps-on"), seed=seed).walks[2].hops)
        for seed in range(20)
    }
    assert (1,) in ways
    assert any(len(way) > 1 for way in ways)


def test_an_initiator_on_a_walk_is_the_broker_itself() -> None:
    line = graph_of_edges(5, [(i, i + 1) for i in range(4)])
    overlay = lay_open(line, [0, 4, 1])
    assert overlay.walks[2].hops == ()
    assert 1 in overlay.brokers


def test_as_printed_an_initiator_beside_a_walk_takes_no_hop() -> None:
    graph = graph_of_edges(4, [(0, 1), (1, 2), (1, 3)])
    printed = lay_open(graph, [0, 1, 3], reading=parse_reading("as-printed"))
    assert printed.walks[2].nodes == (3,)
    joined = lay_open(graph, [0, 1, 3])
    assert joined.walks[2].nodes == (3, 1)


def test_two_branches_leave_the_initiator_both_ways() -> None:
    line = graph_of_edges(12, [(i, i + 1) for i in range(11)])
    walk = lay_open(line, [5, 11], WalkOptions(branches=2)).walks[0]
    first = {hop.branch: hop.node for hop in reversed(walk.hops)}
    assert set(first.values()) == {4, 6}


def test_a_loop_erased_pure_walk_is_a_path() -> None:
    ring = graph_of_edges(30, [(i, (i + 1) % 30) for i in range(30)])
    overlay = lay_open(ring, [0, 15], WalkOptions(pure=True), parse_reading("loop-erased"), seed=5)
    assert len(overlay.active) == 16
    counted = lay_open(ring, [0, 15], WalkOptions(pure=True), parse_reading("revisits"), seed=5)
    assert set(overlay.active) < set(counted.active)


def test_marks_are_those_of_all_nodes_but_the_last() -> None:
    links = LinkArrays(FIGURE_5.offsets, FIGURE_5.neighbours)
    board = new_board(9, 0)
    mark_around(links, board, 0, X, False)
    assert np.flatnonzero(board.memory[0]["marked"] == 1).tolist() == [Y, P, Q]


@pytest.mark.parametrize("pure", [False, True])
def test_the_way_does_not_depend_on_anything_but_the_seed(pure: bool) -> None:
    options = WalkOptions(pure=pure)
    assert lay_open(DEAD_END, [0, 8, 5], options, seed=7) == lay_open(DEAD_END, [0, 8, 5], options, seed=7)
