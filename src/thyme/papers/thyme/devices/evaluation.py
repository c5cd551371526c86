"""The devices' evaluation as a whole (Thyme FGCS §10): crowds of live nodes, the table, the figures and the claims."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from thyme.live.emulation.area import MAX_NODES
from thyme.live.emulation.meter import ISSUING, MAINTAINING, PROCESSING
from thyme.model.errors import InputError
from thyme.papers.evaluated import Evaluated, Measurement, measurements_at
from thyme.papers.thyme.devices.claims import judge_devices, sizes_of
from thyme.papers.thyme.devices.energy import EnergyModel, each, loop_minute, running, ten_minutes
from thyme.papers.thyme.devices.figures import device_figures
from thyme.papers.thyme.devices.runs import OPERATIONS, DeviceRun, play_all, use_case_of
from thyme.pipeline.runs.sweep import OnProgress
from thyme.study.folder import RUNS

MAX_SIZE_BYTES = 100_000_000


def run_evaluation(
    out: Path,
    nodes: Sequence[int],
    seconds: float,
    sizes: Sequence[int],
    pause_s: float,
    repetitions: int,
    watch: OnProgress,
) -> Evaluated:
    """Play what was not played before, and judge it."""
    check(nodes, seconds, sizes, pause_s)
    cases = [
        use_case_of(number, seed, seconds, pause_s, sorted(set(sizes)))
        for seed in range(1, repetitions + 1)
        for number in sorted(set(nodes))
    ]
    runs, failed = play_all(cases, out / RUNS, watch)
    model = EnergyModel()
    return Evaluated(
        claims=tuple(judge_devices(runs, model)),
        measured=tuple(_measured(runs, model)),
        pictures=tuple(device_figures(runs, model)),
        runs=len(cases),
        failed=tuple(failed),
    )


def check(nodes: Sequence[int], seconds: float, sizes: Sequence[int], pause_s: float) -> None:
    wrong = [number for number in nodes if not isinstance(number, int) or not 2 <= number <= MAX_NODES]
    if wrong or not nodes:
        raise InputError(f"nodes has {wrong[0] if wrong else 'nothing'}; expected numbers from 2 to {MAX_NODES}")
    odd = [size for size in sizes if not isinstance(size, int) or not 1 <= size <= MAX_SIZE_BYTES]
    if odd:
        raise InputError(f"sizes has {odd[0]!r}; expected bytes from 1 to {MAX_SIZE_BYTES:,}")
    if not 5.0 <= seconds <= 3600.0:
        raise InputError(f"seconds is {seconds:g}; expected 5 to 3600 of the closed loop")
    if not 0.05 <= pause_s <= 60.0:
        raise InputError(f"pause_s is {pause_s:g}; expected 0.05 to 60 between two operations")


def _measured(runs: Sequence[DeviceRun], model: EnergyModel) -> Iterator[Measurement]:
    for nodes in sizes_of(runs):
        own = [run for run in runs if run.nodes == nodes]
        values: dict[str, list[float]] = {
            "operations": [float(sum(map(len, run.latency_s.values()))) for run in own],
            "failed": [float(sum(run.failed.values())) for run in own],
            "withdrawn": [float(run.withdrawn) for run in own],
            "notification.latency_s": [_mean(run.notified_s) for run in own if run.notified_s],
            "channel_in_use": [run.played.air_busy for run in own],
            "late_s": [run.played.air_late_s for run in own],
            "load": [run.load for run in own],
            "orphaned.retrieve_s": [
                one.latency_s for run in own if (one := run.played.orphaned) is not None and not one.failure
            ],
        }
        for kind in OPERATIONS:
            values[f"{kind}.latency_s"] = [_mean(run.latency_s[kind]) for run in own if run.latency_s.get(kind)]
        yield from measurements_at({"nodes": nodes}, values)
        for size in sorted({one.size_bytes for run in own for one in run.played.fetched}):
            found = [one for run in own for one in run.played.fetched if one.size_bytes == size and not one.failure]
            place = {"nodes": nodes, "size_bytes": size}
            yield from measurements_at(place, {"retrieve_s": [one.latency_s for one in found]})
    yield from _modelled(runs, model)


def _modelled(runs: Sequence[DeviceRun], model: EnergyModel) -> Iterator[Measurement]:
    """Joules, as the model has them."""
    for kind in OPERATIONS:
        for role in (ISSUING, PROCESSING, MAINTAINING):
            one, minute = each(runs, role, kind, model), loop_minute(runs, role, kind, model)
            found = {"modelled_j": [one.total] if one else [], "modelled_minute_j": [minute] if minute else []}
            yield from measurements_at({"role": role, "operation": kind}, found)
    yield from measurements_at({"role": "running"}, {"modelled_minute_j": [running(runs, model).total]})
    for role, joules in ten_minutes(runs, model).items():
        yield from measurements_at({"role": role}, {"modelled_ten_minutes_j": [joules]})


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
