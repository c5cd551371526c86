"""Batches: named by their numbers alone, golden values, the points of the paper, errors."""

from __future__ import annotations

import numpy as np
import pytest

from thyme.model.errors import InputError
from thyme.papers.walks.batch import (
    COLUMNS,
    PAPER_DRAWS,
    PAPER_INITIATORS,
    PAPER_NETWORKS,
    BatchOptions,
    run_network,
    run_point,
)
from thyme.papers.walks.readings import WalkOptions, parse_reading


def test_the_points_make_126000_overlays() -> None:
    kinds = 2
    per_size = {n: kinds * len(set(counts)) * PAPER_NETWORKS * PAPER_DRAWS for n, counts in PAPER_INITIATORS.items()}
    assert per_size == {1000: 40_000, 2000: 42_000, 3000: 44_000}


def test_an_overlay_is_fixed_by_its_name_alone() -> None:
    """The same (seed, nodes, network, draw, initiators) in another batch gives the same row."""
    point = run_point(400, 7, False, networks=3, draws=4, seed=5, batch=BatchOptions(radius=0.1))
    alone = run_network(400, 2, (3, 7), draws=6, batch=BatchOptions(seed=5, radius=0.1))
    rows = (alone["initiators"] == 7) & (alone["draw"] < 4)
    for name in COLUMNS:
        assert np.array_equal(point[name][point["network"] == 2], alone[name][rows])


def test_golden_directional_values() -> None:
    columns = run_point(1000, 10, False, networks=2, draws=2, seed=1)
    assert columns["active_nodes"].tolist() == GOLDEN_DIRECTIONAL["active_nodes"]
    assert columns["hops"].tolist() == GOLDEN_DIRECTIONAL["hops"]
    assert columns["depth"] == pytest.approx(GOLDEN_DIRECTIONAL["depth"], abs=1e-6)


def test_golden_pure_values() -> None:
    columns = run_point(1000, 10, True, networks=2, draws=2, seed=1)
    assert columns["active_nodes"].tolist() == GOLDEN_PURE["active_nodes"]
    assert columns["hops"].tolist() == GOLDEN_PURE["hops"]
    assert columns["depth"] == pytest.approx(GOLDEN_PURE["depth"], abs=1e-6)


GOLDEN_DIRECTIONAL: dict[str, list[float]] = {
    "active_nodes": [286, 205, 244, 391],
    "hops": [317, 280, 265, 550],
    "depth": [0.969504, 0.913415, 0.888357, 0.962511],
}
GOLDEN_PURE: dict[str, list[float]] = {
    "active_nodes": [715, 682, 586, 872],
    "hops": [4492, 4114, 2176, 10723],
    "depth": [0.934748, 0.972016, 0.983051, 0.989676],
}


@pytest.mark.parametrize("pure", [False, True])
def test_counts_are_in_order(pure: bool) -> None:
    columns = run_point(1000, 20, pure, networks=2, draws=5)
    assert np.all(columns["active_nodes"] <= columns["visited_nodes"])
    assert np.all(columns["visited_nodes"] <= 1000)
    assert np.all(columns["hops"] >= columns["visited_nodes"] - 20)
    assert np.all((columns["depth"] > 0) & (columns["depth"] <= 1))
    assert np.all(columns["brokers"] < 20)


def test_directional_walks_use_fewer_nodes_than_pure_ones() -> None:
    for initiators in (2, 10, 100):
        directional = run_point(1000, initiators, False, networks=10, draws=5)
        pure = run_point(1000, initiators, True, networks=10, draws=5)
        assert directional["active_nodes"].mean() < 0.8 * pure["active_nodes"].mean()


def test_a_node_on_several_walks_counts_once_or_once_for_each() -> None:
    per_walk = BatchOptions(reading=parse_reading("per-walk"))
    once = run_point(1000, 50, False, networks=1, draws=5)
    each = run_point(1000, 50, False, networks=1, draws=5, batch=per_walk)
    assert np.array_equal(each["active_nodes"], once["active_nodes"] + 49)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: run_point(100, 1, False), "initiators is 1"),
        (lambda: run_point(100, 101, False), "initiators is 101"),
        (lambda: run_point(100, 2, False, networks=0), "networks is 0"),
        (lambda: run_point(100, 2, False, draws=0), "draws is 0"),
        (lambda: WalkOptions(branches=3), "branches is 3"),
        (lambda: WalkOptions(alpha=-1.0), "alpha is -1.0"),
        (lambda: WalkOptions(alpha=0.0, beta=0.0), r"alpha \+ beta is 0"),
        (lambda: WalkOptions(penalty=0.0), "penalty is 0;"),
        (lambda: WalkOptions(max_hops=0), "max_hops is 0"),
        (lambda: WalkOptions(method="nearest"), "method is 'nearest'"),  # type: ignore[arg-type]
        (lambda: parse_reading("sideways"), "no answer called 'sideways'"),
        (lambda: parse_reading("pruned,counted"), "answers backtracked twice"),
        (
            lambda: run_point(1000, 2, True, 1, 1, batch=BatchOptions(walk=WalkOptions(max_hops=1))),
            r"did not meet within 1 turns",
        ),
    ],
)
def test_a_broken_bound_is_named(call: object, said: str) -> None:
    with pytest.raises(InputError, match=said):
        call()  # type: ignore[operator]
