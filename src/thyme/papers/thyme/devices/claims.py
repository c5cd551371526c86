"""What the Thyme paper states about its devices (FGCS §10.3), beside what live nodes gave.

Latencies are measured; energy is modelled (`energy`) and says so in every claim.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from thyme.live.emulation.meter import ISSUING, MAINTAINING, PROCESSING
from thyme.papers.thyme.devices.energy import EnergyModel, each, loop_minute, running, ten_minutes
from thyme.papers.thyme.devices.runs import OPERATIONS, DeviceRun
from thyme.study.claims import Bound, Claim, Trend

LARGEST_BYTES, LARGEST_NODES = 5_000_000, 32
CHEAP = ("delete", "subscribe", "unsubscribe")
Runs = Sequence[DeviceRun]


def judge_devices(runs: Runs, model: EnergyModel) -> Iterator[Claim]:
    if runs:
        yield from _functionality(runs)
        yield from _latency(runs)
        yield from _energy(runs, model)


def mean_latency_s(runs: Runs, nodes: int, kind: str) -> float | None:
    found = [latency_s for run in runs if run.nodes == nodes for latency_s in run.latency_s.get(kind, ())]
    return float(np.mean(found)) if found else None


def sizes_of(runs: Runs) -> list[int]:
    return sorted({run.nodes for run in runs})


def _judged(claim: Claim, line: Sequence[float], unit: str) -> Claim:
    """Judge a statement by its rule, from measurements in its unit: for a bound the worst point, for a trend both
    ends."""
    judged = claim.judged_by_rule(line)
    if judged.verdict == "not tested":
        return judged
    shown = [max(line, key=claim.rule.distance)] if isinstance(claim.rule, Bound) else [line[0], line[-1]]
    return claim.judged(f"{' → '.join(_number(value) for value in shown)} {unit}", judged.holds)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100.0 else f"{value:.3g}"


def _functionality(runs: Runs) -> Iterator[Claim]:
    succeeded = sum(len(values) for run in runs for values in run.latency_s.values())
    failed = sum(count for run in runs for count in run.failed.values())
    claim = Claim("T35", "§10.3.1", "every operation is completed", Bound(">=", 1.0, is_share=True))
    yield claim.judged_by_rule([succeeded / max(1, succeeded + failed)])
    orphans = [run.played.orphaned for run in runs if run.played.orphaned is not None]
    claim = Claim("T36", "§10.3.1", "data of devices that have left is retrieved", Bound(">=", 1.0, is_share=True))
    yield claim.judged_by_rule([float(np.mean([not one.failure for one in orphans]))] if orphans else [])


def _latency(runs: Runs) -> Iterator[Claim]:
    sizes = sizes_of(runs)
    places = [mean for nodes in sizes for kind in OPERATIONS if (mean := mean_latency_s(runs, nodes, kind)) is not None]
    all_of = {
        nodes: [
            latency_s for run in runs if run.nodes == nodes for found in run.latency_s.values() for latency_s in found
        ]
        for nodes in sizes
    }
    of_all = [float(np.mean(found)) for found in all_of.values() if found]
    claim = Claim("T29a", "Fig. 16", "all operations take less than 0.3 s", Bound("<", 0.3))
    yield _judged(claim, places, "s")
    claim = Claim("T29b", "Fig. 16", "around 0.2 s on average", Bound("=", 0.2, near=0.05))
    yield _judged(claim, [float(np.mean(of_all))] if of_all else [], "s")
    claim = Claim("T29c", "Fig. 16", "latency grows with the number of devices", Trend("grows"))
    yield _judged(claim, of_all, "s")
    claim = Claim("T29d", "Fig. 16", "insert takes longest")
    means = {kind: mean_latency_s(runs, sizes[-1], kind) for kind in OPERATIONS}
    known = {kind: mean for kind, mean in means.items() if mean is not None}
    told = ", ".join(f"{kind} {1e3 * mean:.0f} ms" for kind, mean in sorted(known.items(), key=lambda one: -one[1]))
    longest = max(known, key=lambda kind: known[kind], default="")
    yield claim.judged(f"{sizes[-1]} devices: {told}", longest == "insert") if known else claim
    large = [
        fetched.latency_s
        for run in runs
        for fetched in run.played.fetched
        if (run.nodes, fetched.size_bytes, fetched.failure) == (LARGEST_NODES, LARGEST_BYTES, "")
    ]
    claim = Claim("T30", "Fig. 17", "5 MB with 32 devices: about 6 s", Bound("=", 6.0))
    yield _judged(claim, [float(np.mean(large))] if large else [], "s")


def _energy(runs: Runs, model: EnergyModel) -> Iterator[Claim]:
    insert = each(runs, ISSUING, "insert", model)
    claim = Claim("T31", "Fig. 18", "issuing an insert costs about 2 J (modelled)", Bound("=", 2.0))
    yield _judged(claim, [insert.total] if insert else [], "J")
    standby = 60.0 * model.standby_w
    claim = Claim("T32a", "Fig. 19", "a minute of running costs 67 J, 6 above standing by (modelled)", Bound("=", 67.0))
    yield _judged(claim, [standby + running(runs, model).total], "J")
    cheap = [joules for kind in CHEAP if (joules := loop_minute(runs, ISSUING, kind, model)) is not None]
    claim = Claim("T32b", "Fig. 19", "a minute of delete or (un)subscribe costs 90 J (modelled)", Bound("=", 90.0))
    yield _judged(claim, [float(np.mean(cheap))] if cheap else [], "J")
    inserts = loop_minute(runs, ISSUING, "insert", model)
    claim = Claim("T32c", "Fig. 19", "a minute of inserts costs 103 J (modelled)", Bound("=", 103.0))
    yield _judged(claim, [inserts] if inserts else [], "J")
    processed = [one.total for kind in OPERATIONS if (one := each(runs, PROCESSING, kind, model)) is not None]
    claim = Claim("T33", "Fig. 20", "processing a request costs about 1.5 J (modelled)", Bound("=", 1.5))
    yield _judged(claim, [float(np.mean(processed))] if processed else [], "J")
    yield _maintenance(runs, model)
    yield _independence(runs, model)
    minutes = ten_minutes(runs, model)
    claim = Claim("T34", "§10.3.3", "ten minutes of issuing, processing and maintaining: 2,580 J (modelled)",
                  Bound("=", 2580.0))  # fmt: skip
    yield _judged(claim, [sum(minutes.values())] if len(minutes) == 3 else [], "J")


def _maintenance(runs: Runs, model: EnergyModel) -> Claim:
    rule = Bound("between", 0.5, 1.0, against="processing")
    claim = Claim("T37", "Fig. 21", "maintaining costs a little less than processing (modelled)", rule)
    pairs = [
        (kept.total, done.total)
        for kind in OPERATIONS
        if (kept := each(runs, MAINTAINING, kind, model)) and (done := each(runs, PROCESSING, kind, model))
    ]
    return claim.judged_by_rule([sum(kept for kept, _ in pairs) / sum(done for _, done in pairs)] if pairs else [])


def _independence(runs: Runs, model: EnergyModel) -> Claim:
    claim = Claim("T38", "§10.3.3", "energy does not depend on the number of devices: an insert (modelled)",
                  Trend("holds", change=0.2))  # fmt: skip
    line = [each([run for run in runs if run.nodes == nodes], ISSUING, "insert", model) for nodes in sizes_of(runs)]
    return _judged(claim, [one.total for one in line if one is not None], "J")
