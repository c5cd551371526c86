"""The doctor: why two devices do not see each other.

It listens and greets for a few seconds as a node of the namespace would, under a key of its own, and reports:
interfaces, whether multicast is sent and received, nodes that announce themselves and nodes that answer, other
namespaces, other versions, clocks, and whether another device has this device's key. Warnings of the link are findings,
too.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Iterable
from random import Random

import msgspec

from thyme.live.link.addresses import ANY_6, Address, address_text
from thyme.live.link.crowd_time import CrowdTime
from thyme.live.link.frames import Kind, unpack
from thyme.live.link.link import LinkOptions
from thyme.live.link.sealing import FrameError, Seal
from thyme.live.link.sockets import has_ipv6
from thyme.live.link.udp import UdpLink
from thyme.live.node.clock import Clock
from thyme.live.trust.identity import Identity
from thyme.live.trust.namespaces import Namespace
from thyme.model.ids import NodeId

LISTEN_S = 4.0
"""Longer than an interval of announcements."""
MAX_HEARD = 100


class Diagnosis(msgspec.Struct, frozen=True):
    fine: bool
    text: str


class _Warnings(logging.Handler):
    """Reports of the link about the nodes it receives from."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage().partition(": ")[2]
        if text and text not in self.texts and len(self.texts) < MAX_HEARD:
            self.texts.append(text)


class Doctor:
    """One examination."""

    def __init__(
        self, namespace: Namespace, approach: str, own: NodeId | None, options: LinkOptions | None = None
    ) -> None:
        """`own` is the number of this device's key, if it has one."""
        self._namespace = namespace
        self._own = own
        self._options = options or LinkOptions()
        identity = Identity.new()
        self._me = identity.node
        self._link = UdpLink(
            identity.node,
            Random(identity.node),
            lambda sender, message, size_bytes: None,
            lambda traffic, name, size_bytes, reason: None,
            self._options,
            identity=identity,
            namespace=namespace,
            discovers=True,
        )
        self._link.peering.approach = approach
        self._link.peering.time = CrowdTime(Clock().now)
        self._link.discovery.directory.expect(namespace)
        self._echoes: set[str] = set()
        self._announced: dict[NodeId, str] = {}
        self._unread: dict[str, str] = {}
        """Why announcements could not be read, and from where one came."""
        self._seal = Seal(namespace.number, namespace.frame_key)
        self._link.discovery.on_announcement = self._note

    async def examine(self, peers: Iterable[Address], listen_s: float = LISTEN_S) -> list[Diagnosis]:
        warnings = _Warnings()
        logger = logging.getLogger("thyme.live")
        passed_on, logger.propagate = logger.propagate, False
        logger.addHandler(warnings)
        listed = list(peers)
        try:
            await self._link.open((ANY_6, 0) if has_ipv6() else ("0.0.0.0", 0))
            self._link.greet(listed)
            await asyncio.sleep(listen_s)
            met = self._link.peers.nodes()
            around = self._link.discovery.directory.around()
            await self._link.close()
        finally:
            logger.removeHandler(warnings)
            logger.propagate = passed_on
        findings = [*self._about_network(), *self._about_peers(met, listed), *self._about_others()]
        findings += [
            Diagnosis(True, f"open namespace {one.name!r} is nearby, approach {one.approach}") for one in around
        ]
        return findings + [Diagnosis(False, text) for text in warnings.texts]

    def _note(self, data: bytes, address: Address) -> None:
        try:
            frame = unpack(self._seal.open(data))
        except FrameError as error:
            if not self._link.discovery.directory.receive(data):
                self._unread.setdefault(str(error), address[0])
            return
        if frame.sender == self._me:
            self._echoes.add("IPv6" if ":" in address[0] else "IPv4")
        elif frame.kind is Kind.HERE and len(self._announced) < MAX_HEARD:
            self._announced[frame.sender] = address[0]

    def _about_network(self) -> list[Diagnosis]:
        names = [name for _, name in socket.if_nameindex() if name != "lo"]
        found = [Diagnosis(bool(names), f"interfaces: {', '.join(names) or 'none but loopback: join a network first'}")]
        port = self._options.discovery.port
        for family in ("IPv4", "IPv6"):
            if family in self._echoes:
                found.append(Diagnosis(True, f"multicast of {family} leaves and comes back (port {port})"))
            else:
                why = "the network or a firewall drops it" if family == "IPv4" else "there is no IPv6, or it is dropped"
                found.append(Diagnosis(False, f"no multicast of {family}: {why}; name others with --peer ADDRESS:PORT"))
        return found

    def _about_peers(self, met: dict[NodeId, Address], listed: list[Address]) -> list[Diagnosis]:
        found = [
            Diagnosis(True, f"{self._link.peers.called(node)} at {address_text(at)} answers")
            for node, at in met.items()
        ]
        for node, host in self._announced.items():
            if node == self._own and not is_own(host):
                text = f"{host} has this device's key, node {node}: one of the two must get a key of its own"
                found.append(Diagnosis(False, text))
            elif node not in met and node != self._own:
                text = f"node {node} at {host} is heard and does not answer: a firewall, there or here, drops UDP"
                found.append(Diagnosis(False, text))
        for address in listed:
            if address not in met.values():
                text = f"{address_text(address)} does not answer: nobody listens there, a firewall drops UDP, or it is "
                found.append(Diagnosis(False, text + f"in another namespace than {self._namespace.name!r}"))
        if not met and not self._announced:
            found.append(Diagnosis(False, f"no node of namespace {self._namespace.name!r} was heard"))
        return found

    def _about_others(self) -> list[Diagnosis]:
        said = {
            "another namespace": "somebody at {} shares in another namespace: compare names and invitations",
            "a broken seal": "somebody at {} alters datagrams of this namespace, or makes them without its key",
            "another link version": "somebody at {} runs another version of Thyme: bring both up to date",
        }
        return [
            Diagnosis(why == "another namespace", said[why].format(at))
            for why, at in self._unread.items()
            if why in said
        ]


def is_own(host: str) -> bool:
    """Whether an address is one of this machine."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    host, _, interface = host.partition("%")
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((host, 0, 0, socket.if_nametoindex(interface)) if interface else (host, 0))
    except OSError:
        return False
    return True
