"""Notifications against the ground truth: recall, spurious ones, delay and hops (Thyme FGCS §9.2).

Recall is the number of distinct notified pairs that a perfect execution would notify, over the number of all such
pairs. A notified pair that is not among them is spurious. The delay counts from the instant from which a perfect
execution would have notified.
"""

from __future__ import annotations

import pyarrow.compute as pc

from thyme.pipeline.metrics.tallies import NODES, PAIRS, WANTED, Figures, RunSums, spread

NOTIFIED = "notified"


def delivery_figures(sums: RunSums) -> Figures:
    """`notification.latency_s.…`, `.hops.mean` and `.hops.max`."""
    yield from spread(sums.values(NOTIFIED), "notification.latency_s")
    told = sums.total(NOTIFIED, "rows")
    yield "notification.hops.mean", sums.total(NOTIFIED, "count") / told if told else None
    yield "notification.hops.max", pc.max(sums.of(NOTIFIED)["most"]).as_py()


def recall_figures(sums: RunSums) -> Figures:
    """`notification.received`, the distinct pairs of subscription and object, and `.repeated`, those told again; where
    the truth is known, `recall`, `notification.expected`, `.correct` and `.spurious`."""
    if NODES not in sums.kinds:
        return
    received, told = sums.total(PAIRS, "rows"), sums.total(PAIRS, "count")
    yield "notification.received", received
    yield "notification.repeated", told - received
    if WANTED not in sums.kinds:
        return
    wanted, correct = sums.total(WANTED, "count"), sums.total(PAIRS, "size_bytes")
    yield "recall", correct / wanted if wanted else None
    yield "notification.expected", wanted
    yield "notification.correct", correct
    yield "notification.spurious", received - correct
