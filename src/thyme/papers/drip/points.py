"""The points of DRIP's evaluation: Figures 3(a), 3(b) and 4 of the paper (§VI), and what a run gives.

A point belongs to a figure, a line of it and a number of brokers k. Its runs differ in their seed, which decides
places, ways, abilities, subscriptions and events alike. The radio is a unit disc of 120 m, a time unit is a second.
Delivery counts pairs of an event and a subscriber that has not detected it itself. Where several nodes detect an event
and publish it, the first of their objects to arrive counts. Broker coverage is, over these pairs, the share of brokers
that have the event when the subscriber gets it (§VI-A).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from math import inf, nan
from typing import Any

import msgspec
import pyarrow as pa

from thyme.model.ids import NodeId
from thyme.model.operations import Operation
from thyme.model.records import OperationKind
from thyme.papers.deliveries import deliveries, expected_pairs, rows_of
from thyme.papers.drip.workload import NumberIntervals, number_intervals
from thyme.sim.scenario import Scenario, scenario_of
from thyme.world.mobility.waypoint import DRIP_WALK

BROKERS = (10, 20, 30, 40)
COPIES = (2, 4, 6)
COVERAGE_LIKELY, DELAY_LIKELY = 4, 5
"""l of Figure 3(a), and of Figures 3(b) and 4."""
SELECTION_COPIES = 4
"""m of Figure 4, which the paper does not give."""
SF, SF_BRIDGES, ABILITY, RANDOM = "SF", "SF over bridges", "DRIP", "random selection"
DURATION_S = 500.0
FIGURES = ("3a", "3b", "4")
WARM_UP_S, TAIL_S = 30.0, 10.0


class DripPoint(msgspec.Struct, frozen=True):
    figure: str
    series: str
    x: int
    """k."""
    scenario: Scenario
    duration_s: float = DURATION_S
    detectors: float = 1.0

    @property
    def key(self) -> bytes:
        """The same for points that have the same runs."""
        return msgspec.json.encode((self.scenario, self.duration_s, self.detectors))


class DripMeasure(msgspec.Struct, frozen=True):
    """What one run gave."""

    seed: int
    delivered: int
    ideal: int
    delay_s: float
    """Mean over delivered events; NaN if there are none."""
    coverage: float
    frames: int
    step_s: float = 0.0
    """Mean time from publication until the first broker had an event: the step that able brokers save (§VI-B2)."""

    @property
    def delivery(self) -> float:
        return self.delivered / self.ideal if self.ideal else 1.0


RADIOS: dict[str, dict[str, Any]] = {"disc": {"model": "disc", "range_m": 120.0}, "wifi": {"model": "wifi"}}
"""The paper's range without collisions, or 802.11g, which reaches about 113 m."""


def copies_series(copies: int) -> str:
    return f"DRIP, m = {copies}"


def paper_scenario(duration_s: float = DURATION_S, radio: str = "disc", **settings: Any) -> Scenario:
    """§VI-A1, with these settings of DRIP. Brokers report every move of a subscriber to each other."""
    given: dict[str, Any] = {
        "name": "drip",
        "nodes": 200,
        "approach": "drip",
        "settings": {"paper": True, "cooperation": {"moves": "all"}, **settings},
        "venue": {"width_m": 1_000.0, "height_m": 1_000.0},
        "movement": msgspec.to_builtins(DRIP_WALK),
        "radio": RADIOS[radio],
        "time": {"join_from_s": 0.0, "join_to_s": 1.0, "until_s": WARM_UP_S + duration_s + TAIL_S},
        "users": {"retrieval": {"probability": 0.0}, "ask_more": False},
    }
    return scenario_of(given, "drip")


def drip_points(
    figures: Iterable[str] = FIGURES,
    duration_s: float = DURATION_S,
    passing: str = "interested",
    radio: str = "disc",
    detectors: float = 1.0,
    events_per_ability: float = 0.0,
) -> list[DripPoint]:
    """All points of these figures; those that break l + m < k are left out."""
    memory = {"events_per_ability": events_per_ability} if events_per_ability else {}
    return [
        DripPoint(
            figure,
            series,
            settings["brokers"],
            paper_scenario(duration_s, radio, **settings, **memory, **read),
            duration_s,
            detectors,
        )
        for figure in figures
        for series, settings in _lines(figure)
        for read in ({} if passing == "interested" or settings["relay"] == "sf" else {"passing": passing},)
    ]


def _lines(figure: str) -> Iterator[tuple[str, dict[str, Any]]]:
    likely = COVERAGE_LIKELY if figure == "3a" else DELAY_LIKELY
    for brokers in BROKERS:
        given = {"brokers": brokers, "likely_brokers": likely}
        if figure == "4":
            chosen = {**given, "copies": SELECTION_COPIES, "relay": "mcmd"}
            yield ABILITY, {**chosen, "selection": "ability"}
            yield RANDOM, {**chosen, "selection": "random"}
            continue
        for copies in COPIES:
            if likely + copies < brokers:
                yield copies_series(copies), {**given, "copies": copies, "relay": "mcmd", "selection": "ability"}
        # l and m mean nothing to SF: both figures show the same runs, with an m that is valid with every k.
        same = {"brokers": brokers, "likely_brokers": DELAY_LIKELY, "copies": COPIES[0]}
        epidemic = {**same, "relay": "sf", "selection": "ability"}
        yield SF, {**epidemic, "sf_contacts": "neighbours"}
        yield SF_BRIDGES, {**epidemic, "sf_contacts": "bridges"}


def seeded(point: DripPoint, seed: int) -> tuple[Scenario, list[Operation]]:
    """The scenario and the trace of one run."""
    settings = {**point.scenario.settings, "ability_seed": seed}
    scenario = msgspec.structs.replace(point.scenario, seed=seed, settings=settings)
    workload = NumberIntervals(
        nodes=scenario.nodes, seed=seed, ability_seed=seed, events_from_s=WARM_UP_S,
        events_to_s=WARM_UP_S + point.duration_s, detectors=point.detectors,
    )  # fmt: skip
    return scenario, number_intervals(workload)


def measure(events: pa.Table, operations: Sequence[Operation], point: DripPoint, seed: int) -> DripMeasure:
    """Read the events of a run."""
    inserts = [operation for operation in operations if operation.kind == OperationKind.INSERT]
    began_s = {operation.oid: operation.at_s for operation in inserts}
    copied_s = _copy_times(events)
    first_s = _first_deliveries(events, {(operation.oid, operation.node) for operation in inserts})
    holders = [bisect_right(copied_s.get(name, []), at_s) for (name, _), at_s in first_s.items()]
    sent = rows_of(events, "sent")
    many = len(first_s)
    steps = [times_s[0] - began_s[name] for name, times_s in copied_s.items()]
    return DripMeasure(
        seed=seed,
        delivered=many,
        ideal=len(expected_pairs(operations)),
        delay_s=sum(at_s - began_s[name] for (name, _), at_s in first_s.items()) / many if many else nan,
        coverage=sum(holders) / (many * point.x) if many else nan,
        frames=int(sum(sent["count"].to_pylist())),
        step_s=sum(steps) / len(steps) if steps else nan,
    )


def _first_deliveries(events: pa.Table, detected: set[tuple[str, NodeId]]) -> dict[tuple[str, int], float]:
    """The time of each subscriber's first notification, by event and node; detectors are left out."""
    found: dict[tuple[str, int], float] = {}
    for row in deliveries(events, ["at_s", "node"]):
        pair = row["object"].rpartition("@")[0], NodeId(row["node"])
        if pair not in detected:
            found[pair] = min(row["at_s"], found.get(pair, inf))
    return found


def _copy_times(events: pa.Table) -> dict[str, list[float]]:
    """When brokers first got each event, in order, by its name."""
    first_s: dict[str, dict[int, float]] = {}
    for row in rows_of(events, "copied").select(["at_s", "node", "object"]).to_pylist():
        of_event = first_s.setdefault(row["object"].rpartition("@")[0], {})
        of_event[row["node"]] = min(row["at_s"], of_event.get(row["node"], inf))
    return {name: sorted(times_s.values()) for name, times_s in first_s.items()}
