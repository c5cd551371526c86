"""The subscriptions of a node as the HTTP interface shows them: query, time frame, how many matches were told.

What a node itself remembers of a subscription is its conjunctions; the words in which it was asked for are kept beside
it in the node's store, and so outlive a restart with it.
"""

from __future__ import annotations

import msgspec

from thyme.live.http.faults import not_found
from thyme.live.http.forms import NewSubscription, SubscriptionView, frame_from
from thyme.live.node.node import Node
from thyme.model.bounded import Bounded
from thyme.model.errors import InputError
from thyme.model.frames import TimeFrame

KIND = "asked over http"
MAX_COUNTED = 10_000
"""Subscriptions whose notifications are counted."""


class Asked(msgspec.Struct, frozen=True, array_like=True):
    query: str
    frame: TimeFrame


class Subscriptions:
    """Those of one node, whoever made them."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._told: Bounded[int, int] = Bounded(MAX_COUNTED)
        self._asked: dict[int, Asked] = {}
        here = {stream.key.sid for stream in node.subscriptions()}
        for name, value in node.device.host.store.items(KIND):
            if int(name) in here:
                self._asked[int(name)] = msgspec.msgpack.decode(value, type=Asked)
            else:
                node.device.host.store.remove(KIND, name)

    def count(self, sid: int) -> None:
        self._told[sid] = self._told.get(sid, 0) + 1

    def __contains__(self, sid: int) -> bool:
        return any(stream.key.sid == sid for stream in self._node.subscriptions())

    async def add(self, asked: NewSubscription) -> SubscriptionView:
        node = self._node
        frame = frame_from(asked, node.now())
        stream = await node.subscribe(asked.query, frame)
        sid = stream.key.sid
        self._asked[sid] = Asked(stream.query, frame)
        node.device.host.store.put(KIND, str(sid), msgspec.msgpack.encode(self._asked[sid]))
        return self.view(sid)

    async def remove(self, sid: int) -> None:
        self._expect(sid)
        await self._node.unsubscribe(sid)
        self._asked.pop(sid, None)
        self._node.device.host.store.remove(KIND, str(sid))

    async def more(self, sid: int) -> SubscriptionView:
        self._expect(sid)
        await self._node.more(sid)
        return self.view(sid)

    def views(self) -> list[SubscriptionView]:
        return [self.view(stream.key.sid) for stream in self._node.subscriptions()]

    def view(self, sid: int) -> SubscriptionView:
        stream = next((each for each in self._node.subscriptions() if each.key.sid == sid), None)
        if stream is None:
            raise not_found(f"subscription {sid}")
        asked = self._asked.get(sid) or Asked(stream.query, TimeFrame.always())
        try:
            remaining = self._node.remaining(sid)
        except InputError:  # a search of the past whose time is over
            remaining = 0
        frame, told = asked.frame, self._told.get(sid, 0)
        return SubscriptionView(sid, str(stream.key), asked.query, frame.start_s, frame.end_s, told, remaining)

    def _expect(self, sid: int) -> None:
        if sid not in self:
            raise not_found(f"subscription {sid}")
