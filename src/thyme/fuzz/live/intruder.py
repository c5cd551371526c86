"""An intruder: somebody on the network of simulated devices who has no key and can send in the name of any address."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from thyme.fuzz.live.machines import Machines
from thyme.live.link.addresses import Address
from thyme.live.link.sealing import VERSION_AT

MAX_RECORDED = 2_000
"""Datagrams that are kept."""


class Intruder:
    def __init__(self, machines: Machines, draw: Random, per_s: float, lasts_s: float) -> None:
        self._machines = machines
        self._draw = draw
        self._wait_s = 1.0 / per_s
        self._end_s = machines.now_s + lasts_s
        self._recorded: list[tuple[bytes, Address, Address]] = []
        """Datagrams with their source and destination."""
        self._kinds: list[Callable[[bytes], bytes]] = [self._replayed, self._altered, self._older, self._noise]

    def begin(self) -> None:
        self._machines.taps.append(self._record)
        self._act()

    def _record(self, datagram: bytes, source: Address, to: Address) -> None:
        place = self._draw.randrange(MAX_RECORDED)
        if len(self._recorded) < MAX_RECORDED:
            self._recorded.append((datagram, source, to))
        else:
            self._recorded[place] = (datagram, source, to)

    def _act(self) -> None:
        machines, draw = self._machines, self._draw
        if machines.now_s >= self._end_s:
            machines.taps.remove(self._record)
            return
        if self._recorded:
            datagram, source, to = draw.choice(self._recorded)
            if draw.random() < 0.5:
                source = draw.choice(self._recorded)[1]
            kind = draw.choice(self._kinds)
            machines.counts[f"datagrams {kind.__name__[1:]}"] += 1
            machines.inject(kind(datagram), source, to)
        machines.at(machines.now_s + self._wait_s, self._act)

    def _replayed(self, datagram: bytes) -> bytes:
        return datagram

    def _altered(self, datagram: bytes) -> bytes:
        bent = bytearray(datagram)
        bent[self._draw.randrange(len(bent))] ^= 1 << self._draw.randrange(8)
        return bytes(bent)

    def _older(self, datagram: bytes) -> bytes:
        return datagram[:VERSION_AT] + bytes([datagram[VERSION_AT] - 1]) + datagram[VERSION_AT + 1 :]

    def _noise(self, datagram: bytes) -> bytes:
        return self._draw.randbytes(len(datagram))
