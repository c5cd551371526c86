"""Nodes that find each other with no address given, in networks that the tests make."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from typing import Any

import pytest
from cores import Air, Core
from networks import network, refusal
from taps import Tap
from test_live_link import End, closed, opened, until

from thyme.live.link.addresses import Address, is_local
from thyme.live.link.discovery import DiscoveryOptions, pack_addresses, unpack_addresses
from thyme.live.link.link import LinkOptions
from thyme.live.link.sealing import FrameError
from thyme.live.link.sockets import plain_address

SCRIPT = """
import asyncio, json, sys, time
from thyme.live import Node
async def main():
    given = json.loads(sys.argv[1])
    async with Node(store="memory", approach="ls", settings={"join": {"wait_s": 0.2}}, **given) as node:
        print(json.dumps({"id": node.id, "at_s": time.time()}), flush=True)
        async for presence in node.peers():
            print(json.dumps({"peer": presence.node, "address": presence.address, "at_s": time.time()}), flush=True)
            break
        stream = await node.subscribe("goal")
        await node.insert("mine", b"here", ["goal"])
        async for notice in stream:
            if notice.metadata.key.owner != node.id:
                print(json.dumps({"content": (await node.retrieve(notice.metadata)).decode()}), flush=True)
                break
        await asyncio.to_thread(sys.stdin.readline)
asyncio.run(main())
"""


class Program:
    """A node in a network."""

    def __init__(self, network: str, **options: Any) -> None:
        command = ["ip", "netns", "exec", network, sys.executable, "-c", SCRIPT, json.dumps(options)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def line(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        read: dict[str, Any] = json.loads(self._process.stdout.readline())
        return read

    def end(self) -> None:
        self._process.communicate("\n", timeout=30)


@pytest.mark.long
@pytest.mark.skipif(bool(refusal()), reason=refusal() or "-")
@pytest.mark.parametrize("kind", ["both", "IPv4 alone", "IPv6 alone"])
def test_two_nodes_of_one_network_see_each_other_within_two_seconds_and_share(kind: str) -> None:
    with network(ipv4=kind != "IPv6 alone", ipv6=kind != "IPv4 alone") as (one, other):
        programs = [Program(one), Program(other)]
        try:
            came = [program.line() for program in programs]
            met = [program.line() for program in programs]
            assert [each["peer"] for each in met] == [came[1]["id"], came[0]["id"]]
            began_s = max(each["at_s"] for each in came)
            assert all(each["at_s"] - began_s < 2.0 for each in met)
            assert ["." in each["address"] for each in met] == [kind == "IPv4 alone"] * 2 or kind == "both"
            assert [program.line() for program in programs] == [{"content": "here"}] * 2
        finally:
            for program in programs:
                program.end()


def test_a_node_told_of_another_greets_it_and_one_that_does_not_discover_does_not() -> None:
    async def scene() -> None:
        middle, left, right, fixed = End(0), End(1), End(2), End(3)
        for end in (middle, left, right):
            end.link.discovery.on = True
        await opened(middle, left, right, fixed)
        for end in (left, right, fixed):
            end.link.greet([middle.link.address])
        await until(lambda: len(middle.link.peers.nodes()) == 3)
        await until(lambda: 2 in left.link.peers.nodes() and 1 in right.link.peers.nodes())
        fixed.link.receive_announcement(left.link.discovery.announcement(), ("127.0.0.1", 5))
        await asyncio.sleep(0.05)
        assert list(fixed.link.peers.nodes()) == [0]
        await closed(middle, left, right, fixed)

    asyncio.run(scene())


def test_announcements_bring_nodes_together_and_nothing_else_does() -> None:
    async def scene() -> None:
        one, other, elsewhere = End(1), End(2), End(3)
        one.link.discovery.on = other.link.discovery.on = True
        await opened(one, other, elsewhere)
        announcement = other.link.discovery.announcement()
        one.link.receive_announcement(b"noise", ("127.0.0.1", 5))
        one.link.receive_announcement(one.link.discovery.announcement(), ("127.0.0.1", 5))
        one.link.receive_announcement(announcement, ("127.0.0.1", 5))
        await until(lambda: one.link.peers.nodes() == {2: other.link.address})
        elsewhere.link.receive_announcement(announcement, ("127.0.0.1", 5))
        await asyncio.sleep(0.05)
        assert elsewhere.link.peers.nodes() == {}
        await closed(one, other, elsewhere)

    asyncio.run(scene())


def test_a_peer_that_was_killed_and_is_back_is_met_before_it_is_missed() -> None:
    async def scene() -> None:
        one, killed, back = End(1), End(2), End(2)
        one.link.discovery.on = True
        await opened(one, killed, back)
        one.link.receive_announcement(killed.link.discovery.announcement(), ("127.0.0.1", 5))
        await until(lambda: one.link.peers.nodes() == {2: killed.link.address})
        Tap(killed.link, sends=False)
        await closed(killed)
        one.link.receive_announcement(back.link.discovery.announcement(), ("127.0.0.1", 5))
        await until(lambda: one.link.peers.nodes() == {2: back.link.address})
        await closed(one, back)

    asyncio.run(scene())


OWN_ADDRESSES = """
import socket
from pathlib import Path
from thyme.live.doctor import is_own
rows = [line.split() for line in Path("/proc/self/net/if_inet6").read_text().splitlines()]
local = [(socket.inet_ntop(socket.AF_INET6, bytes.fromhex(row[0])), row[5]) for row in rows if row[3] == "20"]
print([is_own(f"{host}%{name}") for host, name in local], is_own("fe80::1%" + local[0][1]), is_own("127.0.0.1"))
"""


@pytest.mark.long
@pytest.mark.skipif(bool(refusal()), reason=refusal() or "-")
def test_the_doctor_knows_the_devices_own_addresses_of_a_link() -> None:
    with network() as (one, _):
        command = ["ip", "netns", "exec", one, sys.executable, "-c", OWN_ADDRESSES]
        said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert said.split() == ["[True]", "False", "True"]


def test_what_is_told_of_others_means_the_same_there() -> None:
    here: Address = ("10.0.0.1", 1)
    peers: list[Address] = [here, ("10.0.0.2", 2), ("127.0.0.1", 3), ("fd00::1", 4), ("fe80::1%eth0", 5)]
    assert unpack_addresses(pack_addresses(peers, here)) == [("10.0.0.2", 2)]
    assert pack_addresses(peers, ("127.0.0.1", 9)) == b"127.0.0.1:3"
    assert pack_addresses([here], here) == b""


@pytest.mark.parametrize("body", [b"", b"nowhere", b"example.org:5", b"\xff", b"10.0.0.1:0", b"10.0.0.1:5\n" * 200])
def test_what_is_no_list_of_addresses_is_refused(body: bytes) -> None:
    with pytest.raises(FrameError):
        unpack_addresses(body)


def test_addresses_are_written_as_people_know_them() -> None:
    assert plain_address(("::ffff:10.0.0.1", 5, 0, 0)) == ("10.0.0.1", 5)
    assert plain_address(("fe80::1", 5, 0, 1)) == ("fe80::1%lo", 5)
    assert plain_address(("10.0.0.1", 5)) == ("10.0.0.1", 5)
    assert [is_local(text) for text in ("127.0.0.1:0", "[::1]:5", "localhost:5")] == [True] * 3
    assert [is_local(text) for text in ("[::]:0", "0.0.0.0:0", "10.0.0.1:5")] == [False] * 3


def announced_in(crowd: int, seconds: float) -> int:
    """How often nodes of a crowd in which all know each other announce themselves."""
    cores = [Core(number) for number in range(1, crowd + 1)]
    air = Air()
    for core in cores:
        core.link.discovery.on = True
        air.add(core)
    air.run(12.0)
    assert all(len(core.link.peers.nodes()) == crowd - 1 for core in cores)
    before = air.announcements
    air.run(seconds)
    return air.announcements - before


def test_a_larger_crowd_announces_itself_hardly_more_often() -> None:
    assert 18 <= announced_in(2, 30.0) <= 22, "each once in three seconds"
    assert announced_in(24, 30.0) <= 90, "240 if each did"


@pytest.mark.parametrize("group", [False, True])
def test_an_idle_node_sends_no_more_in_a_large_crowd_and_still_misses_who_is_gone(group: bool) -> None:
    cores = [Core(number, group=group) for number in range(1, 41)]
    air = Air()
    for core in cores:
        core.link.discovery.on = True
        air.add(core)
        core.link.greet([])
    air.run(30.0)
    air.sent.clear()
    air.run(60.0)
    assert len(air.sent) / 60.0 / len(cores) <= 5.0
    air.cores.remove(cores[0])
    air.run(60.0)
    assert all(len(core.link.peers.nodes()) == 38 for core in cores[1:])


def test_two_crowds_that_meet_hear_each_other_though_each_has_enough_announcements() -> None:
    left = [Core(number, (f"10.0.0.{number}", 9_000)) for number in range(1, 9)]
    right = [Core(number, (f"10.0.0.{number}", 9_000)) for number in range(9, 17)]
    for core in (*left, *right):
        core.link.discovery.on = True
    one, other = Air(*left), Air(*right)
    one.run(12.0)
    other.run(12.0)
    together = Air()
    together.now_s = one.now_s
    together.cores += [*left, *right]
    for core in together.cores:
        core.link.timers.now_s = together.now_s
    together.run(10.0)
    assert all(len(core.link.peers.nodes()) == 15 for core in together.cores)


@pytest.mark.parametrize(("port", "met"), [(8_473, True), (0, False)])
def test_nodes_announce_themselves_and_meet_unless_there_is_no_port(port: int, met: bool) -> None:
    cores = [Core(number, options=LinkOptions(discovery=DiscoveryOptions(port=port))) for number in (1, 2)]
    for core in cores:
        core.link.discovery.on = True
    Air(*cores).run(1.0)
    assert [bool(core.link.peers.nodes()) for core in cores] == [met, met]
