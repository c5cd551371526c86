"""Multicast: used where it is heard, and nobody is left out where it is not."""

from __future__ import annotations

import asyncio
import socket
import struct
import subprocess
import sys
from functools import partial

import pytest
from cores import Air, Core
from networks import network, refusal
from test_live_link import End, acquaint, closed, opened, until

from thyme.live.link.addresses import GROUP_4
from thyme.live.link.link import OVERLAY, LinkOptions, MulticastOptions
from thyme.model.ids import NodeId
from thyme.model.records import TrafficKind
from thyme.wire.routing import Flooded
from thyme.wire.storage import JoinRequest


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def carried_on_loopback() -> bool:
    """Whether this machine lets multicast be tried."""
    port = free_port()
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listening,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sending,
    ):
        network = socket.inet_aton("127.0.0.1")
        try:
            listening.bind(("", port))
            listening.settimeout(0.5)
            membership = struct.pack("4s4s", socket.inet_aton(GROUP_4), network)
            listening.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, membership)
            sending.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, network)
            sending.sendto(b"x", (GROUP_4, port))
            return listening.recv(1) == b"x"
        except OSError:
            return False


def options(port: int, least_peers: int = 2) -> LinkOptions:
    return LinkOptions(multicast=MulticastOptions(port=port, ask_s=0.05, loopback=True, least_peers=least_peers))


def broadcasts(end: End) -> int:
    """Datagrams that this end sent for its broadcasts."""
    return end.counts[(TrafficKind.PHY_SENT.value, "broadcast", "")]


@pytest.mark.skipif(not carried_on_loopback(), reason="no multicast on loopback here")
def test_one_datagram_reaches_all_who_hear_it_and_those_who_do_not_get_one_each() -> None:
    async def scene() -> None:
        port = free_port()
        middle, left, right, deaf = End(0, options(port)), End(1, options(port)), End(2, options(port)), End(3)
        await opened(middle, left, right, deaf)
        for other in (left, right, deaf):
            await acquaint(middle, other)
        await until(lambda: len(middle.link.core.in_group(middle.link.peers.addresses())) == 2)
        middle.link.broadcast(JoinRequest(7))
        for other in (left, right, deaf):
            assert await other.next() == (0, JoinRequest(7))
        assert broadcasts(middle) == 2
        assert all(end.heard.empty() for end in (middle, left, right, deaf))
        await closed(middle, left, right, deaf)

    asyncio.run(scene())


@pytest.mark.skipif(not carried_on_loopback(), reason="no multicast on loopback here")
def test_strangers_in_the_group_are_not_heard() -> None:
    async def scene() -> None:
        port = free_port()
        one, two, stranger = End(1, options(port, 1)), End(2, options(port, 1)), End(3, options(port, 1))
        await opened(one, two, stranger)
        await acquaint(one, two)
        await until(lambda: bool(one.link.core.in_group(one.link.peers.addresses())))
        one.link.broadcast(JoinRequest(7))
        assert await two.next() == (1, JoinRequest(7))
        await asyncio.sleep(0.05)
        assert stranger.heard.empty()
        assert stranger.link.peers.nodes() == {}
        await closed(one, two, stranger)

    asyncio.run(scene())


def test_who_is_not_heard_from_any_more_is_sent_a_datagram_of_its_own() -> None:
    middle, left, right, deaf = (Core(number, group=number < 4, options=options(8_472)) for number in (1, 2, 3, 4))
    air = Air(middle, left, right, deaf)
    air.greet(middle, left, right, deaf)
    air.run(1.0)
    everybody = middle.link.peers.addresses()
    assert middle.link.in_group(everybody) == {left.addresses[0], right.addresses[0]}
    assert middle.link.in_group(everybody[1:]) == set(), "too few to be worth it"
    before = middle.counts.total()
    air.call(middle, lambda: middle.link.broadcast(JoinRequest(7)))
    assert [to for at_s, _, _, to in air.sent if at_s == air.now_s] == [(GROUP_4, 8_472), deaf.addresses[0]]
    assert middle.counts.total() == before
    left.group = False
    air.run(12.0)
    assert middle.link.in_group(everybody) == {left.addresses[0], right.addresses[0]}, "an answer counts for a while"
    air.run(4.0)
    assert middle.link.in_group(everybody) == set()


def test_nodes_of_both_families_use_the_group_whichever_address_was_met_first() -> None:
    cores = [
        Core(number, (f"fd00::{number}", 9_000), (f"10.0.0.{number}", 9_000), group=True, options=options(8_472, 4))
        for number in range(1, 6)
    ]
    for core in cores:
        core.link.discovery.on = True
    air = Air(*cores)
    air.run(3.0)
    first, others = cores[0], cores[1:]
    assert any(":" in host for host, _ in first.link.peers.addresses())
    air.call(first, lambda: first.link.broadcast(JoinRequest(7)))
    assert [to for at_s, _, _, to in air.sent if at_s == air.now_s] == [(GROUP_4, 8_472)]
    air.run(0.1)
    assert [core.heard for core in others] == [[(1, JoinRequest(7))]] * 4


def test_without_the_group_what_is_passed_on_reaches_all_over_a_few_random_peers() -> None:
    cores = [Core(number) for number in range(1, 41)]
    air = Air(*cores)
    for number, core in enumerate(cores):
        air.greet(core, *cores[:number])
    air.run(5.0)
    flood = Flooded(NodeId(1), 7, 0, b"")

    air.call(cores[0], lambda: cores[0].link.broadcast(flood))
    assert sum(at_s == air.now_s for at_s, *_ in air.sent) == OVERLAY
    passed_on: list[Core] = [cores[0]]
    while True:
        air.run(0.01)
        reached = [core for core in cores if core.heard and core not in passed_on]
        if not reached:
            break
        for core in reached:
            air.call(core, partial(core.link.broadcast, flood))
        passed_on += reached
    assert len(passed_on) == 40
    air.call(cores[0], lambda: cores[0].link.broadcast(JoinRequest(7)))
    assert sum(at_s == air.now_s for at_s, *_ in air.sent) == 39, "what is for neighbours goes to all of them"


GROUPED = """
import asyncio
from thyme.live import Node
async def main():
    async with Node(store="memory", approach="ls", settings={"join": {"wait_s": 0.2}}) as node:
        link = node.device.host.link
        for _ in range(150):
            if len(link.core.in_group(link.peers.addresses())) == 4:
                break
            await asyncio.sleep(0.1)
        print(link.address[0], len(link.core.in_group(link.peers.addresses())), flush=True)
        await asyncio.sleep(5.0)
asyncio.run(main())
"""


@pytest.mark.long
@pytest.mark.skipif(bool(refusal()), reason=refusal() or "-")
def test_nodes_that_listen_to_all_addresses_receive_the_group() -> None:
    with network(5) as machines:
        commands = [["ip", "netns", "exec", machine, sys.executable, "-c", GROUPED] for machine in machines]
        programs = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for command in commands]
        said = [program.communicate(timeout=60)[0] for program in programs]
    assert said == [":: 4\n"] * 5


def test_on_loopback_there_is_none_unless_it_is_asked_for() -> None:
    async def scene() -> None:
        end = End(1)
        await opened(end)
        assert end.link.endpoint is not None
        assert not end.link.endpoint.has_group
        await closed(end)

    asyncio.run(scene())
