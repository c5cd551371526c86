"""Links under attack and in odd networks, on a clock of the test's own."""

from __future__ import annotations

from cores import Air, Core
from taps import SEAL, sealed

from thyme.live.link.addresses import GROUP_4, Address
from thyme.live.link.frames import EVERYBODY, Frame, Kind, pack
from thyme.live.link.greetings import Introduction
from thyme.live.link.link import LinkOptions, MulticastOptions
from thyme.live.link.peering import PeerOptions
from thyme.live.link.peers import Presence
from thyme.model.ids import NodeId
from thyme.wire.storage import JoinRequest


def both_families(number: int) -> tuple[Address, Address]:
    return (f"10.0.0.{number}", 9_000 + number), (f"fe80::{number}%eth0", 9_000 + number)


def test_devices_that_meet_by_both_families_fall_silent() -> None:
    cores = [Core(number, *both_families(number)) for number in (1, 2, 3)]
    for core in cores:
        core.link.discovery.on = True
    air = Air(*cores)
    air.run(10.0)
    assert all(len(core.link.peers.nodes()) == 2 for core in cores)
    air.run(20.0)
    assert air.sent_since(air.now_s - 20.0) < 3 * 20 * 2


def test_a_hello_from_another_address_of_a_peer_starts_no_endless_exchange() -> None:
    one, two = Core(1, *both_families(1)), Core(2, *both_families(2))
    air = Air(one, two)
    air.greet(one, two)
    air.run(1.0)
    met = air.now_s
    air.call(one, lambda: one.link.peering.hello(two.addresses[1]))
    air.run(4.0)
    assert air.sent_since(met) <= 8
    assert one.link.peers.nodes() == {2: two.addresses[0]}


def test_devices_that_know_each_other_by_different_families_hear_each_other() -> None:
    one, two = Core(1, *both_families(1)), Core(2, *both_families(2))
    air = Air(one, two)
    air.call(one, lambda: one.link.greet([two.addresses[1]]))
    air.call(two, lambda: two.link.greet([one.addresses[0]]))
    air.run(2.0)
    for number, (sender, receiver) in enumerate([(one, two), (two, one)]):
        air.call(sender, lambda s=sender, n=number: s.link.broadcast(JoinRequest(n)))  # type: ignore[misc]
        air.run(1.0)
        assert [message for _, message in receiver.heard] == [JoinRequest(number)]


def test_a_device_that_changes_its_address_stays_a_peer() -> None:
    one, two = Core(1), Core(2)
    air = Air(one, two)
    air.greet(one, two)
    air.run(1.0)
    presences: list[Presence] = []
    one.link.watch = presences.append
    two.addresses = (("10.0.0.77", 9_000),)
    for _ in range(5):
        air.call(two, lambda: two.link.broadcast(JoinRequest(1)))
    air.run(3.0)
    assert one.link.peers.nodes() == {2: two.addresses[0]}
    air.call(one, lambda: one.link.broadcast(JoinRequest(2)))
    air.run(1.0)
    assert two.heard == [(1, JoinRequest(2))]
    assert presences == []


def test_group_datagrams_of_an_earlier_session_do_not_silence_a_member() -> None:
    group = LinkOptions(multicast=MulticastOptions(least_peers=2))
    others = [Core(number, options=group, group=True) for number in (2, 3)]
    air = Air(*others)
    recorded: list[bytes] = []
    for session in range(8):
        one = Core(1, options=group, group=True, seed=session)
        air.add(one)
        air.greet(one, *others)
        air.run(5.0)
        began_s = air.now_s
        if session == 7:
            for datagram in recorded:
                for other in others:
                    air.give(other, datagram, one.addresses[0], grouped=True)
        air.call(one, lambda: one.link.broadcast(JoinRequest(session)))  # noqa: B023
        recorded += [data for at_s, data, _, to in air.sent if at_s >= began_s and to[0] == GROUP_4]
        air.run(1.0)
        assert all((1, JoinRequest(session)) in other.heard for other in others), f"session {session}"
        air.remove(one)
        air.run(20.0)
    assert all(other.heard.count((1, JoinRequest(0))) == 1 for other in others)


def bytes_to(air: Air, victim: Address) -> int:
    return sum(len(data) for _, data, _, to in air.sent if to == victim)


def test_frames_from_an_address_that_has_not_answered_are_not_amplified() -> None:
    node, victim = Core(1), ("192.0.2.7", 5_000)
    air = Air(node)
    junk = SEAL.close(pack(Frame(Kind.ACK, NodeId(5), EVERYBODY, 1, bytes(8))))
    for sent in range(1, 40):
        air.give(node, junk, victim)
        air.run(0.15)
        assert bytes_to(air, victim) <= sent * len(junk)
    hello = SEAL.close(pack(Frame(Kind.HELLO, NodeId(5), EVERYBODY, 2, Introduction(1, "").pack())))
    before = bytes_to(air, victim)
    air.give(node, hello, victim)
    assert bytes_to(air, victim) - before <= len(hello)


def test_an_announcement_with_a_forged_source_is_not_amplified() -> None:
    node, victim = Core(1), ("192.0.2.7", 5_000)
    node.link.discovery.on = True
    air = Air(node)
    small = SEAL.close(pack(Frame(Kind.HERE, NodeId(5), EVERYBODY, 1, (5_000).to_bytes(2, "big"))))
    air.call(node, lambda: node.link.discovery.receive(small, (victim[0], 8_473)))
    assert bytes_to(air, victim) == 0
    genuine = Core(2)
    Air(genuine)
    large = genuine.link.discovery.announcement()
    air.call(node, lambda: node.link.discovery.receive(large, (victim[0], 8_473)))
    assert 0 < bytes_to(air, (victim[0], genuine.addresses[0][1])) <= len(large)


def test_a_member_makes_a_node_contact_few_ports_of_one_host() -> None:
    node, member = Core(1), Core(2)
    node.link.discovery.on = True
    air = Air(node, member)
    air.greet(member, node)
    air.run(1.0)
    began_s, peer = air.now_s, member.link.peers.find(NodeId(1))
    for number in range(50):
        body = "\n".join(f"192.0.2.7:{1_024 + 16 * number + port}" for port in range(16)).encode()
        frame = Frame(Kind.PEERS, NodeId(2), NodeId(1), 2**62 + number, body)
        air.give(node, sealed(frame, peer), member.addresses[0])
    air.run(9.0)
    contacted = {to for at_s, _, _, to in air.sent if at_s >= began_s and to[0] == "192.0.2.7"}
    assert 0 < len(contacted) <= 8


def test_made_up_nodes_of_one_host_leave_places_for_others() -> None:
    few = LinkOptions(peers=PeerOptions(most=12, most_per_host=6))
    node = Core(1, options=few)
    friend = Core(2)
    made_up = [Core(10 + i, ("10.0.0.99", 9_000 + i)) for i in range(20)]
    honest = Core(3)
    air = Air(node, friend, *made_up, honest)
    air.greet(friend, node)
    air.run(1.0)
    for core in made_up:
        air.greet(core, node)
    air.run(10.0)
    air.greet(honest, node)
    air.run(2.0)
    peers = node.link.peers.nodes()
    assert 2 in peers, "who is known stays"
    assert 3 in peers
    assert sum(address[0] == "10.0.0.99" for address in peers.values()) == 6
