"""The reactive store: what every approach offers to the application above it (Thyme FGCS §3).

All operations are asynchronous: they are checked at once (wrong use raises `InputError` and nothing happens),
then carried out, and `done` is called exactly once with the outcome. Notifications arrive through the callback
given with the subscription, at most once per object. What an approach cannot do it declares in `Capabilities`;
asking for it is refused at once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from enum import StrEnum

import msgspec

from thyme.host import Host
from thyme.model.errors import InputError
from thyme.model.frames import TimeFrame
from thyme.model.ids import NodeId, ObjectKey, SubscriptionKey
from thyme.model.objects import Metadata, ObjectLimits, check_object
from thyme.model.queries import Query
from thyme.wire.message import Message


class Failure(StrEnum):
    """Why an operation failed."""

    NONE = ""
    TIMEOUT = "timeout"
    NOT_FOUND = "not found"
    REFUSED = "refused"
    CANCELLED = "cancelled"


class Outcome(msgspec.Struct, frozen=True):
    """How an operation ended; for `subscribe` and `more`, `remaining` past matches were not sent yet."""

    failure: Failure = Failure.NONE
    remaining: int = 0

    @property
    def ok(self) -> bool:
        return self.failure is Failure.NONE


class Capabilities(msgspec.Struct, frozen=True):
    """What an approach does: whether it keeps objects, answers for the past, and delivers contents by itself."""

    stores: bool = True
    answers_past: bool = True
    delivers_contents: bool = False
    """Contents come with the notification: retrieving reads what is there and asks nobody."""
    retrieves: bool = True
    deletes: bool = True
    needs_positive_literal: bool = False
    needs_positions: bool = False
    needs_server: bool = False


Done = Callable[[Outcome], None]
Fetched = Callable[[Outcome, bytes], None]
Notify = Callable[[SubscriptionKey, Metadata, int], None]
"""(subscription, object, hops that the notification travelled or 0 where that is unknown)"""


class ReactiveStore(ABC):
    """One node's view of the crowd's storage. Also the `Protocol` that its host drives."""

    capabilities: Capabilities = Capabilities()

    def __init__(self, host: Host, limits: StoreLimits) -> None:
        self.host = host
        self._limits = limits

    @property
    def node(self) -> NodeId:
        return self.host.node

    @abstractmethod
    def start(self) -> None: ...

    @abstractmethod
    def join(self) -> None: ...

    @abstractmethod
    def receive(self, sender: NodeId, message: Message) -> None: ...

    @abstractmethod
    def stop(self) -> None: ...

    def insert(
        self,
        oid: str,
        data: bytes,
        tags: Iterable[str],
        summary: bytes,
        done: Done,
        *,
        replicate: bool | None = None,
    ) -> Metadata:
        """Store an object under its tags and notify whoever subscribed to them. `replicate` overrides, for this object,
        the approach's choice of active replication where it has one."""
        checked = check_object(data, tags, summary, self._limits.objects)
        key = key_of(oid, self.node)
        if self._was_inserted(key):
            raise InputError(f"object {oid!r} was inserted by this node before; objects are immutable, use a new id")
        return self._insert(Metadata(key, checked, summary, self.host.now(), len(data)), data, done, replicate)

    @abstractmethod
    def _was_inserted(self, key: ObjectKey) -> bool:
        """Whether this node has inserted an object of this name."""

    @abstractmethod
    def _insert(self, metadata: Metadata, data: bytes, done: Done, replicate: bool | None) -> Metadata:
        """Carry out an insertion that was found well-formed; returns the metadata as it is stored."""

    @abstractmethod
    def delete(self, oid: str, done: Done) -> None:
        """Remove one of this node's own objects; later subscriptions never see it."""

    @abstractmethod
    def subscribe(
        self, query: Query, frame: TimeFrame, notify: Notify, done: Done, *, sid: int | None = None
    ) -> SubscriptionKey:
        """Be notified of what matches `query` and was published within `frame`, past or future."""

    @abstractmethod
    def unsubscribe(self, sid: int, done: Done) -> None: ...

    @abstractmethod
    def retrieve(self, metadata: Metadata, done: Fetched) -> None:
        """Fetch the content of an object that this node was notified of."""

    @abstractmethod
    def more(self, sid: int, done: Done) -> None:
        """Ask for the next batch of past matches of a subscription."""

    @abstractmethod
    def remaining(self, sid: int) -> int:
        """Past matches of a subscription that this node knows of and was not yet notified of; see `more`."""

    @abstractmethod
    def resume(self, notify: Notify) -> tuple[SubscriptionKey, ...]:
        """After a restart: attach a callback to the subscriptions that this node made before it."""

    def roomy(self) -> bool:
        """Whether an operation that begins now finds room for what it sends. Who can wait asks before each one."""
        return True

    def stored(self) -> Iterable[tuple[str, int, int]]:
        """What this node holds now, as (name, count, bytes), for the log."""
        return ()


class StoreLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Bounds that all approaches share."""

    objects: ObjectLimits = ObjectLimits()
    own_subscriptions: int = 1_000
    pending_operations: int = 1_000
    notified_memory: int = 100_000
    """(subscription, object) pairs remembered per node to drop duplicate notifications."""


def key_of(oid: str, owner: NodeId) -> ObjectKey:
    if not oid:
        raise InputError("the object has no id; give each object of a node a name of its own")
    return ObjectKey(oid, owner)
