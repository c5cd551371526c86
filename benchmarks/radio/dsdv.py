"""The DSDV case of the radio's calibration: a static network that routes, as ns-3.44 was measured (tests/data/ns3).

Every node runs DSDV with ns-3's rules. From 60 s to 660 s, each sends packets to random others with exponential gaps;
the figures are deliveries and airtime.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from random import Random

from benchmarks.radio.totals import totals_of
from thyme.model.ids import NodeId
from thyme.model.records import TrafficKind
from thyme.routing.dsdv.protocol import Dsdv, DsdvOptions
from thyme.sim.machine import SimulatedHost
from thyme.sim.radios.wifi.profiles import WifiOptions, profile_named
from thyme.sim.radios.wifi.radio import WifiRadio
from thyme.sim.simulation import Simulation
from thyme.wire.codec import encode
from thyme.wire.message import Message
from thyme.wire.routing import Carried, Flooded
from thyme.world.mobility.placement import read_topology

Figures = dict[str, float | int | str]

MAC = WifiOptions()
FIRST_S = 60.0
LAST_S = 660.0
"""Packets are sent between these instants, or until the end of a shorter run."""
MEAN_GAP_S = 20.0
PAYLOAD_BYTES = 200


class _Traffic:
    """The packets of the case, and when each arrived."""

    def __init__(self, world: Simulation, until_s: float, gap_s: float, seed: int) -> None:
        self._world = world
        self._gap_s = gap_s
        self._until_s = until_s
        self._random = Random(f"{seed}/packets")
        self.sent_s: list[float] = []
        self.latency_s: dict[int, float] = {}
        self.routers = [self._router(host) for host in world.hosts]
        for node in range(len(world.hosts)):
            self._plan(node, FIRST_S)

    def _router(self, host: SimulatedHost) -> Dsdv:
        router = Dsdv(host, self._arrived, DsdvOptions.ns3())

        def receive(sender: NodeId, message: Message) -> None:
            router.receive(sender, message)

        host.begin_life(receive, router.broadcast_handlers)
        router.start()
        return router

    def _plan(self, node: int, after_s: float) -> None:
        at_s = after_s + self._random.expovariate(1.0 / self._gap_s)
        if at_s < self._until_s:
            self._world.engine.at(at_s, partial(self._send, node, at_s))

    def _send(self, node: int, at_s: float) -> None:
        others = len(self.routers) - 1
        to = self._random.randrange(others)
        number = len(self.sent_s)
        self.sent_s.append(at_s)
        self.routers[node].send(NodeId(to if to < node else to + 1), _packet(NodeId(node), number))
        self._plan(node, at_s)

    def _arrived(self, origin: NodeId, message: Message) -> None:
        if isinstance(message, Flooded):
            self.latency_s[message.number] = self._world.engine.now_s - self.sent_s[message.number]


def _packet(origin: NodeId, number: int) -> Message:
    """A message that travels in a frame of `PAYLOAD_BYTES`, as ns-3's packets do."""
    around = len(encode(Carried(origin, 2**32 - 1, origin, 1, encode(Flooded(origin, number, 0, bytes(100))))))
    return Flooded(origin, number, 0, bytes(PAYLOAD_BYTES + 100 - around))


def dsdv(
    topology: Path,
    seconds: float = 720.0,
    profile: str = "def",
    mac: WifiOptions = MAC,
    seed: int = 1,
    gap_s: float = MEAN_GAP_S,
) -> Figures:
    """Frames and bytes on the air, DSDV's own bytes, and how packets fared."""
    movement = read_topology(topology)
    radio = WifiRadio(movement, profile_named(profile), mac, seed)
    world = Simulation(movement, radio, seed)
    traffic = _Traffic(world, min(seconds, LAST_S), gap_s, seed)
    world.run(seconds)
    totals = totals_of(radio)
    updates = world.recorder.tally(TrafficKind.CONTROL, "TableUpdate")
    sent, latencies_s = len(traffic.sent_s), traffic.latency_s.values()
    return {
        "nodes": movement.nodes,
        "seconds": seconds,
        "phy_tx_frames": totals.phy_tx_frames,
        "phy_tx_bytes": totals.phy_tx_bytes,
        "updates": sum(updates.counts),
        "control_bytes": sum(updates.sizes),
        "packets": sent,
        "delivery": len(latencies_s) / sent if sent else -1.0,
        "mean_latency_s": sum(latencies_s) / len(latencies_s) if latencies_s else -1.0,
        "receptions": totals.received,
    }
