"""Small worlds for tests: nodes at chosen places, any approach, operations by hand, and what came of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from thyme.approaches.interface import Failure, Outcome, ReactiveStore
from thyme.model.frames import TimeFrame
from thyme.model.ids import NodeId, ObjectKey, SubscriptionKey
from thyme.model.objects import Content, InStore, Metadata
from thyme.model.queries import parse_query
from thyme.sim.faults import Rule
from thyme.sim.run import Run
from thyme.sim.scenario import scenario_of
from thyme.wire.message import Message
from thyme.world.files.movement import write_movement
from thyme.world.mobility.placement import write_topology
from thyme.world.movement import movement_of_legs, walk


class SmallWorld:
    """Nodes that stand at `places` and joined at once; 100 m of range and no loss unless said otherwise."""

    def __init__(
        self,
        folder: Path,
        places: Sequence[tuple[float, float]],
        approach: str,
        settings: dict[str, Any] | None = None,
        faults: Sequence[Rule] = (),
        until_s: float = 10_000.0,
        walks: dict[int, Sequence[tuple[float, float, float]]] | None = None,
        **changes: Any,
    ) -> None:
        """`walks` gives, for the nodes that move, the instants and places (at_s, x_m, y_m) they pass."""
        file = folder / "places.csv"
        write_topology(file, np.array(places, dtype=float))
        xs, ys = zip(*places, strict=True)
        given: dict[str, Any] = {
            "nodes": len(places),
            "approach": approach,
            "settings": settings or {},
            "venue": {"width_m": max(max(xs), 1.0) + 1.0, "height_m": max(max(ys), 1.0) + 1.0},
            "movement": {"model": "file", "file": str(file)},
            "radio": {"range_m": 100.0},
            "time": {"join_from_s": 0.0, "join_to_s": 1.0, "until_s": until_s},
            "users": {"retrieval": {"probability": 0.0}, "ask_more": False},
        }
        if walks:
            file = folder / "movement.bm"
            ways = [walk(walks.get(i, [(0.0, x, y)])) for i, (x, y) in enumerate(places)]
            venue = {**given["venue"], **changes.get("venue", {})}
            write_movement(file, movement_of_legs(venue["width_m"], venue["height_m"], ways), "bonnmotion", 600.0)
            given["movement"] = {"model": "trace", "file": str(file)}
        self.run = Run(scenario_of({**given, **changes}, "test"))
        self.run.world.rules = tuple(faults)
        self.notified: list[tuple[int, ObjectKey]] = []
        self.outcomes: list[Outcome] = []
        self.contents: list[bytes] = []

    @property
    def now_s(self) -> float:
        return self.run.world.engine.now_s

    def node(self, node: int) -> ReactiveStore:
        return self.run.stores[node]

    def wait(self, seconds: float) -> None:
        self.run.world.run(self.now_s + seconds)

    def insert(
        self,
        node: int,
        oid: str,
        *tags: str,
        data: bytes = b"data",
        wait_s: float = 40.0,
        expires_s: float | None = None,
    ) -> Metadata:
        metadata = self.node(node).insert(oid, data, tags, b"", self.outcomes.append, expires_s=expires_s)
        self.wait(wait_s)
        return metadata

    def delete(self, node: int, oid: str, wait_s: float = 40.0) -> None:
        self.node(node).delete(oid, self.outcomes.append)
        self.wait(wait_s)

    def subscribe(self, node: int, query: str, frame: TimeFrame | None = None, wait_s: float = 40.0) -> SubscriptionKey:
        frame = frame or TimeFrame.always()
        key = self.node(node).subscribe(parse_query(query), frame, self.on_notified, self.outcomes.append)
        self.wait(wait_s)
        return key

    def unsubscribe(self, node: int, sid: int, wait_s: float = 40.0) -> None:
        self.node(node).unsubscribe(sid, self.outcomes.append)
        self.wait(wait_s)

    def more(self, node: int, sid: int, wait_s: float = 40.0) -> None:
        self.node(node).more(sid, self.outcomes.append)
        self.wait(wait_s)

    def retrieve(self, node: int, metadata: Metadata, wait_s: float = 200.0) -> bytes | None:
        fetched: list[tuple[Outcome, Content]] = []
        self.node(node).retrieve(metadata, lambda outcome, data: fetched.append((outcome, data)))
        self.wait(wait_s)
        assert len(fetched) == 1
        outcome, content = fetched[0]
        self.outcomes.append(outcome)
        if isinstance(content, InStore):
            content = self.run.world.hosts[node].store.read(str(metadata.key), 0, content.size_bytes)
        return content if outcome.ok else None

    def switch_off(self, node: int, *, keeps_store: bool = True) -> None:
        self.run.switch_off(node, keeps_store)

    def switch_on(self, node: int, wait_s: float = 40.0) -> None:
        self.run.switch_on(node, 0.0)
        self.node(node).resume(self.on_notified)
        self.wait(wait_s)

    def lose(self, node: int, name: str, number: int) -> None:
        """From now on the n-th message of that name that a node (of ES or LS) sends is lost once on its way."""
        router: Any = self.node(node).router  # type: ignore[attr-defined]
        send, sent = type(router).send, 0

        def send_some(to: NodeId, message: Message, failed: Any = None) -> None:
            nonlocal sent
            sent += type(message).__name__ == name
            if sent != number or type(message).__name__ != name:
                send(router, to, message, failed)

        router.send = send_some

    def last_failure(self) -> Failure:
        return self.outcomes[-1].failure

    def names(self, node: int | None = None) -> list[str]:
        """The objects notified so far, in order (of one subscriber)."""
        return [key.oid for subscriber, key in self.notified if node in (None, subscriber)]

    def on_notified(self, key: SubscriptionKey, matches: Sequence[Metadata], hops: int) -> None:
        self.notified += [(key.subscriber, metadata.key) for metadata in matches]


def line(nodes: int, step_m: float = 80.0) -> list[tuple[float, float]]:
    """Nodes in a row, each in range of the next only."""
    return [(i * step_m, 0.0) for i in range(nodes)]
