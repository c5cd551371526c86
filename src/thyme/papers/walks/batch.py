"""Many overlays on many networks: the evaluation of §VI of the walks paper, point by point.

An overlay is named by (seed, nodes, network, initiators, draw): that tuple alone fixes its initiators and
every choice of its walks, so points may run anywhere, in any order, and be repeated alone. Directional and
pure walks of the same name start from the same initiators in the same network.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from thyme.compiled import compiled
from thyme.model.errors import InputError
from thyme.papers.walks.costs import LinkArrays
from thyme.papers.walks.graph import UnitDiscGraph, draw_graph, widest_distance
from thyme.papers.walks.kernel import build_overlay
from thyme.papers.walks.overlay_state import ACTIVE, BROKERS, HOPS, MEMBERS, NOBODY, VISITED, Board, clear, new_board
from thyme.papers.walks.random_numbers import choose_distinct, reseed
from thyme.papers.walks.readings import (
    DEFAULT_READING,
    MAX_DRAWS,
    MAX_GRAPH_DRAWS,
    MAX_NETWORKS,
    RADIUS,
    Reading,
    Rules,
    WalkOptions,
    rules_of,
)

METRICS = ("active_nodes", "visited_nodes", "hops", "depth")
COLUMNS = ("nodes", "initiators", "pure", "network", "draw", *METRICS, "brokers")

Columns = dict[str, NDArray[Any]]

_FEW = (2, 3, 4, 5, 6, 7, 8, 9, 10, 20, 30, 40, 50, 75, 100, 250, 500)
PAPER_INITIATORS: dict[int, tuple[int, ...]] = {
    1000: (*_FEW, 625, 750, 875),
    2000: (*_FEW, 1000, 1250, 1500, 1750),
    3000: (*_FEW, 1000, 1500, 1875, 2250, 2625),
}
PAPER_NETWORKS = 100
PAPER_DRAWS = 10


class BatchOptions(msgspec.Struct, frozen=True):
    """What all points of a batch share."""

    seed: int = 1
    radius: float = RADIUS
    max_graph_draws: int = MAX_GRAPH_DRAWS
    walk: WalkOptions = WalkOptions()
    reading: Reading = DEFAULT_READING


DEFAULT_BATCH = BatchOptions()


def run_point(
    nodes: int,
    initiators: int,
    pure: bool,
    networks: int = PAPER_NETWORKS,
    draws: int = PAPER_DRAWS,
    seed: int = 1,
    batch: BatchOptions = DEFAULT_BATCH,
) -> Columns:
    """One point, one row per overlay. `pure` and `seed` override those of `batch`."""
    batch = _with(batch, seed=seed, pure=pure)
    _check(nodes, (initiators,), networks, draws)
    return join_columns([run_network(nodes, network, (initiators,), draws, batch) for network in range(networks)])


def run_network(
    nodes: int, network: int, counts: Sequence[int], draws: int, batch: BatchOptions = DEFAULT_BATCH
) -> Columns:
    """All draws of all initiator counts on one network: a task of its own for a sweep."""
    _check(nodes, counts, 1, draws)
    graph = draw_graph(nodes, network, batch.seed, batch.radius, batch.max_graph_draws)
    return run_on_graph(graph, network, counts, draws, batch)


def run_on_graph(
    graph: UnitDiscGraph, network: int, counts: Sequence[int], draws: int, batch: BatchOptions = DEFAULT_BATCH
) -> Columns:
    whole, depth = _run_draws(
        LinkArrays(graph.offsets, graph.neighbours),
        new_board(graph.nodes),
        rules_of(batch.walk, batch.reading),
        graph.x,
        graph.y,
        graph.by_x,
        graph.widest,
        np.array(counts, np.int32),
        draws,
        batch.seed,
        network,
    )
    if whole.shape[0] and whole[-1, HOPS] < 0:
        raise InputError(
            f"the walks on network {network} of {graph.nodes} nodes did not meet within "
            f"{batch.walk.max_hops} turns (max_hops): the graph is not connected, or max_hops is too small"
        )
    rows = whole.shape[0]
    active = ACTIVE if batch.reading.active == "distinct" else MEMBERS
    return {
        "nodes": np.full(rows, graph.nodes, np.int32),
        "initiators": np.repeat(np.array(counts, np.int32), draws),
        "pure": np.full(rows, batch.walk.pure, np.bool_),
        "network": np.full(rows, network, np.int32),
        "draw": np.tile(np.arange(draws, dtype=np.int32), len(counts)),
        "active_nodes": whole[:, active],
        "visited_nodes": whole[:, VISITED],
        "hops": whole[:, HOPS],
        "depth": depth,
        "brokers": whole[:, BROKERS],
    }


def join_columns(parts: Sequence[Columns]) -> Columns:
    return {name: np.concatenate([part[name] for part in parts]) for name in COLUMNS}


def _with(batch: BatchOptions, seed: int, pure: bool) -> BatchOptions:
    return msgspec.structs.replace(batch, seed=seed, walk=msgspec.structs.replace(batch.walk, pure=pure))


def _check(nodes: int, counts: Sequence[int], networks: int, draws: int) -> None:
    for initiators in counts:
        if not 2 <= initiators <= nodes:
            raise InputError(
                f"initiators is {initiators}; expected 2, so that two walks can meet, to the {nodes} nodes"
            )
    if not 1 <= networks <= MAX_NETWORKS:
        raise InputError(f"networks is {networks}; expected 1 to {MAX_NETWORKS}")
    if not 1 <= draws <= MAX_DRAWS:
        raise InputError(f"draws is {draws}; expected 1 to {MAX_DRAWS}")


@compiled
def _run_draws(
    links: LinkArrays,
    board: Board,
    rules: Rules,
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    by_x: NDArray[np.int32],
    widest: float,
    counts: NDArray[np.int32],
    draws: int,
    seed: int,
    network: int,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """One row of tallies and one depth per overlay; a last row with negative hops if one never met."""
    nodes = x.shape[0]
    whole = np.zeros((counts.shape[0] * draws, 6), np.int64)
    depth = np.zeros(counts.shape[0] * draws)
    active = np.empty(nodes, np.int32)
    dice = np.zeros(1, np.uint64)
    for row in range(whole.shape[0]):
        count = counts[row // draws]
        reseed(dice, seed, nodes, network, 1 + row % draws, count)
        initiators = choose_distinct(dice, nodes, count)
        clear(board)
        if not build_overlay(links, board, rules, initiators, dice):
            whole[-1, HOPS] = -1
            break
        for number in range(6):
            whole[row, number] = board.tally[number]
        size = 0
        for node in by_x:
            if board.place[node].owner != NOBODY:
                active[size] = node
                size += 1
        depth[row] = widest_distance(x, y, active[:size]) / widest
    return whole, depth
