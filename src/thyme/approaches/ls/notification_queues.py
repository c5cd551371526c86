"""Reliable notifications: repeated until the subscriber acknowledges them, however long it is out of range.

The paper's notifications are sent once (Thyme FGCS §9.3.1): one without a route is lost, and so are all insertions on
the other side of a partition. With `sure`, as on live nodes, the subscriber acknowledges each. Unacknowledged
notifications stay in the store, so that neither a restart of the owner nor a long absence of the subscriber loses them.
A few messages per subscriber are in flight, and notifications of one instant share a message. A subscriber that does
not answer in all tries is left alone until a frame of it arrives, or until two nodes become neighbours (`meet`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from itertools import islice
from operator import itemgetter

import msgspec

from thyme.approaches.interface import Failure, Outcome
from thyme.approaches.past import PIECE_BYTES
from thyme.approaches.requests import Requests, RetryOptions
from thyme.host import Host
from thyme.model.ids import NodeId, ObjectKey, SubscriptionKey
from thyme.model.matching import MatchingIndex
from thyme.model.objects import Metadata
from thyme.model.records import Counted, TrafficKind
from thyme.model.settings import SettingsRecord
from thyme.model.settings.bounds import AtLeastOne
from thyme.wire.local import Told
from thyme.wire.message import Message

KIND = "to tell"
WINDOW = 16
"""Messages under way to one subscriber."""
KEPT_IN_ALL = 100_000
"""Notifications that wait for all subscribers together; one too many is sent once, and counted."""
CROWDED = 500
"""With so many waiting for a subscriber that answers, further insertions wait."""
MEET_S = 2.0
"""All are tried at once at most this often. Each time a flood says so, one frame of each node: where links lose many
frames, neighbours seem new again and again, and twice as many floods would be more than a quiet crowd may send."""
MET_JITTER_S = 0.5
"""Longest random delay before a node floods that it has met another one; it does not if another node did so first."""
MOST_AT_ONCE = 64
"""Most matches in a message where the link carries more than a radio's frame."""
Pair = tuple[SubscriptionKey, str]
"""A subscription of another node, and the name of an own object that matches it."""


class NotificationQueueOptions(SettingsRecord, frozen=True):
    sure: bool = False
    """Whether notifications are acknowledged and kept until they are; the paper's are not. Live nodes say yes."""
    retry: RetryOptions = RetryOptions(pending=100_000)
    kept: AtLeastOne = 10_000
    """Notifications that wait for one subscriber; of too many the oldest is given up, and counted."""


class NotificationQueues:
    """The notifications that one node has to deliver."""

    def __init__(
        self,
        host: Host,
        options: NotificationQueueOptions,
        index: MatchingIndex,
        send: Callable[[NodeId, Message], None],
        most: int,
    ) -> None:
        """Objects and subscriptions are those of `index`; a message has at most `most` matches."""
        self._host = host
        self._options = options
        self._index = index
        self._send = send
        self._most = most
        self._requests = Requests(host, options.retry)
        self._owed: dict[NodeId, dict[Pair, int]] = {}
        """The queue of each subscriber: numbered notifications, in order of arrival."""
        self._numbers = 0
        self._under_way: dict[NodeId, dict[int, None]] = {}
        self._silent: set[NodeId] = set()
        self._gathering: set[NodeId] = set()
        """Subscribers whose notifications of this instant are being collected, because a message is already in
        flight."""
        self._count = 0
        self._met_s = -MEET_S

    def __len__(self) -> int:
        return self._count

    def load(self) -> None:
        """After a restart: load the unacknowledged notifications; they are tried when a neighbour is met."""
        for name, _ in self._host.store.items(KIND):
            self._add(_pair(name))
        self._silent.update(self._owed)

    def tell(self, key: SubscriptionKey, metadata: Metadata) -> None:
        if self._count >= KEPT_IN_ALL:
            self._host.record(Counted(TrafficKind.DROPPED, "Told", reason="too many to tell"))
            self._send(key.subscriber, Told(-1, key, (metadata,)))
            return
        pair = (key, metadata.key.oid)
        self._host.store.put(KIND, _name(pair), b"")
        node = key.subscriber
        if node not in self._owed and node not in self._under_way and node not in self._silent:
            self._tell_alone(node, pair, metadata)
            return
        self._add(pair)
        self._give_up_oldest(node)
        if node not in self._under_way:
            self._go_on(node)
        elif node not in self._gathering:
            self._gathering.add(node)
            self._host.after(0.0, lambda: self._gathered(node))

    def _tell_alone(self, node: NodeId, pair: Pair, metadata: Metadata) -> None:
        """Send a new match at once: nothing else is queued for this node."""
        self._numbers += 1
        self._count += 1
        self._under_way[node] = {}
        self._begin(node, {pair: self._numbers}, (metadata,))

    def has_room(self) -> bool:
        """Whether the subscribers that answer keep up."""
        return self._count < CROWDED or all(
            len(owed) < CROWDED or node in self._silent for node, owed in self._owed.items()
        )

    def acknowledged(self, request: int) -> None:
        self._requests.resolve(request, Outcome())

    def heard_of(self, node: NodeId) -> None:
        """A frame of a node arrived: if it was silent, try again."""
        if node in self._silent:
            self._silent.discard(node)
            self._go_on(node)

    def meet(self) -> None:
        """A new node is in range, and perhaps others behind it: try all that is queued at once."""
        now_s = self._host.now()
        if now_s - self._met_s < MEET_S:
            return
        self._met_s = now_s
        self._silent.clear()
        for requests in list(self._under_way.values()):
            for request in list(requests):
                self._requests.resolve(request, Outcome(Failure.CANCELLED))
        self._silent.clear()
        for node in list(self._owed):
            self._go_on(node)

    def _gathered(self, node: NodeId) -> None:
        self._gathering.discard(node)
        self._go_on(node)

    def _go_on(self, node: NodeId) -> None:
        under_way = self._under_way.setdefault(node, {})
        while node not in self._silent and len(under_way) < WINDOW and self._owed.get(node):
            batch, matches = self._next(self._owed[node])
            if matches:
                self._begin(node, batch, tuple(matches))
            else:
                self._forget(batch)
        if not under_way:
            del self._under_way[node]
        if not self._owed.get(node):
            self._owed.pop(node, None)

    def _add(self, pair: Pair) -> None:
        self._numbers += 1
        self._owed.setdefault(pair[0].subscriber, {})[pair] = self._numbers
        self._count += 1

    def _next(self, owed: dict[Pair, int]) -> tuple[dict[Pair, int], list[Metadata]]:
        """The first queued notification and those that follow for the same subscription, up to one message."""
        if len(owed) == 1:
            batch = owed.copy()
            owed.clear()
            return batch, [found for found in map(self._match, batch) if found is not None]
        return self._next_of_many(owed)

    def _next_of_many(self, owed: dict[Pair, int]) -> tuple[dict[Pair, int], list[Metadata]]:
        key = next(iter(owed))[0]
        batch: dict[Pair, int] = {}
        matches: list[Metadata] = []
        carries_bytes = self._host.part_bytes()
        most = self._most if carries_bytes <= PIECE_BYTES else MOST_AT_ONCE
        room, missing_bytes = max(PIECE_BYTES, carries_bytes), self._host.codec.missing_bytes
        for pair in [pair for pair in islice(owed, most) if pair[0] == key]:
            found = self._match(pair)
            size = 0 if found is None else len(msgspec.msgpack.encode(found)) + missing_bytes(found)
            if matches and size > room:
                break
            room -= size
            batch[pair] = owed.pop(pair)
            matches += [found] if found is not None else []
        return batch, matches

    def _match(self, pair: Pair) -> Metadata | None:
        """The object, unless it was deleted or its subscription ended."""
        key, oid = pair
        wanted = self._index.subscription(key) is not None
        return self._index.get(ObjectKey(oid, self._host.node)) if wanted else None

    def _begin(self, node: NodeId, batch: dict[Pair, int], matches: tuple[Metadata, ...]) -> None:
        under_way = self._under_way[node]
        key = next(iter(batch))[0]
        numbers: list[int] = []

        def send(number: int) -> None:
            numbers.append(number)
            under_way[number] = None
            self._send(node, Told(number, key, matches))

        def ended(outcome: Outcome) -> None:
            under_way.pop(numbers[0], None)
            if outcome.ok:
                self._forget(batch)
            else:
                waiting = {**batch, **self._owed.get(node, {})}
                self._owed[node] = dict(sorted(waiting.items(), key=itemgetter(1)))
                self._silent.add(node)
                self._give_up_oldest(node)
            self._go_on(node)

        self._requests.begin(send, ended)

    def _give_up_oldest(self, node: NodeId) -> None:
        owed = self._owed[node]
        while len(owed) > self._options.kept:
            self._host.record(Counted(TrafficKind.DROPPED, "Told", reason="too many to tell"))
            oldest = next(iter(owed))
            del owed[oldest]
            self._forget([oldest])

    def _forget(self, batch: Collection[Pair]) -> None:
        for pair in batch:
            self._host.store.remove(KIND, _name(pair))
        self._count -= len(batch)


def _name(pair: Pair) -> str:
    key, oid = pair
    return f"{key.sid}/{key.subscriber}/{oid}"


def _pair(name: str) -> Pair:
    sid, subscriber, oid = name.split("/", 2)
    return SubscriptionKey(int(sid), NodeId(int(subscriber))), oid
