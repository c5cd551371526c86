"""The points of SocialCast's evaluation: Figures 3 to 10 and Table I of the paper (§V), and what a run gives.

A point belongs to a figure, a line of it and a place on its axis, and has a scenario and a workload; its runs
differ in their seed. Several figures share points, which are run once. Delivery counts pairs of a
message and a subscriber other than its publisher; traffic counts data messages that reached a neighbour, for it to
read or to carry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from thyme.approaches.socialcast.options import MAX_MEMORY_IDS
from thyme.approaches.socialcast.protocol import BUFFERED
from thyme.model.operations import Operation
from thyme.papers.deliveries import deliveries, expected_pairs, rows_of
from thyme.papers.socialcast.workload import SocialWorkload, publication_of
from thyme.sim.scenario import Scenario, scenario_of
from thyme.world.movement_models import Community

SNAPSHOT_S = 10_000.0
"""When Figure 7 looks into the buffers."""
SIDE_M = 4_000.0
PREDICTION, RANDOM = "SocialCast", "no prediction"
ROUTING = {PREDICTION: "prediction", RANDOM: "none"}
COPIES = (1, 2, 3, 5, 7, 10, 15)
HOPS = (5, 10, 15, 20, 25, 35, 50)
SPEEDS_MPS = (1.0, 3.0, 6.0, 10.0, 20.0)
WEIGHTS = (0.0, 0.25, 0.5, 0.75, 1.0)
INTERESTS = (7, 10, 15, 20)
SIDES_M = (2_000.0, 3_000.0, 4_000.0, 6_000.0, 8_000.0)
NO_LIMIT = 0
PAPER_HOPS = 10
DRIFT = Community().drift

ERROR_BOUND = 0.5
"""The paper does not give one; with this one every prediction counts, as in a protocol without the component. What
others give is in `docs/lab/socialcast.md`."""


def _utilities(weight_colocation: float) -> dict[str, Any]:
    return {
        "weight_colocation": weight_colocation,
        "weight_connectivity": 1.0 - weight_colocation,
        "trust": {"error_bound": ERROR_BOUND},
    }


_SETTINGS: dict[str, Any] = {
    "paper": True,
    "routing": "prediction",
    "copies": 3,
    "ttl_hops": PAPER_HOPS,
    "memory_ids": 100,
    "handover": "link",
    "utilities": _utilities(0.75),
    "sample_every_s": SNAPSHOT_S,
}
"""With a radio that never loses an acknowledgement, as the paper's pseudo-code takes for granted, the link's word on
a hand-over can be trusted."""
_COMMUNITY: dict[str, Any] = {"caves": {"caves": 10}, "max_speed_mps": 6.0}


class SocialPoint(msgspec.Struct, frozen=True):
    figure: str
    series: str
    x: float
    scenario: Scenario
    workload: SocialWorkload = SocialWorkload()
    messages: int = 1
    """Number of single-copy messages per publication, where each copy has its own identifier."""
    one_network: bool = False
    """All runs have the network, squares and ways of the first seed."""

    @property
    def key(self) -> bytes:
        """The same for points that have the same runs."""
        return msgspec.json.encode((self.scenario, self.workload, self.messages, self.one_network))


class SocialMeasure(msgspec.Struct, frozen=True):
    """What one run gave."""

    seed: int
    delivered: int
    ideal: int
    traffic: int
    latency_s: float
    """Mean over delivered messages; NaN if there are none."""
    hops: tuple[int, ...]
    """Of each delivery."""
    buffered: tuple[int, ...]
    """Copies in each node's buffer at the snapshot."""

    @property
    def delivery(self) -> float:
        return self.delivered / self.ideal if self.ideal else 1.0


def paper_scenario(settings: Mapping[str, Any], side_m: float = SIDE_M, **community: Any) -> Scenario:
    """Table I, with these changes. What figures vary is always spelled out, so that equal points are equal."""
    given = {
        "name": "socialcast",
        "nodes": 100,
        "approach": "socialcast",
        "settings": {**_SETTINGS, **settings},
        "venue": {"width_m": side_m, "height_m": side_m},
        "movement": {"model": "community", **_COMMUNITY, **community},
        "radio": {"model": "disc", "range_m": 250.0},
        "time": {"join_from_s": 0.0, "join_to_s": 0.0, "until_s": 28_800.0},
        "users": {"retrieval": {"probability": 0.0}, "ask_more": False},
    }
    return scenario_of(given, "socialcast")


class Reading(msgspec.Struct, frozen=True):
    """Details that the paper leaves open or states ambiguously."""

    memory_ids: int = 100
    """λ of Table I; with more than there are messages no node is sent one twice."""
    ttl_hops: int = PAPER_HOPS
    """The limit of hops where a figure does not vary it; the paper states none."""
    drift: float = DRIFT
    """Attraction of every square regardless of the people in it; the paper has none, the model's reference code has."""
    error_bound: float = ERROR_BOUND
    handover: str = "link"
    identifiers: Literal["message", "copy"] = "message"
    """What λ remembers: a message, or each of its γ copies as a message of its own ("each copy is routed
    independently", §IV)."""
    networks: Literal["each", "one"] = "each"
    """Whether every run draws its own social network, squares and routes, or all use those of the first seed."""


DEFAULT_READING = Reading()
READINGS = {
    "default": DEFAULT_READING,
    "six hops": Reading(memory_ids=300, ttl_hops=6, drift=0.0001),
    "per copy": Reading(memory_ids=MAX_MEMORY_IDS, identifiers="copy"),
}
"""Readings that have a name; docs/lab/socialcast.md says what each reproduces."""


def socialcast_points(
    figures: Sequence[str] = ("3", "4", "5", "6", "7", "8", "9", "10"), reading: Reading = DEFAULT_READING
) -> list[SocialPoint]:
    """All points of these figures."""
    makers: dict[str, Callable[[], Iterator[SocialPoint]]] = {
        "3": _copies, "4": _publishers, "5": _hops, "6": _unlimited, "7": _defaults, "8": _speeds, "9": _interests,
        "10": _density,
    }  # fmt: skip
    points = [point for figure in figures for point in makers[figure]()]
    return [_read(point, reading) for point in points]


def _read(point: SocialPoint, reading: Reading) -> SocialPoint:
    scenario = point.scenario
    settings = {**scenario.settings, "memory_ids": reading.memory_ids, "handover": reading.handover}
    settings["utilities"] = {**settings["utilities"], "trust": {"error_bound": reading.error_bound}}
    if point.figure != "5" and settings["ttl_hops"] == PAPER_HOPS:
        settings["ttl_hops"] = reading.ttl_hops
    messages = settings["copies"] if reading.identifiers == "copy" else 1
    settings["copies"] //= messages
    assert isinstance(scenario.movement, Community)
    movement = msgspec.structs.replace(scenario.movement, drift=reading.drift)
    read = msgspec.structs.replace(scenario, settings=settings, movement=movement)
    return msgspec.structs.replace(point, scenario=read, messages=messages, one_network=reading.networks == "one")


def measure(events: pa.Table, operations: Sequence[Operation], point: SocialPoint, seed: int) -> SocialMeasure:
    """Read the events of a run. A publication counts once per subscriber, at its first arrival."""
    notified = sorted(deliveries(events, ["value", "count", "at_s"]), key=lambda row: row["at_s"])
    first_of: dict[tuple[str, str], dict[str, Any]] = {}
    for row in notified:
        first_of.setdefault((publication_of(row["object"].split("@")[0]), row["subscription"]), row)
    rows = list(first_of.values())
    received = rows_of(events, "received")
    received = received.filter(pc.is_in(received["name"], pa.array(["Data", "Offer"])))
    sampled = rows_of(events, "sampled")
    sampled = sampled.filter(pc.equal(sampled["name"], BUFFERED))
    first = sampled.filter(pc.less(sampled["at_s"], 2.0 * SNAPSHOT_S)).sort_by("node")
    return SocialMeasure(
        seed=seed,
        delivered=len(rows),
        ideal=len({(publication_of(name), node) for name, node in expected_pairs(operations)}),
        traffic=int(sum(received["count"].to_pylist())),
        latency_s=sum(row["value"] for row in rows) / len(rows) if rows else float("nan"),
        hops=tuple(row["count"] for row in rows),
        buffered=tuple(int(value) for value in first["value"].to_pylist()),
    )


def _copies() -> Iterator[SocialPoint]:
    for copies in COPIES:
        for series, routing in ROUTING.items():
            yield SocialPoint("3", series, copies, paper_scenario({"routing": routing, "copies": copies}))


def _publishers() -> Iterator[SocialPoint]:
    for copies in COPIES:
        scenario = paper_scenario({"routing": "prediction", "copies": copies})
        yield SocialPoint("4", "uniform publishers", copies, scenario)
        yield SocialPoint("4", "subscribing publishers", copies, scenario, SocialWorkload(chosen="subscribers"))


def _hops() -> Iterator[SocialPoint]:
    for hops in HOPS:
        for series, routing in ROUTING.items():
            yield SocialPoint("5", series, hops, paper_scenario({"routing": routing, "ttl_hops": hops}))


def _unlimited() -> Iterator[SocialPoint]:
    for series, routing in ROUTING.items():
        yield SocialPoint("6", series, 0.0, paper_scenario({"routing": routing, "ttl_hops": NO_LIMIT}))


def _defaults() -> Iterator[SocialPoint]:
    for series, routing in ROUTING.items():
        yield SocialPoint("7", series, 0.0, paper_scenario({"routing": routing}))


def _speeds() -> Iterator[SocialPoint]:
    for speed_mps in SPEEDS_MPS:
        for weight in WEIGHTS:
            scenario = paper_scenario({"utilities": _utilities(weight)}, max_speed_mps=speed_mps)
            yield SocialPoint("8", f"w_col = {weight:g}", speed_mps, scenario)


def _interests() -> Iterator[SocialPoint]:
    for interests in INTERESTS:
        caves = {"caves": interests}
        for series, routing, copies in (
            (PREDICTION, "prediction", 3),
            (PREDICTION, "prediction", 10),
            (RANDOM, "none", 3),
        ):
            scenario = paper_scenario({"routing": routing, "copies": copies}, caves=caves)
            yield SocialPoint("9", f"{series}, γ = {copies}", interests, scenario)


def _density() -> Iterator[SocialPoint]:
    for side_m in SIDES_M:
        for series, routing in ROUTING.items():
            scenario = paper_scenario({"routing": routing, "ttl_hops": NO_LIMIT}, side_m)
            yield SocialPoint("10", series, side_m, scenario)
