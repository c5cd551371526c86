"""DSDV on small graphs: shortest paths, repair, no loops, and bounds."""

from __future__ import annotations

from itertools import combinations

import networkx as nx
import pytest
from dsdv_reference import Entry, pack, unpack
from hypothesis import given, settings
from hypothesis import strategies as st
from net import FakeHost, Net, total

from thyme.model.errors import InputError
from thyme.model.ids import NodeId
from thyme.model.records import TrafficKind
from thyme.routing.dsdv.protocol import Dsdv, DsdvOptions
from thyme.wire.codec import encode
from thyme.wire.message import Message
from thyme.wire.routing import ENTRY_BYTES, Carried, Flooded, TableUpdate


def letter(number: int = 1) -> Message:
    return Flooded(NodeId(0), number, 0, b"letter")


class Mesh:
    """Nodes that all are in range, joined by the edges of a graph only."""

    def __init__(self, graph: nx.Graph[int], options: DsdvOptions | None = None, seed: int = 1) -> None:
        self.net = Net(seed=seed)
        self.graph = graph
        self.letters: list[tuple[NodeId, NodeId, Message]] = []
        self.nodes = {node: self._node(node, options) for node in sorted(graph.nodes)}
        for one, other in combinations(sorted(graph.nodes), 2):
            if not graph.has_edge(one, other):
                self.net.cut(one, other)

    def _node(self, node: int, options: DsdvOptions | None) -> Dsdv:
        host = self.net.add(node, 0.0, 0.0)
        dsdv = Dsdv(host, lambda origin, message: self.letters.append((host.node, origin, message)), options)
        host.layers.append(dsdv)
        dsdv.start()
        return dsdv

    def cut(self, one: int, other: int) -> None:
        self.graph.remove_edge(one, other)
        self.net.cut(one, other)

    def cut_off(self, node: int) -> None:
        """The node crashes; what it had planned never happens."""
        host = self.net.hosts[NodeId(node)]
        host.on = False
        self.nodes[node].stop()

    def has_loop(self) -> bool:
        for target in self.nodes:
            for start in self.nodes:
                seen: set[int] = set()
                here = start
                while here != target:
                    if here in seen:
                        return True
                    seen.add(here)
                    route = self.nodes[here].route(NodeId(target))
                    if route is None:
                        break
                    here = route.next_hop
        return False

    def hosts(self) -> list[FakeHost]:
        return list(self.net.hosts.values())


def line(nodes: int) -> nx.Graph[int]:
    graph: nx.Graph[int] = nx.path_graph(nodes)
    return graph


@st.composite
def connected_graphs(draw: st.DrawFn, most: int = 9) -> nx.Graph[int]:
    nodes = draw(st.integers(2, most))
    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from(range(nodes))
    for node in range(1, nodes):
        graph.add_edge(node, draw(st.integers(0, node - 1)))
    pairs = st.tuples(st.integers(0, nodes - 1), st.integers(0, nodes - 1))
    graph.add_edges_from((a, b) for a, b in draw(st.lists(pairs, max_size=nodes)) if a != b)
    return graph


@settings(max_examples=25, derandomize=True)
@given(connected_graphs(), st.integers(0, 1000), st.booleans())
def test_everybody_finds_shortest_paths_to_everybody(graph: nx.Graph[int], seed: int, like_ns3: bool) -> None:
    """A newer sequence number wins even over a longer way, so a route may be longer than it need be until the
    next dump; it is never shorter than the graph allows, and it gets as short."""
    mesh = Mesh(graph, DsdvOptions.ns3() if like_ns3 else None, seed)
    pairs = {(a, b): length for a, lengths in nx.all_pairs_shortest_path_length(graph) for b, length in lengths.items()}
    best: dict[tuple[int, int], int] = {(node, node): 0 for node in graph}
    for second in range(40, 120, 2):
        mesh.net.run(float(second))
        assert not mesh.has_loop()
        for node, dsdv in mesh.nodes.items():
            assert len(dsdv.routes()) == len(graph) - 1
            for route in dsdv.routes():
                pair = (node, route.destination)
                best[pair] = min(best.get(pair, route.hops), route.hops)
    assert best == pairs


@settings(max_examples=25)
@given(connected_graphs(), st.integers(0, 1000), st.data())
def test_routes_never_loop_while_links_break(graph: nx.Graph[int], seed: int, data: st.DataObject) -> None:
    mesh = Mesh(graph, None, seed)
    mesh.net.run(31.0)
    pairs = list(combinations(sorted(graph.nodes), 2))
    for _ in range(data.draw(st.integers(1, 4))):
        if graph.number_of_edges() == 0:
            break
        mesh.cut(*data.draw(st.sampled_from(sorted(graph.edges))))
        for _ in range(16):
            start, target = data.draw(st.sampled_from(pairs))
            mesh.nodes[start].send(NodeId(target), letter())
            mesh.net.run(mesh.net.now_s + 0.6)
            assert not mesh.has_loop()


def test_a_broken_link_is_routed_around() -> None:
    ring: nx.Graph[int] = nx.cycle_graph(6)
    mesh = Mesh(ring)
    mesh.net.run(40.0)
    assert [r.next_hop for r in mesh.nodes[0].routes() if r.destination == 1] == [1]
    mesh.cut(0, 1)
    mesh.nodes[0].send(NodeId(1), letter())
    mesh.net.run(41.0)
    assert mesh.nodes[0].route(NodeId(1)) is None
    mesh.net.run(80.0)
    route = mesh.nodes[0].route(NodeId(1))
    assert route is not None
    assert (route.next_hop, route.hops) == (5, 5)
    assert mesh.letters == [(1, 0, letter())]


def test_a_silent_node_is_forgotten_after_the_hold_time() -> None:
    mesh = Mesh(line(4))
    mesh.net.run(40.0)
    mesh.net.hosts[NodeId(3)].on = False
    mesh.net.run(60.0)
    assert mesh.nodes[0].route(NodeId(3)) is not None
    mesh.net.run(160.0)
    assert all(dsdv.route(NodeId(3)) is None for node, dsdv in mesh.nodes.items() if node != 3)


def test_a_node_that_comes_back_is_found_at_once() -> None:
    mesh = Mesh(line(4))
    mesh.net.run(40.0)
    mesh.cut_off(3)
    mesh.nodes[2].send(NodeId(3), letter())
    mesh.net.run(50.0)
    assert mesh.nodes[0].route(NodeId(3)) is None
    host = mesh.net.hosts[NodeId(3)]
    host.on = True
    host.layers[:] = [again := Dsdv(host, lambda origin, message: mesh.letters.append((host.node, origin, message)))]
    again.start()
    mesh.net.run(50.1)
    assert mesh.nodes[0].route(NodeId(3)) is not None


def test_a_loss_is_told_to_all_at_once() -> None:
    mesh = Mesh(line(5))
    mesh.net.run(40.0)
    mesh.cut(3, 4)
    mesh.nodes[3].send(NodeId(4), letter())
    mesh.net.run(40.1)
    assert all(mesh.nodes[node].route(NodeId(4)) is None for node in range(4))


def test_packets_are_forwarded_and_counted() -> None:
    mesh = Mesh(line(5))
    mesh.net.run(40.0)
    mesh.nodes[0].send(NodeId(4), letter())
    mesh.nodes[2].send(NodeId(2), letter(2))
    mesh.net.run(40.1)
    assert sorted(mesh.letters) == [(2, 2, letter(2)), (4, 0, letter())]
    assert total(mesh.hosts(), TrafficKind.FORWARDED) == 3


def test_a_packet_that_comes_twice_is_delivered_once() -> None:
    mesh = Mesh(line(2))
    packet = Carried(NodeId(1), 7, NodeId(0), 0, encode(letter()))
    assert mesh.nodes[0].receive(NodeId(1), packet)
    assert mesh.nodes[0].receive(NodeId(1), packet)
    assert mesh.letters == [(0, 1, letter())]


def test_packets_wait_for_a_route_within_bounds() -> None:
    mesh = Mesh(line(3), DsdvOptions(max_waiting=7, max_waiting_per_node=5))
    failures: list[int] = []
    for number in range(8):
        mesh.nodes[0].send(NodeId(2), letter(number), lambda number=number: failures.append(number))  # type: ignore[misc]
    for number in range(8, 12):
        mesh.nodes[0].send(NodeId(9), letter(number), lambda number=number: failures.append(number))  # type: ignore[misc]
    assert failures == [5, 6, 7, 10, 11]
    mesh.net.run(29.0)
    assert [message for _, _, message in mesh.letters] == [letter(number) for number in range(5)]
    mesh.net.run(31.0)
    assert failures == [5, 6, 7, 10, 11, 8, 9]
    reasons = [record.reason for record in mesh.net.hosts[NodeId(0)].counted(TrafficKind.DROPPED)]
    assert reasons == ["no route"] * 5 + ["waited too long"] * 2


def test_a_sender_learns_that_its_link_failed_for_good() -> None:
    mesh = Mesh(line(2), DsdvOptions(resends=0))
    mesh.net.run(20.0)
    mesh.cut(0, 1)
    failures: list[str] = []
    mesh.nodes[0].send(NodeId(1), letter(), lambda: failures.append("failed"))
    mesh.net.run(20.1)
    assert failures == ["failed"]


@pytest.mark.parametrize(("resends", "arrives"), [(1, True), (0, False)])
def test_who_carries_a_packet_and_loses_its_link_waits_for_another_route_as_its_sender_would(
    resends: int, arrives: bool
) -> None:
    mesh = Mesh(nx.Graph([(0, 1), (1, 2), (1, 3), (3, 2)]), DsdvOptions(resends=resends))
    mesh.net.run(40.0)
    mesh.cut(1, 2)
    mesh.nodes[0].send(NodeId(2), letter())
    mesh.net.run(75.0)
    assert bool(mesh.letters) is arrives


def test_links_break_after_the_named_number_of_failures_and_never_as_in_ns3() -> None:
    for options, broken in ((DsdvOptions(broken_after_failures=2, resends=0), 2), (DsdvOptions.ns3(), 99)):
        mesh = Mesh(line(2), options)
        mesh.net.run(20.0)
        mesh.cut(0, 1)
        for failure in range(1, 4):
            mesh.nodes[0].send(NodeId(1), letter())
            mesh.net.run(mesh.net.now_s + 0.1)
            assert (mesh.nodes[0].route(NodeId(1)) is None) == (failure >= broken)


def test_dumps_come_every_period_and_news_within_milliseconds() -> None:
    mesh = Mesh(line(2), DsdvOptions.ns3())
    mesh.net.run(0.01)
    assert all(len(dsdv.routes()) == 1 for dsdv in mesh.nodes.values())
    mesh.net.frames.clear()
    mesh.net.run(14.9)
    assert mesh.net.frames == []
    mesh.net.run(15.1)
    dumps = [frame for sender, _, frame in mesh.net.sent(TableUpdate) if sender == 0]
    assert isinstance(dumps[0], TableUpdate)
    assert {entry.destination for entry in unpack(dumps[0].entries)} == {0, 1}


def test_a_changed_metric_is_followed_at_once_and_told_after_settling() -> None:
    mesh = Mesh(line(2), DsdvOptions(weighted_settling=False, settling_s=5.0))
    mesh.net.run(1.0)
    dsdv = mesh.nodes[0]
    dsdv.receive(NodeId(1), TableUpdate(pack([Entry(NodeId(7), 3, 10)])))
    mesh.net.run(1.1)
    dsdv.receive(NodeId(1), TableUpdate(pack([Entry(NodeId(7), 2, 12)])))
    assert dsdv.routes()[-1].hops == 2
    mesh.net.frames.clear()
    mesh.net.run(6.0)
    assert mesh.net.frames == []
    mesh.net.run(6.2)
    told = [frame for sender, _, frame in mesh.net.sent(TableUpdate) if sender == 0]
    assert isinstance(told[0], TableUpdate)
    assert list(unpack(told[0].entries)) == [Entry(NodeId(0), 1, 2), Entry(NodeId(7), 3, 12)]


def test_an_older_route_to_a_lost_node_is_not_taken_back() -> None:
    for options, hops in ((DsdvOptions(), None), (DsdvOptions.ns3(), 4)):
        dsdv = Mesh(line(2), options).nodes[0]
        dsdv.receive(NodeId(1), TableUpdate(pack([Entry(NodeId(1), 1, 2), Entry(NodeId(7), 2, 10)])))
        dsdv.receive(NodeId(1), TableUpdate(pack([Entry(NodeId(7), 2, 11)])))
        assert dsdv.route(NodeId(7)) is None
        dsdv.receive(NodeId(1), TableUpdate(pack([Entry(NodeId(7), 4, 10)])))
        route = dsdv.route(NodeId(7))
        assert (route.hops if route else None) == hops


def test_nonsense_in_an_update_is_ignored() -> None:
    mesh = Mesh(line(2))
    nonsense = [Entry(NodeId(7), 0, 2), Entry(NodeId(8), 2**32 - 1, 2), Entry(NodeId(0), 5, 2)]
    mesh.nodes[0].receive(NodeId(1), TableUpdate(pack(nonsense) + b"tail"))
    assert mesh.nodes[0].routes() == []


def test_a_stopped_node_sends_no_more_updates() -> None:
    mesh = Mesh(line(2))
    mesh.net.run(1.0)
    mesh.nodes[0].receive(NodeId(1), TableUpdate(pack([Entry(NodeId(7), 3, 10)])))
    mesh.net.run(1.1)
    mesh.nodes[0].receive(NodeId(1), TableUpdate(pack([Entry(NodeId(7), 2, 12)])))
    mesh.net.run(1.2)
    mesh.net.frames.clear()
    mesh.nodes[0].stop()
    mesh.net.run(14.0)
    assert mesh.net.frames == []


def test_an_update_costs_twelve_bytes_per_entry_and_little_more() -> None:
    entries = [Entry(NodeId(node), node, 2 * node) for node in range(100)]
    assert list(unpack(pack(entries))) == entries
    assert len(encode(TableUpdate(pack(entries)))) == 100 * ENTRY_BYTES + 6
    assert list(unpack(pack(entries) + b"tail")) == entries


def test_a_full_dump_is_sent_in_parts() -> None:
    mesh = Mesh(nx.complete_graph(6), DsdvOptions(max_entries=4))
    mesh.net.run(40.0)
    sizes = [len(frame.entries) for _, _, frame in mesh.net.frames if isinstance(frame, TableUpdate)]
    assert max(sizes) == 4 * ENTRY_BYTES
    assert all(len(dsdv.routes()) == 5 for dsdv in mesh.nodes.values())


def test_hops_of_a_packet_are_bounded() -> None:
    mesh = Mesh(line(5), DsdvOptions(hop_limit=2))
    mesh.net.run(40.0)
    mesh.nodes[0].send(NodeId(4), letter())
    mesh.net.run(40.1)
    assert mesh.letters == []
    assert [r.reason for r in mesh.net.hosts[NodeId(2)].counted(TrafficKind.DROPPED)] == ["hop limit"]


def test_what_cannot_be_carried_or_read_is_dropped() -> None:
    mesh = Mesh(line(2))
    mesh.net.run(1.0)
    assert mesh.nodes[0].receive(NodeId(1), Carried(NodeId(1), 1, NodeId(0), 0, b"?"))
    assert mesh.nodes[0].receive(NodeId(1), Carried(NodeId(1), 2, NodeId(9), 0, b"?"))
    assert not mesh.nodes[0].receive(NodeId(1), letter())
    reasons = [record.reason for record in mesh.net.hosts[NodeId(0)].counted(TrafficKind.DROPPED)]
    assert reasons == ["unreadable", "no route"]
    with pytest.raises(InputError, match="period_s"):
        DsdvOptions(period_s=0.0)
