"""Statistics of contacts: the figures by which a mobility model is compared with traces of real people.

Gaps are between merged contacts of the same pair. Q is the modularity of the communities that Louvain finds in
the graph of pairs weighted by the time they spent in contact.
"""

from __future__ import annotations

import msgspec
import networkx as nx
import numpy as np

from thyme.world.contacts.contact_table import Contacts
from thyme.world.movement import Floats

HOUR_S = 3600.0


class ContactStatistics(msgspec.Struct, frozen=True):
    """One row of a comparison of traces; figures that need a gap are NaN if no pair met twice."""

    nodes: int
    contacts: int
    hours: float
    pair_share: float
    """Share of all pairs that met at least once."""
    gap_median_s: float
    gap_over_1h: float
    """Share of gaps longer than an hour."""
    gap_over_12h: float
    modularity: float
    communities: int


def gaps_s(contacts: Contacts) -> Floats:
    """How long each pair was apart between one contact and the next."""
    order = np.lexsort((contacts.start_s, contacts.b, contacts.a))
    a, b = contacts.a[order], contacts.b[order]
    same = (a[1:] == a[:-1]) & (b[1:] == b[:-1])
    gaps = contacts.start_s[order][1:] - contacts.end_s[order][:-1]
    return np.asarray(gaps[same], dtype=np.float64)


def time_together(contacts: Contacts) -> nx.Graph[int]:
    """The graph of pairs that met, weighted by the seconds they spent in contact."""
    pair = contacts.a * contacts.nodes + contacts.b
    keys, where = np.unique(pair, return_inverse=True)
    together_s = np.bincount(where, weights=contacts.end_s - contacts.start_s, minlength=len(keys))
    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from(range(contacts.nodes))
    graph.add_weighted_edges_from(
        (int(key) // contacts.nodes, int(key) % contacts.nodes, float(weight_s))
        for key, weight_s in zip(keys, together_s, strict=True)
        if weight_s > 0.0
    )
    return graph


def statistics_of(contacts: Contacts, seed: int = 0) -> ContactStatistics:
    """The figures of one contact table; `seed` decides the order in which Louvain visits nodes."""
    gap_s = gaps_s(contacts)
    begin_s, end_s = contacts.span_s
    graph = time_together(contacts)
    pairs = contacts.nodes * (contacts.nodes - 1) // 2
    met = graph.number_of_edges()
    communities = nx.community.louvain_communities(graph, weight="weight", seed=seed) if met else []
    return ContactStatistics(
        nodes=contacts.nodes,
        contacts=len(contacts),
        hours=(end_s - begin_s) / HOUR_S,
        pair_share=met / pairs if pairs else 0.0,
        gap_median_s=float(np.median(gap_s)) if len(gap_s) else float("nan"),
        gap_over_1h=float((gap_s > HOUR_S).mean()) if len(gap_s) else float("nan"),
        gap_over_12h=float((gap_s > 12 * HOUR_S).mean()) if len(gap_s) else float("nan"),
        modularity=float(nx.community.modularity(graph, communities, weight="weight")) if met else 0.0,
        communities=sum(len(members) > 1 for members in communities),
    )
