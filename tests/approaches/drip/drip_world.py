"""Small worlds for DRIP: nodes at chosen places or on chosen ways, each with the ability that a test gives it."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import msgspec

from thyme.approaches.drip.options import DripOptions, RegionOptions
from thyme.approaches.drip.protocol import Drip
from thyme.approaches.interface import Outcome
from thyme.model.frames import TimeFrame
from thyme.model.ids import NodeId, SubscriptionKey
from thyme.model.objects import Metadata
from thyme.model.queries import parse_query
from thyme.sim.faults import Rule
from thyme.sim.radios.disc.radio import DiscOptions, DiscRadio
from thyme.sim.simulation import Simulation
from thyme.world.movement import Leg, Movement, movement_of_legs

Place = tuple[float, float]
SETTLED_S = 20.0
"""Bootstrap, the first broadcasts, registrations and bridges' status are over by then."""


def line(nodes: int, step_m: float = 80.0) -> list[Place]:
    """Nodes in a row, each in range of the next only."""
    return [(i * step_m, 0.0) for i in range(nodes)]


class DripWorld:
    """Nodes with 100 m of range; `brokers` are the most able ones, in that order."""

    def __init__(
        self,
        places: Sequence[Place] | Movement,
        brokers: Sequence[int],
        likely: int = 1,
        copies: int = 1,
        settle: bool = True,
        seed: int = 1,
        k: int | None = None,
        **settings: Any,
    ) -> None:
        if isinstance(places, Movement):
            self.movement = places
        else:
            side_m = 1.0 + max(max(x_m, y_m) for x_m, y_m in places)
            self.movement = movement_of_legs(side_m, side_m, [[Leg(0.0, *place)] for place in places])
        radio = DiscRadio(self.movement, DiscOptions(range_m=100.0), seed)
        self.simulation = Simulation(self.movement, radio, seed)
        self.options = DripOptions(
            brokers=max(len(brokers), likely + copies + 1) if k is None else k,
            likely_brokers=likely,
            copies=copies,
            **settings,
        )
        self._rank = {node: 1_000.0 - i for i, node in enumerate(brokers)}
        self.nodes: dict[int, Drip] = {}
        self.notified: list[tuple[int, str, float]] = []
        self.outcomes: list[Outcome] = []
        for node in range(self.movement.nodes):
            self.switch_on(node)
        if settle:
            self.wait(SETTLED_S)

    @property
    def now_s(self) -> float:
        return self.simulation.engine.now_s

    def ability(self, node: int) -> float:
        return self._rank.get(node, 1.0 + 0.001 * node)

    def switch_on(self, node: int) -> None:
        host = self.simulation.hosts[node]
        drip = Drip(host, msgspec.structs.replace(self.options, ability=self.ability(node)))
        self.nodes[node] = drip
        self.simulation.radio.switch(self.now_s, node, True)
        host.begin_life(drip.receive)
        drip.start()
        host.after(0.01 * (node % 10), drip.join)
        drip.resume(self._on_notified)

    def switch_off(self, node: int) -> None:
        del self.nodes[node]
        self.simulation.hosts[node].end_life()
        self.simulation.radio.switch(self.now_s, node, False)

    def wait(self, seconds: float) -> None:
        self.simulation.run(self.now_s + seconds)

    def lose(self, **rule: Any) -> None:
        self.simulation.rules = (Rule("loss", **rule),)

    def insert(self, node: int, oid: str, *tags: str, data: bytes = b"data", wait_s: float = 10.0) -> Metadata:
        metadata = self.nodes[node].insert(oid, data, tags, b"", self.outcomes.append)
        self.wait(wait_s)
        return metadata

    def subscribe(self, node: int, query: str, frame: TimeFrame | None = None, wait_s: float = 10.0) -> SubscriptionKey:
        frame = frame or TimeFrame.always()
        key = self.nodes[node].subscribe(parse_query(query), frame, self._on_notified, self.outcomes.append)
        self.wait(wait_s)
        return key

    def unsubscribe(self, node: int, sid: int, wait_s: float = 10.0) -> None:
        self.nodes[node].unsubscribe(sid, self.outcomes.append)
        self.wait(wait_s)

    def names(self, node: int | None = None) -> list[str]:
        return [name for subscriber, name, _ in self.notified if node in (None, subscriber)]

    def in_office(self) -> list[int]:
        return [node for node, drip in self.nodes.items() if drip.broker is not None]

    def sent(self, message: str) -> list[tuple[int, int]]:
        """(sender, to) of the frames with this message since frames are kept."""
        frames = self.simulation.frames()
        assert frames is not None
        rows = zip(*(frames[name].to_pylist() for name in ("sender", "to", "message")), strict=True)
        return [(sender, to) for sender, to, name in rows if name == message]

    def hops_from(self, start: int) -> dict[int, int]:
        """The distance in hops of everybody who can be reached from `start` now."""
        places = self.movement.positions(self.now_s)
        hops = {start: 0}
        agenda = deque([start])
        while agenda:
            here = agenda.popleft()
            for there in self.nodes:
                if there not in hops and float(((places[here] - places[there]) ** 2).sum()) <= 100.0**2:
                    hops[there] = hops[here] + 1
                    agenda.append(there)
        return hops

    def nearest_brokers(self, node: int) -> list[set[int]]:
        """The brokers that can be reached from a node, grouped by distance, nearest first."""
        hops = self.hops_from(node)
        at: dict[int, set[int]] = {}
        for broker in self.in_office():
            if broker in hops:
                at.setdefault(hops[broker], set()).add(broker)
        return [at[distance] for distance in sorted(at)]

    def _on_notified(self, key: SubscriptionKey, matches: Sequence[Metadata], hops: int) -> None:
        self.notified += [(key.subscriber, metadata.key.oid, self.now_s) for metadata in matches]


FAST = RegionOptions(period_s=1.0, life_s=2.5, neighbour_life_s=2.0, bootstrap_s=2.0)
"""Broadcasts every second, for tests of movement."""


def node_ids(*nodes: int) -> tuple[NodeId, ...]:
    return tuple(NodeId(node) for node in nodes)
