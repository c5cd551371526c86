"""What the network did: traffic by layer, energy, storage, and how evenly nodes bear it (Thyme FGCS §9.3, Fig. 10).

PHY counts what is on the air, with all headers, retransmissions and acknowledgements; `sent` what protocols hand to
the link; `forwarded` what of it is passed on for others; `control` what routing transmits for itself (a simulated frame
that expires in a queue does not count), and its share is that of the air: control frames with their headers in all that
radios send, or without them (`control.payload`). The load of a node is what it puts on the air. Gini's coefficient is
0 where all nodes bear the same, near 1 where one bears all; the hot spot is the largest load over the mean.
"""

from __future__ import annotations

from collections.abc import Sequence

from thyme.model.records import TrafficKind
from thyme.pipeline.metrics.run_events import Figures, RunEvents, exact_mean

_PRESENCE = ("joined", "left", "moved")


def traffic_figures(run: RunEvents) -> Figures:
    """`<kind>.frames` and `<kind>.bytes` of each kind of traffic, `control.share` and `control.payload.share`."""
    if not run.any:
        return
    for kind in TrafficKind:
        yield f"{kind}.frames", run.total(kind, "count")
        yield f"{kind}.bytes", run.total(kind, "size_bytes")
    air, control = (run.total(kind, "size_bytes") for kind in (TrafficKind.PHY_SENT, TrafficKind.PHY_CONTROL))
    payload = run.total(TrafficKind.CONTROL, "size_bytes")
    yield "control.share", control / air if air and (control or not payload) else None
    yield "control.payload.share", payload / air if air else None


def presence_figures(run: RunEvents) -> Figures:
    """How often nodes joined, left and moved, and how long joining took."""
    if not run.any:
        return
    for kind in _PRESENCE:
        yield f"{kind}.events", run.count(kind)
    spent_s = run.exact("joined")
    yield "joining_s.mean", None if spent_s is None else float(spent_s) / run.count("joined")


def energy_figures(run: RunEvents) -> Figures:
    """`energy.joules` of the network, by radio state, the mean and largest of a node, and for each operation that
    succeeded (what the network spent, idling included, over what users got for it)."""
    spent = run.exact("energy")
    if spent is None:
        return
    for name in run.names("energy"):
        yield f"energy.{name}.joules", float(sum(run.by_node("energy", "value", name)))
    nodes = run.by_node("energy", "value")
    yield "energy.joules", float(spent)
    yield "energy.node_joules.mean", float(spent) / len(nodes)
    yield "energy.node_joules.max", float(max(nodes))
    succeeded = run.count("succeeded")
    yield "energy.operation_joules.mean", float(spent) / succeeded if succeeded else None


def load_figures(run: RunEvents) -> Figures:
    """`load.gini` and `load.hot_spot` of bytes on the air, and the same for what is `stored`. Where the run's number of
    nodes is known, nodes that did nothing count as well."""
    nodes = run.nodes
    yield from _evenness("load", run.by_node(TrafficKind.PHY_SENT, "size_bytes"), nodes)
    for name in run.names("stored"):
        yield from _evenness(f"stored.{name}", run.by_node("stored", "size_bytes", name), nodes)


def _evenness(what: str, loads: Sequence[int], known_nodes: int) -> Figures:
    if not loads:
        return
    nodes, total = max(len(loads), known_nodes), sum(loads)
    weighted = sum(load * rank for rank, load in enumerate(sorted(loads), 1)) + (nodes - len(loads)) * total
    yield f"{what}.gini", 2 * weighted / (nodes * total) - (nodes + 1) / nodes if total else None
    yield f"{what}.hot_spot", max(loads) * nodes / total if total else None
    yield f"{what}.mean_bytes", total / nodes
    yield f"{what}.max_bytes", max(loads)


def stored_figures(run: RunEvents) -> Figures:
    """How many objects and the like nodes hold."""
    for name in run.names("stored"):
        held = run.by_node("stored", "count", name)
        yield f"stored.{name}.items.mean", sum(held) / len(held)
        yield f"stored.{name}.items.max", max(held)


def sampled_figures(run: RunEvents) -> Figures:
    """Whatever was sampled over time."""
    for name in run.names("sampled"):
        values = run.values("sampled", name)
        yield f"sampled.{name}.mean", exact_mean(values)
        yield f"sampled.{name}.max", float(values[-1])
        yield f"sampled.{name}.last", run.last("sampled", name)
