"""A switch between network namespaces, in user space: it loses, delays, repeats and reorders frames, drops multicast,
and can be cut into parts. Each namespace has a TAP device with an address of IPv4. Needs root and `/dev/net/tun`."""

from __future__ import annotations

import os
import struct
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from fcntl import ioctl
from heapq import heappop, heappush
from pathlib import Path
from random import Random
from select import select
from threading import Thread
from time import monotonic

from thyme.fuzz.live.machines import Weather
from thyme.model.errors import InputError

TUN = Path("/dev/net/tun")
SET_INTERFACE = 0x400454CA
TAP, PLAIN = 0x0002, 0x1000
"""Ethernet frames, without a header before them."""
FRAME_BYTES = 2_048
WAIT_S = 0.05
INTERFACE = "tap0"
CALM = Weather(0.0, 0.0)


class Switch:
    """It forwards in a thread of its own; faults set `weather` and `parts`."""

    def __init__(self, names: Sequence[str], seed: int) -> None:
        self.names = names
        self.weather = CALM
        self.parts: dict[int, int] = {}
        """In which part of the network a port is; all in one unless said otherwise."""
        self.ended = False
        self._random = Random(seed)
        self._ports = [_tap(name, index) for index, name in enumerate(names)]
        self._learnt: dict[bytes, int] = {}
        """Ports by hardware address."""
        self._waiting: list[tuple[float, int, int, bytes]] = []
        self._order = 0
        self._thread = Thread(target=self._forward, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self.ended = True
        self._thread.join()
        for port in self._ports:
            os.close(port)

    def _forward(self) -> None:
        while not self.ended:
            wait_s = min(WAIT_S, max(0.0, self._waiting[0][0] - monotonic())) if self._waiting else WAIT_S
            for port in select(self._ports, [], [], wait_s)[0]:
                with suppress(OSError):
                    self._receive(self._ports.index(port), os.read(port, FRAME_BYTES))
            while self._waiting and self._waiting[0][0] <= monotonic():
                _, _, index, frame = heappop(self._waiting)
                with suppress(OSError):  # its interface is down
                    os.write(self._ports[index], frame)

    def _receive(self, source: int, frame: bytes) -> None:
        self._learnt[frame[6:12]] = source
        group = bool(frame[0] & 1)
        to = None if group else self._learnt.get(frame[:6])
        if group and not self.weather.multicast and frame[:6] != b"\xff" * 6:
            return
        for index in range(len(self._ports)) if to is None else (to,):
            if index != source and self.parts.get(index, 0) == self.parts.get(source, 0):
                self._carry(index, frame)

    def _carry(self, index: int, frame: bytes) -> None:
        weather, draw = self.weather, self._random
        for _ in range(1 + (draw.random() < weather.duplication)):
            if draw.random() >= weather.loss:
                self._order += 1
                due_s = monotonic() + weather.delay_s + draw.random() * weather.jitter_s
                heappush(self._waiting, (due_s, self._order, index, frame))


@contextmanager
def network(count: int, seed: int) -> Iterator[Switch]:
    """Namespaces with a switch between them."""
    if os.geteuid() or not TUN.exists():
        raise InputError(f"this needs root, for network namespaces, and {TUN}")
    names = [f"thyme-{os.getpid()}-{index}" for index in range(count)]
    try:
        for name in names:
            ip("netns", "add", name)
        switch = Switch(names, seed)
        try:
            yield switch
        finally:
            switch.close()
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)


def give_address(name: str, index: int, moves: int) -> None:
    """The device of a namespace has this address of IPv4 only."""
    ip("-n", name, "-4", "addr", "flush", "dev", INTERFACE)
    ip("-n", name, "addr", "add", f"10.9.{moves}.{index + 1}/16", "dev", INTERFACE)
    _route(name)


def plug(name: str, *, up: bool) -> None:
    ip("-n", name, "link", "set", INTERFACE, "up" if up else "down")
    if up:
        _route(name)


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


def _route(name: str) -> None:
    subprocess.run(
        ["ip", "-n", name, "route", "add", "224.0.0.0/4", "dev", INTERFACE], capture_output=True, check=False
    )


def _tap(name: str, index: int) -> int:
    port = os.open(TUN, os.O_RDWR | os.O_NONBLOCK)
    made = f"ty{os.getpid() % 100_000}p{index}"
    ioctl(port, SET_INTERFACE, struct.pack("16sH", made.encode(), TAP | PLAIN))
    ip("link", "set", made, "netns", name)
    ip("-n", name, "link", "set", made, "name", INTERFACE)
    ip("-n", name, "link", "set", "lo", "up")
    ip("-n", name, "link", "set", INTERFACE, "mtu", "1500", "up")
    give_address(name, index, 0)
    return port
