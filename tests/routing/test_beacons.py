"""Beacons: who is heard, who vanishes, and what beacons carry."""

from __future__ import annotations

from itertools import pairwise

import pytest
from net import FakeHost, Net

from thyme.model.geometry import Point
from thyme.model.ids import CellId, NodeId
from thyme.model.records import TrafficKind
from thyme.routing.broadcasts import NodeTables, Receivers
from thyme.routing.cells.beacons import BeaconEvents, BeaconOptions, Beacons, Neighbour
from thyme.routing.cells.grid import Grid
from thyme.routing.cells.neighbour_table import NeighbourTable
from thyme.wire.routing import Beacon, Flooded

GRID = Grid(200.0, 40.0, 40.0)


class Diary:
    """A node with beacons that writes down what it is told."""

    def __init__(self, net: Net, node: int, x_m: float, options: BeaconOptions | None = None) -> None:
        self.host: FakeHost = net.add(node, x_m, 20.0)
        self.lines: list[str] = []
        self.digest = b""
        self.heard_s = 0.0
        events = BeaconEvents(
            appeared=lambda neighbour: self.lines.append(f"{neighbour.node} appeared"),
            vanished=lambda neighbour: self.lines.append(f"{neighbour.node} vanished"),
            population_changed=lambda cell, count: self.lines.append(f"cell {cell}: {count}"),
            digest=lambda: self.digest,
            heard=self._heard,
        )
        self.beacons = Beacons(self.host, GRID, events, options)
        self.host.layers.append(self.beacons)
        self.beacons.start()

    def _heard(self, neighbour: Neighbour, digest: bytes) -> None:
        self.heard_s = self.host.now()
        if digest:
            self.lines.append(f"{neighbour.node} says {digest.decode()}")


def test_neighbours_appear_and_vanish() -> None:
    net = Net()
    one, other = Diary(net, 1, 20.0), Diary(net, 2, 60.0)
    net.run(2.0)
    assert one.lines == ["2 appeared", "cell 1: 1"]
    assert one.beacons.nodes_in(CellId(1)) == (2,)
    other.host.on = False
    net.run(4.0)
    assert one.beacons.population(CellId(1)) == 1
    net.run(6.0)
    assert one.lines == ["2 appeared", "cell 1: 1", "2 vanished", "cell 1: 0"]
    assert one.beacons.neighbours() == []
    assert one.beacons.populated() == frozenset()


def test_silence_is_noticed_when_the_expiry_has_passed() -> None:
    net = Net()
    one, other = Diary(net, 1, 20.0), Diary(net, 2, 60.0)
    net.run(2.0)
    other.host.on = False
    last_s = one.heard_s
    net.run(last_s + 3.49)
    assert one.beacons.neighbour(NodeId(2)) is not None
    net.run(last_s + 3.51)
    assert one.beacons.neighbour(NodeId(2)) is None


def test_a_neighbour_that_changes_cell_is_counted_there() -> None:
    net = Net()
    one, other = Diary(net, 1, 20.0), Diary(net, 2, 60.0)
    net.run(2.0)
    other.host.place = Point(100.0, 20.0)
    net.run(4.0)
    assert one.lines == ["2 appeared", "cell 1: 1", "cell 1: 0", "cell 2: 1"]


def test_moving_neighbours_are_heard_but_not_counted() -> None:
    net = Net()
    one, other = Diary(net, 1, 20.0), Diary(net, 2, 60.0)
    other.host.walks = True
    net.run(2.0)
    assert one.lines == ["2 appeared"]
    assert [n.node for n in one.beacons.neighbours()] == [2]
    assert one.beacons.nodes_in(CellId(1)) == ()
    other.host.walks = False
    net.run(4.0)
    assert one.lines == ["2 appeared", "cell 1: 1"]


def test_an_approach_can_hold_its_node_back() -> None:
    net = Net()
    one = Diary(net, 1, 20.0)
    host = net.add(2, 60.0, 20.0)
    shy = Beacons(host, GRID, participates=lambda: False)
    host.layers.append(shy)
    shy.start()
    net.run(2.0)
    assert not shy.stationary
    assert one.beacons.nodes_in(CellId(1)) == ()


def test_neighbours_are_listed_by_number() -> None:
    net = Net(seed=7)
    diaries = [Diary(net, node, 50.0 + node) for node in (5, 3, 9, 1)]
    net.run(3.0)
    assert [n.node for n in diaries[0].beacons.neighbours()] == [1, 3, 9]
    assert diaries[0].beacons.nodes_in(CellId(1)) == (1, 3, 9)
    assert diaries[0].beacons.nodes_in(CellId(0)) == ()
    diaries[2].host.place = Point(20.0, 20.0)
    net.run(6.0)
    assert diaries[0].beacons.nodes_in(CellId(1)) == (1, 3)
    assert diaries[0].beacons.nodes_in(CellId(0)) == (9,)


def test_beacons_come_about_once_a_second_with_jitter() -> None:
    net = Net()
    Diary(net, 1, 20.0)
    times: list[float] = []
    for tick in range(20_000):
        net.run(tick / 100.0)
        times += [net.now_s] * (len(net.frames) - len(times))
    gaps = [after - before for before, after in pairwise(times)]
    assert 0.49 <= min(gaps) < 0.7
    assert 1.3 < max(gaps) <= 1.51
    assert sum(gaps) / len(gaps) == pytest.approx(1.0, abs=0.1)


def test_digests_travel_on_beacons_and_are_bounded() -> None:
    net = Net()
    one, other = Diary(net, 1, 20.0), Diary(net, 2, 60.0)
    other.digest = b"hello"
    net.run(1.1)
    assert "2 says hello" in one.lines
    other.digest = bytes(257)
    with pytest.raises(ValueError, match="257 bytes"):
        other.beacons.announce()


def test_announcing_does_not_wait_for_the_period() -> None:
    net = Net()
    one, other = Diary(net, 1, 20.0), Diary(net, 2, 60.0)
    net.run(0.0)
    other.beacons.announce()
    net.run(0.001)
    assert one.lines == ["2 appeared", "cell 1: 1"]


def test_a_node_corrects_what_is_no_longer_true_and_nothing_else() -> None:
    net = Net()
    one, other = Diary(net, 1, 20.0), Diary(net, 2, 60.0)
    net.run(1.0)
    net.frames.clear()
    other.beacons.correct(other.beacons.cell, other.beacons.stationary)
    assert net.frames == []
    other.host.place = Point(100.0, 20.0)
    other.beacons.correct(other.beacons.cell, other.beacons.stationary)
    net.run(1.001)
    assert one.lines[-1] == "cell 2: 1"


@pytest.mark.compiled
def test_whoever_routes_in_the_cell_attended_to_is_told_of_again_and_nobody_else() -> None:
    net = Net()
    one = Diary(net, 1, 100.0)
    one.beacons.attend(CellId(2))
    beacons = {NodeId(cell + 5): Beacon(CellId(cell), True) for cell in range(5)}
    for node, beacon in beacons.items():
        one.beacons.receive(node, beacon)
    (handler,) = one.beacons.broadcast_handlers(Beacon)
    tables, receivers = NodeTables.of([handler.table]), Receivers(1)
    receivers.count = 1

    def told_of() -> list[int]:
        return [node for node, beacon in beacons.items() if NeighbourTable.receive_all(receivers, tables, node, beacon)]

    assert told_of() == [7]
    one.beacons.attend(CellId(3))
    assert told_of() == [7, 8]
    for node, beacon in beacons.items():
        one.beacons.receive(node, beacon)
    assert told_of() == [8]


def test_a_stopped_node_is_silent() -> None:
    net = Net()
    one = Diary(net, 1, 20.0)
    net.run(2.0)
    one.beacons.stop()
    net.frames.clear()
    net.run(9.0)
    assert net.frames == []


def test_nonsense_and_too_many_neighbours_are_dropped() -> None:
    net = Net()
    one = Diary(net, 1, 20.0, BeaconOptions(max_neighbours=1))
    assert one.beacons.receive(NodeId(2), Beacon(CellId(99), True))
    assert one.beacons.receive(NodeId(2), Beacon(CellId(1), True, bytes(300)))
    assert one.beacons.receive(NodeId(2), Beacon(CellId(1), True))
    assert one.beacons.receive(NodeId(3), Beacon(CellId(1), True))
    assert not one.beacons.receive(NodeId(3), Flooded(NodeId(3), 1, 0, b""))
    reasons = [record.reason for record in one.host.counted(TrafficKind.DROPPED)]
    assert reasons == ["nonsense", "nonsense", "too many neighbours"]
    assert [n.node for n in one.beacons.neighbours()] == [2]


def test_in_a_crowd_beacons_are_rarer_and_silence_is_noticed_later() -> None:
    net = Net()
    options = BeaconOptions(heard_per_s=5.0)
    crowd = [Diary(net, node, 20.0 + node, options) for node in range(30)]
    net.run(60.0)
    assert pytest.approx(crowd[0].beacons.period_s) == 29 / 5
    before = len(net.sent(Beacon))
    net.run(120.0)
    assert (len(net.sent(Beacon)) - before) / 60.0 == pytest.approx(30 / 29 * 5.0, rel=0.1)
    assert all(len(one.beacons.neighbours()) == 29 for one in crowd)
    assert not any("vanished" in line for one in crowd for line in one.lines)
    crowd[7].host.on = False
    net.run(120.0 + 3.5 * 1.5 * 29 / 5 * 2.0)
    assert all(one.lines.count("7 vanished") == 1 for one in crowd if one is not crowd[7])


def test_a_small_group_beacons_as_without_a_limit() -> None:
    frames = []
    for options in (BeaconOptions(), BeaconOptions(heard_per_s=20.0)):
        net = Net()
        for node in range(10):
            Diary(net, node, 20.0 + node, options)
        net.run(30.0)
        frames.append([(sender, message) for sender, _, message in net.frames])
    assert frames[0] == frames[1]
