"""What a test does between a link and its sockets: record, lose, forge."""

from __future__ import annotations

from collections.abc import Callable

from thyme.live.link.addresses import Address
from thyme.live.link.frames import Frame, Kind, pack, pack_header, unpack
from thyme.live.link.peers import Peer
from thyme.live.link.sealing import Seal
from thyme.live.link.udp import UdpLink
from thyme.live.trust.namespaces import Namespace

SEAL = Seal(Namespace.open().number, Namespace.open().frame_key)
Decide = Callable[[bytes, Address], bool]


class Tap:
    """Stands between an open link and its sockets. `sends` and `receives` decide what passes."""

    def __init__(self, link: UdpLink, *, sends: bool = True, receives: bool = True) -> None:
        assert link.endpoint is not None
        self._link, self._endpoint, self._receive = link, link.endpoint, link.receive
        self.address, self.has_group, self.full = link.endpoint.address, link.endpoint.has_group, False
        self.sends: Decide = lambda data, address: sends
        self.receives: Decide = lambda data, address: receives
        self.sent: list[bytes] = []
        self.received: list[tuple[bytes, Address]] = []
        link.endpoint = self
        vars(link)["receive"] = self._on_receive

    def send(self, datagram: bytes, address: Address) -> None:
        self.sent.append(datagram)
        if self.sends(datagram, address):
            self._endpoint.send(datagram, address)

    def announce(self, datagram: bytes) -> None:
        self._endpoint.announce(datagram)

    async def close(self) -> None:
        await self._endpoint.close()

    def remove(self) -> None:
        self._link.endpoint = self._endpoint
        del vars(self._link)["receive"]

    def _on_receive(self, data: bytes, source: Address, *, grouped: bool = False) -> None:
        self.received.append((data, source))
        if self.receives(data, source):
            self._receive(data, source, grouped=grouped)


def kind_of(datagram: bytes) -> Kind:
    """Of a datagram in the open namespace."""
    return unpack(SEAL.open(datagram)).kind


def sealed(frame: Frame, peer: Peer | None) -> bytes:
    """A datagram of the open namespace, marked for a peer."""
    if peer is None:
        return SEAL.close(pack(frame))
    return SEAL.close(peer.cipher.close(pack_header(frame.kind, frame.sender, frame.to, frame.number), frame.body))


def send(link: UdpLink, datagram: bytes, address: Address) -> None:
    assert link.endpoint is not None
    link.endpoint.send(datagram, address)


def play(link: UdpLink, datagram: bytes, source: Address) -> None:
    """A datagram arrives, whatever its source was."""
    link.receive(datagram, source)
    link.end_turn()
