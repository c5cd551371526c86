"""Delay-tolerant message passing over a contact table: binary spray and wait, and nothing below it.

A message starts with a number of copies. A carrier with more than one gives half of them to a node that has
none; a carrier with one waits for the destination. A link carries one message at a time at a fixed rate, a node
sends one at a time, and a transfer that a separation interrupts is lost. There are no frames and no collisions:
this is the load by which the speed of movement and contacts is measured, not a model of a radio.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush
from math import inf

import msgspec
import numpy as np

from thyme.model.errors import InputError
from thyme.world.contacts.contact_table import Contacts
from thyme.world.streams import stream


class SprayAndWait(msgspec.Struct, frozen=True):
    """The load, and what nodes may keep and send."""

    copies: int = 6
    every_s: float = 30.0
    """One message between two random nodes each time, from the start on."""
    size_bytes: int = 500_000
    rate_bytes_per_s: int = 250_000
    lifetime_s: float = 18_000.0
    max_buffered: int = 100
    """Messages that a node carries; a further one pushes out the oldest."""

    def __post_init__(self) -> None:
        for name in ("copies", "size_bytes", "rate_bytes_per_s", "max_buffered"):
            if getattr(self, name) < 1:
                raise InputError(f"spray and wait: {name} is {getattr(self, name)}; expected at least 1")
        for name in ("every_s", "lifetime_s"):
            if not 0.0 < getattr(self, name) < inf:
                raise InputError(f"spray and wait: {name} is {getattr(self, name):g}; expected a finite number above 0")


class Delivered(msgspec.Struct, frozen=True):
    """What became of the messages."""

    created: int
    delivered: int
    mean_delay_s: float
    transfers: int
    relayed: int
    """Transfers that gave copies to a further carrier."""
    broken_off: int
    """Transfers lost because their contact ended."""
    pushed_out: int

    @property
    def ratio(self) -> float:
        return self.delivered / self.created if self.created else 0.0


def spray_and_wait(contacts: Contacts, how: SprayAndWait, until_s: float, seed: int) -> Delivered:
    """Carry messages over `contacts` until `until_s`."""
    if contacts.nodes < 2:
        raise InputError(f"spray and wait needs at least two nodes, found {contacts.nodes}")
    run = _Run(contacts.nodes, how, until_s, seed)
    for at_s, kind, one, other in _agenda(contacts, how, until_s):
        run.finish_transfers(at_s)
        if kind == _UP:
            run.meet(one, other, at_s)
        elif kind == _DOWN:
            run.part(one, other, at_s)
        else:
            run.create(one, at_s)
    run.finish_transfers(until_s)
    return run.result()


_DOWN, _UP, _CREATE = 0, 1, 2

CHUNK = 65_536
"""Events turned into Python objects at a time: millions of them at once would only fill memory."""


def _agenda(contacts: Contacts, how: SprayAndWait, until_s: float) -> Iterator[tuple[float, int, int, int]]:
    """All that is known in advance, in order of time: separations before meetings before messages."""
    creations_s = np.arange(0.0, until_s, how.every_s)
    met, parted = contacts.start_s < until_s, contacts.end_s < until_s
    at_s = np.concatenate((contacts.end_s[parted], contacts.start_s[met], creations_s))
    kind = np.repeat([_DOWN, _UP, _CREATE], [parted.sum(), met.sum(), len(creations_s)])
    one = np.concatenate((contacts.a[parted], contacts.a[met], np.arange(len(creations_s))))
    other = np.concatenate((contacts.b[parted], contacts.b[met], np.zeros(len(creations_s), np.int64)))
    order = np.lexsort((other, one, kind, at_s))
    for begin in range(0, len(order), CHUNK):
        rows = order[begin : begin + CHUNK]
        yield from zip(*(column[rows].tolist() for column in (at_s, kind, one, other)), strict=True)


class _Run:
    """The copies of each node, the current contacts, and the transfers under way."""

    def __init__(self, nodes: int, how: SprayAndWait, until_s: float, seed: int) -> None:
        self._how = how
        self._until_s = until_s
        self._transfer_s = how.size_bytes / how.rate_bytes_per_s
        ends = stream(seed, "spray and wait").integers((nodes, nodes - 1), size=(int(until_s / how.every_s) + 1, 2))
        self._source = ends[:, 0].tolist()
        self._destination = ((ends[:, 0] + 1 + ends[:, 1]) % nodes).tolist()
        self._copies: list[dict[int, int]] = [{} for _ in range(nodes)]
        self._sprayed: list[dict[int, None]] = [{} for _ in range(nodes)]  # those with more than one copy
        self._waiting: list[dict[int, dict[int, None]]] = [{} for _ in range(nodes)]  # all, by destination
        self._near: list[dict[int, None]] = [{} for _ in range(nodes)]
        self._sending: list[tuple[int, int, int] | None] = [None] * nodes
        self._under_way: list[tuple[float, int, int]] = []
        self._arrived_s: dict[int, float] = {}
        self._created = self._transfers = self._relayed = self._broken_off = self._pushed_out = 0

    def create(self, message: int, at_s: float) -> None:
        self._created += 1
        source = self._source[message]
        self._keep(source, message, self._how.copies)
        self._send(source, at_s)

    def meet(self, one: int, other: int, at_s: float) -> None:
        self._near[one][other] = None
        self._near[other][one] = None
        if self._sending[one] is None and (self._sprayed[one] or other in self._waiting[one]):
            self._offer(one, other, at_s)
        if self._sending[other] is None and (self._sprayed[other] or one in self._waiting[other]):
            self._offer(other, one, at_s)

    def part(self, one: int, other: int, at_s: float) -> None:
        del self._near[one][other], self._near[other][one]
        for sender, receiver in ((one, other), (other, one)):
            transfer = self._sending[sender]
            if transfer is not None and transfer[0] == receiver:
                self._broken_off += 1
                self._sending[sender] = None
                self._send(sender, at_s)

    def finish_transfers(self, until_s: float) -> None:
        """Let arrive what arrives by `until_s`."""
        while self._under_way and self._under_way[0][0] <= until_s:
            at_s, number, sender = heappop(self._under_way)
            transfer = self._sending[sender]
            if transfer is None or transfer[2] != number:
                continue
            receiver, message, _ = transfer
            self._sending[sender] = None
            self._hand_over(sender, receiver, message, at_s)
            self._send(sender, at_s)
            self._send(receiver, at_s)

    def result(self) -> Delivered:
        delays_s = [at_s - message * self._how.every_s for message, at_s in self._arrived_s.items()]
        return Delivered(
            created=self._created,
            delivered=len(delays_s),
            mean_delay_s=sum(delays_s) / len(delays_s) if delays_s else float("nan"),
            transfers=self._transfers,
            relayed=self._relayed,
            broken_off=self._broken_off,
            pushed_out=self._pushed_out,
        )

    def _send(self, node: int, at_s: float) -> None:
        if self._sending[node] is None and self._copies[node]:
            for near in self._near[node]:
                if self._offer(node, near, at_s):
                    return

    def _offer(self, sender: int, receiver: int, at_s: float) -> bool:
        """Begin to send the first message that `receiver` should have; False if there is none."""
        has, stale_s = self._copies[receiver], at_s - self._how.lifetime_s
        waiting = self._waiting[sender].get(receiver, {})
        for message in (*waiting, *self._sprayed[sender]):
            if message not in self._copies[sender]:
                continue
            if message * self._how.every_s < stale_s or (message in waiting and message in self._arrived_s):
                self._drop(sender, message)
            elif message in waiting or message not in has:
                self._transfers += 1
                self._sending[sender] = (receiver, message, self._transfers)
                heappush(self._under_way, (at_s + self._transfer_s, self._transfers, sender))
                return True
        return False

    def _hand_over(self, sender: int, receiver: int, message: int, at_s: float) -> None:
        copies = self._copies[sender].get(message)
        if copies is None:  # pushed out or expired on the way
            return
        if self._destination[message] == receiver:
            self._arrived_s.setdefault(message, at_s)
            self._drop(sender, message)
        elif copies > 1 and message not in self._copies[receiver]:
            self._copies[sender][message] = copies - copies // 2
            if copies - copies // 2 == 1:
                del self._sprayed[sender][message]
            self._keep(receiver, message, copies // 2)
            self._relayed += 1

    def _keep(self, node: int, message: int, copies: int) -> None:
        kept = self._copies[node]
        if len(kept) >= self._how.max_buffered:
            self._drop(node, next(iter(kept)))
            self._pushed_out += 1
        kept[message] = copies
        if copies > 1:
            self._sprayed[node][message] = None
        self._waiting[node].setdefault(self._destination[message], {})[message] = None

    def _drop(self, node: int, message: int) -> None:
        """Forget a message, if it is still carried."""
        if self._copies[node].pop(message, None) is None:
            return
        self._sprayed[node].pop(message, None)
        waiting = self._waiting[node][self._destination[message]]
        del waiting[message]
        if not waiting:
            del self._waiting[node][self._destination[message]]
