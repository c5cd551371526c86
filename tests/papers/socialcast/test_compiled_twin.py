"""The compiled SocialCast run is the run of the classes: the same deliveries at the same instants, the same bytes."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thyme.model.errors import InputError
from thyme.model.ids import NodeId
from thyme.model.operations import Operation
from thyme.model.records import OperationKind
from thyme.papers.socialcast.twin.run import SocialRun, play_compiled
from thyme.sim.run import simulate
from thyme.sim.scenario import Scenario, scenario_of

HEADER_BYTES = 64


def subscribe(number: int, node: int, topic: str, at_s: float = 1.0) -> Operation:
    return Operation(number, at_s, NodeId(node), OperationKind.SUBSCRIBE, sid=0, query=topic)


def publish(number: int, node: int, topic: str, at_s: float) -> Operation:
    return Operation(
        number, at_s, NodeId(node), OperationKind.INSERT, oid=f"m{number}", tags=(topic,), size_bytes=100
    )  # fmt: skip


def crowd(nodes: int, movement: dict[str, Any], until_s: float, **of_socialcast: Any) -> Scenario:
    given = {
        "nodes": nodes,
        "approach": "socialcast",
        "settings": {"sample_every_s": 500.0, "handover": "link", "given_ids": 0, **of_socialcast},
        "venue": {"width_m": 1_500.0, "height_m": 1_500.0},
        "movement": movement,
        "radio": {"model": "disc", "range_m": 250.0},
        "time": {"join_from_s": 0.0, "join_to_s": 0.0, "until_s": until_s},
        "users": {"retrieval": {"probability": 0.0}, "ask_more": False},
    }
    return scenario_of(given, "test")


def as_told_by_the_classes(scenario: Scenario, operations: list[Operation]) -> SocialRun:
    events = simulate(scenario, operations).events
    number = {
        f"{one.oid}@{one.node}": k
        for k, one in enumerate(operation for operation in operations if operation.kind == OperationKind.INSERT)
    }
    notified = rows(events, "notified").to_pylist()
    control, samples = named(events, "sent", "Control"), rows(events, "sampled")
    first = samples.filter(pc.less(samples["at_s"], 1_000.0)).sort_by("node")
    return SocialRun(
        tuple(row["node"] for row in notified),
        tuple(number[row["object"]] for row in notified),
        tuple(row["at_s"] for row in notified),
        tuple(row["count"] for row in notified),
        tuple(int(value) for value in first["value"].to_pylist()),
        sum(total(named(events, "received", name), "count") for name in ("Data", "Offer")),
        sum(total(named(events, "sent", name), "count") for name in ("Data", "Offer")),
        total(control, "count"),
        total(control, "size_bytes") + HEADER_BYTES * total(control, "count"),
    )


def rows(events: pa.Table, kind: str) -> pa.Table:
    return events.filter(pc.equal(events["kind"], kind))


def named(events: pa.Table, kind: str, name: str) -> pa.Table:
    found = rows(events, kind)
    return found.filter(pc.equal(found["name"], name))


def total(table: pa.Table, column: str) -> int:
    return int(sum(table[column].to_pylist()))


COMMUNITY = {"model": "community", "caves": {"caves": 4}}
TALK = [
    *(subscribe(number, node, f"interest{node % 4}") for number, node in enumerate(range(0, 40, 2))),
    *(publish(20 + k, k % 40, f"interest{k % 4}", 300.0 + 3.7 * k) for k in range(70)),
]


@pytest.mark.parametrize(
    "of_socialcast",
    [
        {},
        {"routing": "none"},
        {"handover": "confirmed"},
        {"handover": "confirmed", "routing": "none", "ttl_hops": 0, "memory_ids": 7, "copies": 5},
        {"routing": "none", "ttl_hops": 0, "memory_ids": 7, "copies": 5},
        {"hysteresis": 0.0, "ttl_hops": 0, "memory_ids": 20},
        {"utilities": {"weight_colocation": 0.2, "weight_connectivity": 0.8, "trust": {"error_bound": 0.3}}},
    ],
)
def test_a_crowd_is_told_the_same_at_the_same_instants(of_socialcast: dict[str, Any]) -> None:
    scenario = crowd(40, COMMUNITY, 1_500.0, **of_socialcast)
    found = play_compiled(scenario, TALK)
    assert found == as_told_by_the_classes(scenario, TALK)
    assert len(found.at_s) > 20
    assert len(found.buffered) == 40


contact = st.tuples(
    st.integers(0, 4), st.integers(0, 4), st.floats(0.0, 600.0, width=32), st.floats(0.125, 200.0, width=32)
)


@settings(max_examples=40)
@given(
    st.lists(contact, min_size=1, max_size=25),
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2), st.floats(2.0, 500.0, width=32)), max_size=12),
    st.lists(st.integers(0, 3), min_size=5, max_size=5),
    st.sampled_from(["prediction", "none"]),
    st.integers(1, 4),
    st.integers(0, 3),
    st.integers(1, 5),
    st.sampled_from(["link", "confirmed"]),
)
def test_any_table_of_contacts_gives_the_same_run(
    met: list[tuple[int, int, float, float]],
    published: list[tuple[int, int, float]],
    interests: list[int],
    routing: str,
    copies: int,
    ttl_hops: int,
    memory_ids: int,
    handover: str,
) -> None:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "contacts.txt"
        meetings = [f"{a} {b} {from_s!r} {from_s + for_s!r}\n" for a, b, from_s, for_s in met if a != b]
        file.write_text("".join(meetings) + "0 1 2000 2001\n1 2 2000 2001\n2 3 2000 2001\n3 4 2000 2001\n")
        movement = {"model": "contacts", "file": str(file), "begin_s": 0.0}
        scenario = crowd(
            5,
            movement,
            900.0,
            routing=routing,
            copies=copies,
            ttl_hops=ttl_hops,
            memory_ids=memory_ids,
            hysteresis=0.05,
            handover=handover,
        )
        operations = [subscribe(k, k, f"topic{one}") for k, one in enumerate(interests) if one < 3]
        for node, topic, at_s in sorted(published, key=lambda one: one[2]):
            operations.append(publish(5 + len(operations), node, f"topic{topic}", at_s))
        assert play_compiled(scenario, operations) == as_told_by_the_classes(scenario, operations)


@pytest.mark.parametrize(
    ("of_socialcast", "said"),
    [
        ({"routing": "epidemic"}, "routing 'epidemic'"),
        ({"lifetime_s": 5.0}, "lifetime_s"),
        ({"lifetimes_s": {"goal": 5.0}}, "lifetimes_s"),
        ({"given_ids": 1}, "given_ids"),
        ({"buffer_copies": 5}, "buffer"),
    ],
)
def test_what_the_compiled_run_does_not_know_is_refused(of_socialcast: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        play_compiled(crowd(40, COMMUNITY, 100.0, **of_socialcast), TALK)


def test_operations_on_more_than_one_tag_are_refused() -> None:
    scenario = crowd(40, COMMUNITY, 100.0)
    with pytest.raises(InputError, match="more than one tag"):
        play_compiled(scenario, [subscribe(0, 1, "goal & final")])
    with pytest.raises(InputError, match="two subscriptions of one node"):
        play_compiled(scenario, [subscribe(0, 1, "goal"), subscribe(1, 1, "final")])
    with pytest.raises(InputError, match="socialcast only"):
        play_compiled(msgspec.structs.replace(scenario, approach="ls", settings={}), [])
