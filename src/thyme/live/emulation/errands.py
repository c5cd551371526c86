"""Errands: single objects that a member of an emulated crowd is told to share or to fetch, and how long that took."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from thyme.approaches.user import User
from thyme.live.emulation.orders import Did, Fetch, Share
from thyme.live.node.host import LiveHost
from thyme.model.objects import Metadata


class Errands:
    def __init__(self, user: User, host: LiveHost, say: Callable[[Any], None]) -> None:
        self._user = user
        self._host = host
        self._say = say
        self._notified: dict[str, Metadata] = {}
        self._wanted: set[str] = set()

    def told(self, metadata: Metadata) -> None:
        """The user was notified."""
        self._notified[metadata.key.oid] = metadata
        if metadata.key.oid in self._wanted:
            self._wanted.discard(metadata.key.oid)
            self._retrieve(metadata)

    def share(self, order: Share) -> None:
        content = order.oid.encode().ljust(order.size_bytes, b".")[: order.size_bytes]
        number, ended = self._user.numbers.take(), self._timed(order.oid)
        self._user.insert(number, order.oid, content, (order.tag,), b"", ended, order.replicate)

    def fetch(self, order: Fetch) -> None:
        known = self._notified.get(order.oid)
        if known is None:
            self._wanted.add(order.oid)
        else:
            self._retrieve(known)

    def _retrieve(self, metadata: Metadata) -> None:
        self._user.retrieve(self._user.numbers.take(), metadata, self._timed(metadata.key.oid))

    def _timed(self, oid: str) -> Callable[[str], None]:
        began_s = self._host.now()
        return lambda failure: self._say(Did(oid, self._host.now() - began_s, failure))
