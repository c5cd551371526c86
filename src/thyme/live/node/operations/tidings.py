"""Tidings: all that a node tells its application, while it is there and over its restarts.

Of each subscription a stream of notifications, of the neighbourhood any number of streams of presences, and the objects
that were inserted here or notified of, which can then be retrieved by key alone.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from weakref import WeakSet

from thyme.live.link.meeting.peers import Presence
from thyme.live.node.known import KnownObjects
from thyme.live.node.operations.notifications import Notice, Notifications, Subscriber
from thyme.live.node.operations.presences import Presences
from thyme.model.ids import SubscriptionKey
from thyme.model.objects import Metadata

logger = logging.getLogger("thyme.live")


class Tidings:
    def __init__(self, subscriber: Subscriber) -> None:
        self._subscriber = subscriber
        self.on_notice: Callable[[Notice], None] | None = None
        self.known = KnownObjects()
        self.streams: dict[int, Notifications] = {}
        """By number of subscription."""
        self._presences: WeakSet[Presences] = WeakSet()

    def stream(self, key: SubscriptionKey, query: str) -> Notifications:
        """What a subscription will bring."""
        stream = self.streams[key.sid] = Notifications(key, query, self._subscriber)
        return stream

    def drop(self, sid: int) -> None:
        """The subscription has ended."""
        stream = self.streams.pop(sid, None)
        if stream is not None:
            stream.end()

    def presences(self, here: Iterable[Presence]) -> Presences:
        """Those who are here, and then whoever comes and goes."""
        presences = Presences(here)
        self._presences.add(presences)
        return presences

    def end(self) -> None:
        """The node leaves: all streams end."""
        for stream in self.streams.values():
            stream.end()
        for presences in self._presences:
            presences.end()

    def notify(self, key: SubscriptionKey, matches: Sequence[tuple[Metadata, float]]) -> None:
        notices: list[Notice] = []
        objects: list[Metadata] = []
        for metadata, delay_s in matches:  # no comprehension: most often there is one, and a call more is what it costs
            notices.append(Notice(key, metadata, delay_s))
            objects.append(metadata)
        self.known.note_all(objects)
        if stream := self.streams.get(key.sid):
            stream.put_all(notices)
        if self.on_notice:
            _tell_each(self.on_notice, notices)

    def notice(self, presence: Presence) -> None:
        for presences in self._presences:
            presences.put(presence)


def _tell_each(told: Callable[[Notice], None], notices: Iterable[Notice]) -> None:
    """All of them, whatever an application does about one: they count as told."""
    for notice in notices:
        try:
            told(notice)
        except Exception:
            logger.exception("what is to be told of %s failed", notice.metadata.key)
