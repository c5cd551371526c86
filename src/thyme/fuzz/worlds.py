"""Worlds: a scenario and a trace, drawn at random from an approach and a seed.

A world is small (8 to 25 people, two to three minutes) and may have several troubles at once: frames that are lost,
people who switch off, crash or walk, a venue that is cut in two or jammed, clocks that differ, radio queues that are
full, settings at their bounds. The scenario is kept as the table that a TOML file would hold, so that it can be shrunk
key by key and written as it is; no other module knows how a scenario is spelled.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from thyme.approaches.registry import find_approach
from thyme.fuzz.workload import draw_ends, draw_operations
from thyme.model.operations import Operation
from thyme.model.settings import read_toml
from thyme.model.settings.writing import toml_value
from thyme.sim.scenario import Scenario, scenario_of
from thyme.sim.traces import read_trace, write_csv
from thyme.world.venue import venue_for

SCENARIO, TRACE = "scenario.toml", "trace.csv"
MAX_FINDINGS_TOLD = 8
JOINED_S = 10.0
"""All nodes that are on at the start have joined by then."""
FIRST_OPERATION_S = 35.0
"""Routes are known by then: DSDV sends its table every 15 s."""
SETTLED_S = 65.0
"""Every run continues for this long after its last operation: past four tries (30 s), and past a reminder."""
_SHARED: tuple[tuple[str, tuple[Any, ...]], ...] = (
    ("limits.own_subscriptions", (1, 3)),
    ("retry.pending", (1, 4)),
)
_PARTS: tuple[tuple[str, tuple[Any, ...]], ...] = (
    ("contents.part_bytes", (100,)),
    ("contents.window", (1,)),
    ("contents.fetches", (1,)),
)
_BOUNDS: dict[str, tuple[tuple[str, tuple[Any, ...]], ...]] = {
    "es": (*_SHARED, *_PARTS, ("past_matches", (1, 2, 100)), ("routing", ("ondemand",))),
    "ls": (
        *_SHARED,
        *_PARTS,
        ("past_matches", (1, 2, 100)),
        ("routing", ("ondemand",)),
        ("matches_per_notification", (1,)),
    ),
    "dcs": (
        *_SHARED,
        *_PARTS,
        ("past_matches", (1, 2, 100)),
        ("copies", (0, 2)),
        ("sure_members", (0, 1)),
        ("replication_list", (1, 2)),
        ("active_replication", (False,)),
        ("undelivered", (1,)),
        ("paper", (True,)),
    ),
    "drip": (
        *_SHARED,
        ("relay", ("sf",)),
        ("passing", ("copies",)),
        ("known_events", (0, 2)),
        ("catch_up_events", (1,)),
        ("past_matches", (1,)),
        ("memory_events", (1, 5)),
        ("events_per_ability", (1.0,)),
        ("brokers", (4, 30)),
        ("content_bytes", (100,)),
    ),
    "socialcast": (
        ("limits.own_subscriptions", (1, 3)),
        ("routing", ("none", "epidemic", "prophet", "spray")),
        ("copies", (1, 8)),
        ("ttl_hops", (1, 0)),
        ("lifetime_s", (30.0,)),
        ("memory_ids", (1, 5)),
        ("buffer_copies", (1, 5)),
        ("handover", ("link",)),
        ("paper", (True,)),
        ("pending_handovers", (1,)),
    ),
    "walks": (
        *_SHARED,
        *_PARTS,
        ("walker.pure", (True,)),
        ("walker.eager_steps", (0,)),
        ("settle_s", (0.0, 5.0)),
        ("published", (1,)),
        ("paper", (True,)),
        ("link_tries", (1,)),
    ),
}
_ALWAYS: dict[str, dict[str, Any]] = {
    "drip": {"likely_brokers": 1, "copies": 1},
    "socialcast": {"period_s": 5.0},
}
"""Small crowds in short worlds: three brokers, and a shorter period."""
_EITHER: dict[str, dict[str, tuple[Any, ...]]] = {
    "ls": {"telling": ({"sure": True}, {"sure": False})},
}
"""Each world has one of these: Thyme-LS with the notifications of live nodes, or with the paper's."""


class World(msgspec.Struct, frozen=True):
    """`given` is the scenario as a TOML table; `operations` the trace."""

    given: dict[str, Any]
    operations: tuple[Operation, ...]

    def scenario(self) -> Scenario:
        return scenario_of(self.given, self.given.get("name", "world"))

    @property
    def size(self) -> tuple[int, int, int]:
        """What shrinking makes smaller: operations, nodes, and the rest."""
        return len(self.operations), self.given["nodes"], len(repr(self.given))


def draw_world(approach: str, seed: int) -> World:
    """The world of this approach and seed, always the same one."""
    draws = Random(f"{approach}/{seed}/world")
    nodes = draws.randint(8, 25)
    lasts_s = draws.choice((40.0, 60.0, 80.0))
    until_s = FIRST_OPERATION_S + lasts_s + SETTLED_S
    venue = venue_for(nodes, draws.choice((1.0, 2.0, 2.0, 4.0)))
    present = nodes + (1 if find_approach(approach).capabilities.needs_server else 0)
    given: dict[str, Any] = {
        "name": f"{approach}-{seed}",
        "nodes": nodes,
        "approach": approach,
        "seed": seed,
        "settings": _settings(approach, draws, Random(f"{approach}/{seed}/either")),
        "venue": {"width_m": venue.width_m, "height_m": venue.height_m},
        "time": {"join_from_s": 0.0, "join_to_s": JOINED_S, "until_s": until_s},
        "users": {"ask_more_after_s": 0.2},
        "radio": {"model": "disc", **_radio(draws)},
    }
    end_s = FIRST_OPERATION_S + lasts_s
    if draws.random() < 0.45:
        given["movement"] = {"model": "waypoint", **_walking(draws)}
    if draws.random() < 0.5:
        given["churn"] = {"model": "listed", "changes": _changes(draws, nodes, present, end_s + SETTLED_S / 4)}
    if draws.random() < 0.3:
        given["faults"] = [_fault(draws, venue.width_m, venue.height_m, end_s) for _ in range(draws.choice((1, 1, 2)))]
    if draws.random() < 0.2:
        given["clock_skew_s"] = draws.choice((0.01, 0.2, 2.0))
    operations = draw_operations(approach, draws, nodes, FIRST_OPERATION_S, end_s)
    operations = draw_ends(operations, Random(f"{approach}/{seed}/ends"), end_s)
    if draws.random() < 0.25:
        given["disk"] = {"commit_s": draws.choice((0.02, 0.1, 0.4)), "answer_s": draws.choice((0.0, 0.02, 0.1))}
        _add_crashes(draws, given, operations)
    return World(given, tuple(operations))


def _radio(draws: Random) -> dict[str, Any]:
    radio: dict[str, Any] = {"loss": draws.choice((0.0, 0.0, 0.0, 0.05, 0.1, 0.2, 0.3))}
    if draws.random() < 0.15:
        radio["queue_frames"] = draws.choice((4, 16, 64))
    return radio


def _walking(draws: Random) -> dict[str, Any]:
    low, high = draws.choice(((0.5, 1.5), (1.0, 3.0), (2.0, 2.0), (5.0, 5.0), (1.0, 12.0)))
    pause = draws.choice(((0.0, 0.0), (5.0, 20.0), (20.0, 60.0)))
    return {
        "min_speed_mps": low,
        "max_speed_mps": high,
        "min_pause_s": pause[0],
        "max_pause_s": pause[1],
        "mobile_fraction": draws.choice((0.2, 0.6, 0.8, 1.0)),
    }


def _changes(draws: Random, nodes: int, present: int, end_s: float) -> list[dict[str, Any]]:
    """On and off, crashes and restarts. A server goes off rarely, and never loses what it stored."""
    share = draws.choice((0.1, 0.2, 0.4))
    forgets = draws.choice((0.0, 0.0, 0.3, 1.0))
    chosen = draws.sample(range(nodes), max(1, round(share * nodes)))
    changes: list[dict[str, Any]] = []
    for node in chosen + ([nodes] if present > nodes and draws.random() < 0.2 else []):
        keeps_store = node >= nodes or draws.random() >= forgets
        at_s = draws.uniform(20.0, end_s)
        for _ in range(draws.choice((1, 1, 2, 4))):
            changes.append({"at_s": round(at_s, 3), "node": node, "on": False, "keeps_store": keeps_store})
            at_s += draws.choice((3.0, 10.0, 20.0)) * draws.uniform(0.5, 1.5)
            if at_s >= end_s or draws.random() < 0.1:
                break
            changes.append({"at_s": round(at_s, 3), "node": node, "on": True, "keeps_store": keeps_store})
            at_s += draws.choice((5.0, 15.0, 30.0)) * draws.uniform(0.5, 1.5)
            if at_s >= end_s:
                break
    return sorted(changes, key=lambda change: (change["at_s"], change["node"]))


def _add_crashes(draws: Random, given: dict[str, Any], operations: list[Operation]) -> None:
    """Some users' devices crash about when an operation is committed and answered, and come back with what lasts."""
    changes = list(given.get("churn", {}).get("changes", []))
    takes_s = 2.0 * sum(given["disk"].values())
    for operation in draws.sample(operations, min(len(operations), draws.choice((2, 4, 8)))):
        at_s = operation.at_s + draws.uniform(0.0, takes_s)
        back_s = at_s + draws.uniform(2.0, 10.0)
        if operation.node not in {change["node"] for change in changes}:
            for when_s, on in ((at_s, False), (back_s, True)):
                changes.append({"at_s": round(when_s, 3), "node": operation.node, "on": on, "keeps_store": True})
    changes.sort(key=lambda change: (change["at_s"], change["node"]))
    given["churn"] = {"model": "listed", "changes": changes}


def _fault(draws: Random, width_m: float, height_m: float, end_s: float) -> dict[str, Any]:
    from_s = round(draws.uniform(20.0, end_s - 10.0), 3)
    to_s = round(min(end_s, from_s + draws.choice((5.0, 15.0, 30.0))), 3)
    fault: dict[str, Any] = {
        "kind": draws.choice(("partition", "jam", "loss", "delay")),
        "from_s": from_s,
        "to_s": to_s,
    }
    match fault["kind"]:
        case "partition":
            fault["at_m"] = round(draws.uniform(0.3, 0.7) * width_m, 1)
        case "jam":
            fault |= {"x_m": round(draws.random() * width_m, 1), "y_m": round(draws.random() * height_m, 1)}
            fault["radius_m"] = draws.choice((20.0, 50.0))
        case "loss":
            fault["probability"] = draws.choice((0.1, 0.5, 1.0))
        case _:
            fault["delay_s"] = draws.choice((0.05, 0.5, 3.0))
    return fault


def _settings(approach: str, draws: Random, either: Random) -> dict[str, Any]:
    """A few settings at a bound, 1 where one is allowed, off where something can be; in most worlds none."""
    settings: dict[str, Any] = dict(_ALWAYS.get(approach, {}))
    settings |= {key: dict(either.choice(values)) for key, values in _EITHER.get(approach, {}).items()}
    bounds = _BOUNDS.get(approach, ())
    for key, values in draws.sample(bounds, min(len(bounds), draws.choice((0, 0, 0, 1, 2, 3)))):
        section, _, name = key.rpartition(".")
        table = settings.setdefault(section, {}) if section else settings
        table[name] = draws.choice(values)
    return settings


def write_world(world: World, folder: Path, findings: Sequence[object] = ()) -> Path:
    """A folder with `trace.csv` and `scenario.toml`, which `thyme simulate` plays; the findings are in its header."""
    folder.mkdir(parents=True, exist_ok=True)
    told = [f"# {finding}" for finding in findings[:MAX_FINDINGS_TOLD]]
    if len(findings) > MAX_FINDINGS_TOLD:
        told.append(f"# and {len(findings) - MAX_FINDINGS_TOLD} more")
    write_csv(world.operations, folder / TRACE)
    lines = [*told, *_toml({**world.given, "trace": TRACE})]
    (folder / SCENARIO).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder / SCENARIO


def read_world(folder: Path) -> World:
    given, _ = read_toml(folder / SCENARIO)
    trace = given.pop("trace", TRACE)
    return World(given, tuple(read_trace(folder / trace)))


def _toml(table: dict[str, Any], path: str = "") -> list[str]:
    """A table as TOML: its values first, then its sections."""
    lines = [f"{key} = {_value(value)}" for key, value in table.items() if not isinstance(value, dict)]
    for key, value in table.items():
        if isinstance(value, dict) and value:
            below = f"{path}{key}"
            section = _toml(value, f"{below}.")
            has_values = any(not isinstance(one, dict) for one in value.values())
            lines += ["", f"[{below}]"] * has_values + section
    return lines


def _value(value: Any) -> str:
    """A list of tables has a line for each."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "[\n" + "".join(f"    {toml_value(one)},\n" for one in value) + "]"
    return toml_value(value)
