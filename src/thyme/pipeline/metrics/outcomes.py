"""What became of users' operations: success and latency, per kind and over all (Thyme FGCS §9.3, Fig. 11).

Success is the share of issued operations that succeeded; one that neither succeeded nor failed before the run ended
did not succeed. Latency is that of the operations that succeeded.
"""

from __future__ import annotations

from thyme.pipeline.metrics.tallies import Figures, RunSums, spread

_ALL = "all"


def operation_figures(sums: RunSums) -> Figures:
    """`<kind>.issued`, `.success`, `.latency_s.mean` …, for each kind of operation and for `all`."""
    names: list[str | None] = [*sums.names("issued", "succeeded")]
    for name in [*names, None] if names else []:
        shown = _ALL if name is None else name
        issued, succeeded = sums.total("issued", "rows", name), sums.total("succeeded", "rows", name)
        yield f"{shown}.issued", issued
        yield f"{shown}.success", succeeded / issued if issued else None
        yield from spread(sums.values("succeeded", name), f"{shown}.latency_s")
