"""SocialCast's evaluation as a whole: a sweep of its points, the table, the figures and the claims, in one folder.

Spark runs what is missing; finished runs are stored under their identity and not repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from thyme.model.operations import Operation
from thyme.model.settings.bounds import AtLeastOne
from thyme.papers.evaluated import Evaluated, Measurement, PaperEvaluation, measurements_at
from thyme.papers.point_runs import play_points
from thyme.papers.socialcast.claims import judge_socialcast
from thyme.papers.socialcast.figures import points_csv, socialcast_figures
from thyme.papers.socialcast.points import READINGS, Reading, SocialMeasure, SocialPoint, measure, socialcast_points
from thyme.papers.socialcast.workload import communities_of, social_operations
from thyme.pipeline.runs.sweep import OnProgress
from thyme.sim.scenario import Scenario
from thyme.study.report.tables import FailedRun
from thyme.world.mobility.community import Community


class SeededTraces:
    """Scenarios and traces of runs. Finding the communities of a network takes a while, and points share networks."""

    def __init__(self, first_seed: int) -> None:
        self._first_seed = first_seed
        self._communities: dict[bytes, list[int]] = {}

    def seeded(self, point: SocialPoint, seed: int) -> tuple[Scenario, list[Operation]]:
        if point.one_network:
            changes = {"seed": self._first_seed, "repetition": seed - self._first_seed}
        else:
            changes = {"seed": seed}
        scenario = msgspec.structs.replace(point.scenario, **changes)
        movement = scenario.movement
        ties = movement.caves if isinstance(movement, Community) else movement
        network = msgspec.json.encode((scenario.nodes, scenario.place_seed, ties))
        if network not in self._communities:
            self._communities[network] = communities_of(scenario)
        communities = self._communities[network]
        return scenario, social_operations(communities, point.workload, scenario.run_seed, point.messages)


class SocialCastEvaluation(PaperEvaluation, frozen=True):
    """A key of `Reading` that is given goes before that of the named reading."""

    repetitions: AtLeastOne = 20
    figures: tuple[Literal["3", "4", "5", "6", "7", "8", "9", "10"], ...] = ("3", "4", "5", "6", "7", "8", "9", "10")
    first_seed: int = 1
    reading: Literal["default", "six hops", "per copy"] = "default"
    memory_ids: int | None = None
    ttl_hops: int | None = None
    drift: float | None = None
    error_bound: float | None = None
    handover: str | None = None
    identifiers: Literal["message", "copy"] | None = None
    networks: Literal["each", "one"] | None = None

    def chosen_reading(self) -> Reading:
        given = {name: getattr(self, name) for name in Reading.__struct_fields__}
        changed = {name: value for name, value in given.items() if value is not None}
        return msgspec.structs.replace(READINGS[self.reading], **changed)

    def run(self, out: Path, master: str, watch: OnProgress) -> Evaluated:
        points = socialcast_points(self.figures, self.chosen_reading())
        seeds = range(self.first_seed, self.first_seed + self.repetitions)
        traces = SeededTraces(self.first_seed)
        runs, found, failed = play_points("socialcast", points, seeds, traces.seeded, measure, out, master, watch)
        return write_evaluation(points, found, out, runs, failed)


def write_evaluation(
    points: list[SocialPoint],
    found: dict[bytes, list[SocialMeasure]],
    out: Path,
    runs: int,
    failed: Sequence[FailedRun] = (),
) -> Evaluated:
    """The paper's table of whatever was run, in `out`; gives the same as metrics, with figures and claims."""
    out.mkdir(parents=True, exist_ok=True)
    (out / "socialcast.csv").write_text(points_csv(points, found), "utf-8")
    return Evaluated(
        claims=tuple(judge_socialcast(points, found)),
        measured=tuple(one for point in points for one in _measured(point, found.get(point.key, ()))),
        pictures=tuple(socialcast_figures(points, found)),
        runs=runs,
        failed=tuple(failed),
    )


def _measured(point: SocialPoint, runs: Sequence[SocialMeasure]) -> list[Measurement]:
    readers: dict[str, Callable[[SocialMeasure], float]] = {
        "delivery": lambda run: run.delivery,
        "traffic.messages": lambda run: run.traffic,
        "latency_s": lambda run: run.latency_s,
        "hops.mean": lambda run: _mean(run.hops),
        "hops.max": lambda run: max(run.hops, default=0),
        "buffer.mean": lambda run: _mean(run.buffered),
        "buffer.below_5.share": lambda run: _mean([size < 5 for size in run.buffered]),
    }
    place = {"figure": point.figure, "series": point.series, "x": point.x}
    return measurements_at(place, {metric: [read(run) for run in runs] for metric, read in readers.items()})


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else float("nan")
