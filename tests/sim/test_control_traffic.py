"""Control traffic counts frames that were transmitted, not those that only waited in a queue."""

from __future__ import annotations

from thyme.model.ids import CellId
from thyme.model.records import TrafficKind
from thyme.sim.radios.models import WifiModel
from thyme.sim.simulation import Simulation
from thyme.wire.routing import Beacon
from thyme.world.movement import Leg, movement_of_legs

BEACON = Beacon(CellId(0), True, bytes(200))


def crowd(lifetime_s: float) -> Simulation:
    places = [[Leg(0.0, 5.0 * node, 5.0)] for node in range(4)]
    movement = movement_of_legs(20.0, 10.0, places)
    radio = WifiModel(lifetime_s=lifetime_s).make(movement, lambda _: None, 1)
    world = Simulation(movement, radio, 1)
    for host in world.hosts:
        host.begin_life(lambda *_: None)
    return world


def total(world: Simulation, kind: TrafficKind) -> tuple[int, int]:
    tally = world.recorder.tally(kind, "Beacon")
    return sum(tally.counts), sum(tally.sizes)


def test_frames_that_expire_in_a_queue_are_not_control_traffic() -> None:
    world = crowd(lifetime_s=0.002)
    for host in world.hosts:
        for _ in range(50):
            host.broadcast(BEACON)
    world.run(1.0)
    sent = [totals for totals in world.radio.traffic() if totals.traffic == TrafficKind.PHY_SENT]
    on_air, air_bytes = sum(sum(totals.counts) for totals in sent), sum(sum(totals.sizes_bytes) for totals in sent)
    assert total(world, TrafficKind.SENT)[0] == 200
    assert 0 < on_air < 100
    assert total(world, TrafficKind.PHY_CONTROL) == (on_air, air_bytes)
    assert total(world, TrafficKind.CONTROL)[0] == on_air


def test_a_run_that_goes_on_counts_every_frame_once() -> None:
    world = crowd(lifetime_s=0.5)
    for second in range(3):
        for host in world.hosts:
            host.broadcast(BEACON)
        world.run(second + 1.0)
    assert total(world, TrafficKind.CONTROL)[0] == total(world, TrafficKind.SENT)[0] == 12
