"""One overlay laid open: every walk with its nodes and its way, the brokers and who met whom.

The batches only count; here single constructions are looked at, on graphs that are made by hand. The kernel's own trace
is replayed, and nothing is decided.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from thyme.model.errors import InputError
from thyme.papers.walks.costs import LinkArrays
from thyme.papers.walks.graph import UnitDiscGraph
from thyme.papers.walks.kernel import build_overlay
from thyme.papers.walks.overlay_state import LEFT, MET, NOBODY, STARTED, TRACED, WENT_BACK, new_board
from thyme.papers.walks.random_numbers import reseed
from thyme.papers.walks.readings import DEFAULT_READING, Reading, WalkOptions, rules_of


@dataclass(frozen=True)
class Hop:
    """A walk came to `node`; `back` if it went back there, `met` if another walk was there."""

    branch: int
    node: int
    back: bool
    met: bool


@dataclass(frozen=True)
class Walk:
    """`nodes` is V'_x in the order taken, the broker it ended at included; `hops` is its whole way."""

    initiator: int
    nodes: tuple[int, ...]
    hops: tuple[Hop, ...]


@dataclass(frozen=True)
class Overlay:
    walks: tuple[Walk, ...]
    brokers: tuple[int, ...]
    active: tuple[int, ...]


def lay_open(
    graph: UnitDiscGraph,
    initiators: Sequence[int],
    options: WalkOptions | None = None,
    reading: Reading = DEFAULT_READING,
    seed: int = 1,
    trace_rows: int = 1_000_000,
) -> Overlay:
    """Builds the overlay of given initiators and tells all about it."""
    if len(initiators) < 2 or len(set(initiators)) != len(initiators):
        raise InputError(f"initiators are {list(initiators)}: at least two different nodes are needed")
    options = options or WalkOptions()
    dice = np.zeros(1, np.uint64)
    reseed(dice, seed, graph.nodes, 0, 0, len(initiators))
    board = new_board(graph.nodes, trace_rows)
    links = LinkArrays(graph.offsets, graph.neighbours)
    if not build_overlay(links, board, rules_of(options, reading), np.array(initiators, np.int32), dice):
        raise InputError(f"the walks did not meet within {options.max_hops} turns (max_hops)")
    if board.tally[TRACED] > trace_rows:
        raise InputError(f"the trace of this overlay needs {board.tally[TRACED]} rows, not {trace_rows}")
    rows = board.trace[: board.tally[TRACED]].tolist()
    return Overlay(
        tuple(_walk(initiator, [row for row in rows if row[0] == x]) for x, initiator in enumerate(initiators)),
        tuple(np.flatnonzero(board.place["broker"]).tolist()),
        tuple(np.flatnonzero(board.place["owner"] != NOBODY).tolist()),
    )


def _walk(initiator: int, rows: list[list[int]]) -> Walk:
    nodes: dict[int, None] = {}
    hops = []
    for _, branch, node, kind in rows:
        if kind == LEFT:
            del nodes[node]
            continue
        nodes.setdefault(node)
        if kind != STARTED:
            hops.append(Hop(branch, node, kind == WENT_BACK, kind == MET))
    return Walk(initiator, tuple(nodes), tuple(hops))


def graph_of_edges(nodes: int, edges: list[tuple[int, int]]) -> UnitDiscGraph:
    """A graph with given links, its nodes evenly on a line: for hand-made topologies."""
    beside: list[set[int]] = [set() for _ in range(nodes)]
    for a, b in edges:
        beside[a].add(b)
        beside[b].add(a)
    offsets = np.cumsum([0] + [len(part) for part in beside]).astype(np.int32)
    neighbours = np.array([v for part in beside for v in sorted(part)], np.int32)
    x = np.linspace(0.0, 1.0, nodes)
    return UnitDiscGraph(x, np.zeros(nodes), offsets, neighbours, np.arange(nodes).astype(np.int32), 1.0, 1)
