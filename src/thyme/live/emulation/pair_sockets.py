"""The emulated network between processes of one machine: a socket for every ordered pair of nodes.

Node i sends to node j at the address of socket (i, j). The datagram leaves from socket (j, i), which is i's address for
j, if the area lets it through and after its delay. The nodes are unchanged and do not know about it.
"""

from __future__ import annotations

import asyncio
import socket
from collections import Counter

from thyme.live.emulation.area import EmulatedArea, Medium
from thyme.live.link.addresses import Address

LOCAL = "127.0.0.1"
MAX_DATAGRAM_BYTES = 65_536
READ_PER_TURN = 32
BUFFER_BYTES = 1_000_000


class Air:
    """Carries the datagrams of a crowd."""

    def __init__(self, area: EmulatedArea) -> None:
        self._area = area
        self._loop = asyncio.get_running_loop()
        self._sockets: dict[tuple[int, int], socket.socket] = {}
        self._addresses: dict[int, Address] = {}
        self.carried: Counter[tuple[int, int]] = Counter()
        """Delivered datagrams per (sender, receiver) since the last reading."""
        self.datagrams = self.lost = 0
        self.medium = Medium(area.options.medium)
        self.late_s = 0.0
        """By how much datagrams were handed over later than they should have been, in all: this machine was busy."""

    def open(self) -> None:
        nodes = range(len(self._area.places))
        for one in nodes:
            for other in nodes:
                if one != other:
                    self._open(one, other)

    def close(self) -> None:
        for each in self._sockets.values():
            self._loop.remove_reader(each.fileno())
            each.close()
        self._sockets.clear()

    def peers_of(self, node: int) -> list[str]:
        """Addresses of all other nodes, as one node uses them."""
        places = (each.getsockname() for (one, _), each in self._sockets.items() if one == node)
        return [f"{host}:{port}" for host, port in places]

    def settle(self, node: int, address: Address | None) -> None:
        """A node listens at this address now; None: nowhere."""
        if address is None:
            self._addresses.pop(node, None)
        else:
            self._addresses[node] = address

    def _open(self, one: int, other: int) -> None:
        end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        end.setblocking(False)
        end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
        end.bind((LOCAL, 0))
        self._sockets[one, other] = end
        self._loop.add_reader(end.fileno(), self._read, end, one, other)

    def _read(self, end: socket.socket, one: int, other: int) -> None:
        for _ in range(READ_PER_TURN):
            try:
                data, sender = end.recvfrom(MAX_DATAGRAM_BYTES)
            except OSError:  # there is no more, or the receiver has gone
                return
            if sender == self._addresses.get(one):
                self._carry(data, one, other)

    def _carry(self, data: bytes, one: int, other: int) -> None:
        delay_s = self._area.delay_s(one, other)
        if delay_s is None:
            self.lost += self._area.hears(one, other)
            return
        now_s = self._loop.time()
        turn_s = self.medium.turn_s(now_s, one, other, len(data))
        if turn_s is None:
            self.lost += 1
            return
        self.carried[one, other] += 1
        self.datagrams += 1
        due_s = now_s + turn_s + delay_s
        self._loop.call_at(due_s, self._deliver, data, one, other, due_s)

    def _deliver(self, data: bytes, one: int, other: int, due_s: float) -> None:
        self.late_s += max(0.0, self._loop.time() - due_s)
        end, address = self._sockets.get((other, one)), self._addresses.get(other)
        if end is None or address is None:
            return
        try:
            end.sendto(data, address)
        except OSError:  # a full buffer is a loss like any other
            self.lost += 1
