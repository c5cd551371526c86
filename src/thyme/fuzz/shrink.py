"""Shrinking: from a world that breaks a promise to a small one that still does.

Operations, switches, faults and settings are left out, the radio is made perfect, people stand still, nodes go and the
run ends sooner, as long as the same promise is still broken. Each try plays the world, so tries are counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from typing import Any

import msgspec

from thyme.fuzz.worlds import World
from thyme.model.errors import InputError
from thyme.model.ids import NodeId
from thyme.model.operations import Operation
from thyme.model.records import OperationKind

MAX_TRIES = 300
"""Worlds that are played to shrink one."""
SHORTER_S = (40.0, 20.0, 10.0, 5.0)
_TROUBLES = ("faults", "churn", "movement", "clock_skew_s", "disk")
_CREATES = {OperationKind.DELETE: OperationKind.INSERT, OperationKind.UNSUBSCRIBE: OperationKind.SUBSCRIBE}


def shrink(world: World, breaks: Callable[[World], bool], tries: int = MAX_TRIES) -> World:
    """The smallest world found within `tries` for which `breaks` holds, as it does for `world`."""
    left = tries

    def first_that_breaks(candidates: Iterator[World]) -> World | None:
        nonlocal left
        for candidate in candidates:
            if left <= 0:
                return None
            left -= 1
            try:
                if breaks(candidate):
                    return candidate
            except InputError:
                continue
        return None

    steps = (_without_troubles, _without_operations, _with_fewer_nodes, _without_details, _shorter)
    smaller = True
    while smaller and left > 0:
        smaller = False
        for step in steps:
            while (found := first_that_breaks(step(world))) is not None:
                world, smaller = found, True
    return world


def _changed(world: World, **changes: Any) -> World:
    given = {**deepcopy(world.given), **changes}
    return World({key: value for key, value in given.items() if value is not None}, world.operations)


def _without_troubles(world: World) -> Iterator[World]:
    for trouble in _TROUBLES:
        if world.given.get(trouble):
            yield _changed(world, **{trouble: None})
    if world.given.get("settings"):
        yield _changed(world, settings={})


def _without_operations(world: World) -> Iterator[World]:
    """Without the first half of them, the second, then quarters, down to single ones."""
    operations = world.operations
    size = len(operations) // 2
    while size:
        for first in range(0, len(operations), size):
            kept = consistent([*operations[:first], *operations[first + size :]])
            yield World(world.given, kept)
        size //= 2


def consistent(operations: Sequence[Operation]) -> tuple[Operation, ...]:
    """A valid trace of these: nothing is removed that was not created, and numbers count from 0."""
    present: set[tuple[OperationKind, str, int, int]] = set()
    kept: list[Operation] = []
    for one in operations:
        created = _CREATES.get(one.kind)
        if created is not None and (created, one.oid, one.sid, one.node) not in present:
            continue
        present.add((one.kind, one.oid, one.sid, one.node))
        kept.append(msgspec.structs.replace(one, operation=len(kept)))
    return tuple(kept)


def _with_fewer_nodes(world: World) -> Iterator[World]:
    nodes: int = world.given["nodes"]
    for fewer in (nodes // 2, nodes - 4, nodes - 1):
        if 1 <= fewer < nodes:
            yield _with_nodes(world, fewer)
    switched = {change["node"] for change in world.given.get("churn", {}).get("changes", [])}
    busy = sorted({int(one.node) for one in world.operations} | {node for node in switched if node < nodes})
    for target in range(nodes):
        if busy and target < busy[-1] and target not in busy:
            yield _moved(world, busy[-1], target)


def _with_nodes(world: World, nodes: int) -> World:
    """The same with this many nodes: higher numbers are removed, and servers, which follow the crowd, move down."""
    old: int = world.given["nodes"]
    changes = [
        {**change, "node": change["node"] - old + nodes if change["node"] >= old else change["node"]}
        for change in world.given.get("churn", {}).get("changes", [])
        if change["node"] < nodes or change["node"] >= old
    ]
    fewer = _changed(world, nodes=nodes, churn={"model": "listed", "changes": changes} if changes else None)
    return World(fewer.given, consistent([one for one in world.operations if one.node < nodes]))


def _moved(world: World, node: int, to: int) -> World:
    """Exchange two nodes: their operations and their switches."""
    swap = {node: to, to: node}
    operations = [
        msgspec.structs.replace(one, node=NodeId(to)) if one.node == node else one for one in world.operations
    ]
    given = deepcopy(world.given)
    for change in given.get("churn", {}).get("changes", []):
        change["node"] = swap.get(change["node"], change["node"])
    return World(given, tuple(operations))


def _without_details(world: World) -> Iterator[World]:
    radio = world.given["radio"]
    for key in [key for key, value in radio.items() if value and key != "model"]:
        yield _changed(world, radio={name: radio[name] for name in radio if name != key})
    for key, value in world.given.get("settings", {}).items():
        yield _changed(world, settings={name: one for name, one in world.given["settings"].items() if name != key})
        if isinstance(value, dict) and len(value) > 1:
            for name in value:
                kept = {one: value[one] for one in value if one != name}
                yield _changed(world, settings={**world.given["settings"], key: kept})
    faults = world.given.get("faults", [])
    for index in range(len(faults)):
        yield _changed(world, faults=[*faults[:index], *faults[index + 1 :]] or None)
    yield from _without_switches(world)


def _without_switches(world: World) -> Iterator[World]:
    changes = world.given.get("churn", {}).get("changes", [])
    for node in sorted({change["node"] for change in changes}):
        kept = [change for change in changes if change["node"] != node]
        yield _changed(world, churn={"model": "listed", "changes": kept} if kept else None)
    for index, change in enumerate(changes):
        own = [other for other in changes[index + 1 :] if other["node"] == change["node"]]
        gone = [change, *own[:1]]
        kept = [other for other in changes if not any(other is one for one in gone)]
        yield _changed(world, churn={"model": "listed", "changes": kept} if kept else None)


def _shorter(world: World) -> Iterator[World]:
    time = world.given["time"]
    last_s = world.operations[-1].at_s if world.operations else 0.0
    for shorter_s in SHORTER_S:
        until_s = time["until_s"] - shorter_s
        if until_s > max(last_s, time["join_to_s"]):
            yield _changed(world, time={**time, "until_s": until_s})
