"""Unicasts under way: repeated with growing patience until they are acknowledged, and given up in the end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from thyme.model.bounded import Bounded
from thyme.model.ids import NodeId

Failed = Callable[[], None] | None


class UnicastOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    ack_wait_s: float = 0.1
    """How long the first try waits: far longer than a round trip in one place."""
    ack_growth: float = 2.0
    retries: int = 4
    """With the waits above, a link is given up after 3.1 s: a busy laptop may be silent for a second or two."""
    unacknowledged: int = 1_000
    """Unicasts under way at once; a further one fails at once."""
    heard: int = 10_000
    """Unicasts remembered by their receiver, to hand each up only once."""


class _Unicast(msgspec.Struct):
    to: NodeId
    datagram: bytes
    failed: Failed
    tries: int = 0
    timer: asyncio.TimerHandle | None = None


class Unicasts:
    """Both sides: what this node sent and is not yet acknowledged, and what it has heard already."""

    def __init__(
        self,
        options: UnicastOptions,
        transmit: Callable[[NodeId, bytes, bool], None],
        given_up: Callable[[], None],
    ) -> None:
        """`transmit(to, datagram, again)` puts a datagram on its way, for the first time or again."""
        self._options = options
        self._transmit = transmit
        self._given_up = given_up
        self._loop = asyncio.get_running_loop()
        self._under_way: dict[int, _Unicast] = {}
        self._heard: Bounded[tuple[NodeId, int], None] = Bounded(self._options.heard)

    def __len__(self) -> int:
        return len(self._under_way)

    @property
    def full(self) -> bool:
        return len(self._under_way) >= self._options.unacknowledged

    def begin(self, number: int, to: NodeId, datagram: bytes, failed: Failed) -> None:
        self._under_way[number] = _Unicast(to, datagram, failed)
        self._try(number)

    def acknowledge(self, number: int, by: NodeId) -> None:
        unicast = self._under_way.get(number)
        if unicast is not None and unicast.to == by:
            del self._under_way[number]
            if unicast.timer:
                unicast.timer.cancel()

    def first_heard(self, number: int, sender: NodeId) -> bool:
        """Whether this is not a repetition."""
        if (sender, number) in self._heard:
            return False
        self._heard[(sender, number)] = None
        return True

    def cancel(self) -> None:
        for unicast in self._under_way.values():
            if unicast.timer:
                unicast.timer.cancel()
        self._under_way.clear()

    def _try(self, number: int) -> None:
        unicast = self._under_way[number]
        if unicast.tries > self._options.retries:
            del self._under_way[number]
            self._given_up()
            if unicast.failed:
                unicast.failed()
            return
        wait_s = self._options.ack_wait_s * self._options.ack_growth**unicast.tries
        unicast.tries += 1
        unicast.timer = self._loop.call_later(wait_s, self._try, number)
        self._transmit(unicast.to, unicast.datagram, unicast.tries > 1)
