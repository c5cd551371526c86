"""The reactive store: what every approach offers to the application above it (Thyme FGCS §3).

All operations are asynchronous: they are checked at once (wrong use raises `InputError` and nothing happens),
then carried out, and `done` is called exactly once with the outcome. Notifications arrive through the callback
given with the subscription, at most once per object, restarts that keep the store included. What an approach cannot do
it declares in `Capabilities`; asking for it is refused at once.

A refused operation leaves no trace: everything is checked first, and only then does anything change. Two rules hold
for all approaches, over restarts that keep the store: a name that a node has ever given to an object is not given
again, deleted or not (`names`), and neither is the number of a subscription (`inbox`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from math import inf
from typing import Any

import msgspec

from thyme.approaches.eviction import Evictable
from thyme.approaches.expiries import Expiries
from thyme.approaches.inbox import Inbox, Notify
from thyme.approaches.names import UsedNames
from thyme.approaches.partial_contents import drop_draft, evictable_drafts
from thyme.host import Host
from thyme.model.errors import InputError
from thyme.model.frames import TimeFrame
from thyme.model.ids import NodeId, ObjectKey, SubscriptionKey
from thyme.model.objects import Content, Metadata, ObjectLimits, check_object
from thyme.model.queries import Query
from thyme.model.subscriptions import Subscription
from thyme.routing.broadcasts import BroadcastHandler
from thyme.wire.message import Message


class Failure(StrEnum):
    """Why an operation failed."""

    NONE = ""
    TIMEOUT = "timeout"
    NOT_FOUND = "not found"
    REFUSED = "refused"
    CANCELLED = "cancelled"
    DELETED = "deleted by its owner"
    EXPIRED = "expired"
    DAMAGED = "damaged"
    """What came is not what the object's metadata says."""


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
    past_is_best_effort: bool = False
    """Subscriptions are notified of earlier objects that are still reachable; others may be missing."""
    delivers_contents: bool = False
    """Contents come with the notification: retrieving reads them locally."""
    retrieves: bool = True
    deletes: bool = True
    needs_positive_literal: bool = False
    needs_positions: bool = False
    needs_server: bool = False


Done = Callable[[Outcome], None]
Fetched = Callable[[Outcome, Content], None]
"""Told how a retrieval ended, with the content; a large one stays in the store until it is released."""


def ignore(*_: object) -> None:
    """For an outcome that nobody waits for."""


class ReactiveStore(ABC):
    """One node's view of the crowd's storage. Also the protocol that its host drives."""

    capabilities: Capabilities = Capabilities()

    def __init__(self, host: Host, limits: StoreLimits) -> None:
        self.host = host
        self._limits = limits
        self._names = UsedNames(host, limits.used_names, USED_NAMES_S)
        self._expiries = Expiries(host, self._expire)
        self._inbox: Inbox[Any] = Inbox(host, limits.own_subscriptions, limits.notified_memory)
        self._under_way = 0
        self.progress: Callable[[ObjectKey, int, int], None] | None = None
        """Told how much of a large content that is being retrieved is here: (object, bytes, bytes in all)."""

    @property
    def node(self) -> NodeId:
        return self.host.node

    @abstractmethod
    def start(self) -> None:
        """The node is on and at its place: routing begins. Called once, before anything else."""

    @abstractmethod
    def join(self) -> None:
        """The application starts: take part in the approach. Called once, after `start`."""

    @abstractmethod
    def receive(self, sender: NodeId, message: Message) -> None:
        """A frame from the neighbour `sender` arrived, for this node or for everybody in range."""

    def broadcast_handlers(self, kind: type[Message]) -> tuple[BroadcastHandler, ...]:
        """How broadcasts of a type are handled at many nodes with one call instead of by `receive`; empty if they are
        not."""
        return ()

    @abstractmethod
    def stop(self) -> None:
        """The node leaves in an orderly way. After a crash this is never called."""

    def insert(
        self,
        oid: str,
        data: Content,
        tags: Iterable[str],
        summary: bytes,
        done: Done,
        *,
        replicate: bool | None = None,
        drafted: Metadata | None = None,
        again: bool = False,
        expires_s: float | None = None,
    ) -> Metadata:
        """Store an object under its tags and notify whoever subscribed to them. A large content may lie in the store
        already. `replicate` overrides, for this object, the approach's choice of active replication, if it has one.
        `drafted` is its draft, if there is one. With `again`, this repeats an insertion whose end was not seen: the
        draft is the object as it was then, and inserting it twice is inserting it once. At `expires_s` it ends
        everywhere, without a message."""
        if drafted is None:
            metadata = self.draft(oid, data, tags, summary, expires_s)
        else:
            if not again:
                self.new_key(oid)  # another of the name may have been drafted at the same time
            metadata = drafted
        self._check_end(metadata.expires_s)
        self._check_insertion(metadata, data)
        self._expect_room()
        self._expiries.watch(metadata)
        self._names.use(oid)
        return self._insert(metadata, data, self._begun(done), replicate)

    def draft(
        self, oid: str, data: Content, tags: Iterable[str], summary: bytes, expires_s: float | None = None
    ) -> Metadata:
        """The metadata of an object that is to be inserted now; InputError if it cannot be."""
        self._check_end(expires_s)
        checked = check_object(data, tags, summary, self._limits.objects)
        return Metadata.of(self.new_key(oid), checked, summary, self.host.now(), data, expires_s)

    def _check_end(self, expires_s: float | None) -> None:
        now_s = self.host.now()
        if expires_s is not None and not now_s < expires_s < inf:
            raise InputError(f"expires_s is {expires_s:g}; expected a time after now, {now_s:g}")

    def new_key(self, oid: str) -> ObjectKey:
        """The key of an object of this node that is to be inserted; InputError if there was one of this name."""
        key = key_of(oid, self.host.node)
        if self._was_inserted(key) or oid in self._names:
            raise InputError(
                f"object {oid!r} was inserted by this node before; objects are immutable, and the name of one that was "
                "deleted is not used again: use a new id"
            )
        return key

    def deleted(self, key: ObjectKey) -> bool:
        """Whether this node inserted the object and deleted it, or it expired; asked of an object that is not here."""
        return key.owner == self.node and key.oid in self._names

    @abstractmethod
    def _expire(self, key: ObjectKey) -> None:
        """An object's time is over: free whatever this node keeps of it."""

    @abstractmethod
    def _was_inserted(self, key: ObjectKey) -> bool:
        """Whether an object of this name, inserted by this node, lives."""

    def _check_insertion(self, metadata: Metadata, data: Content) -> None:  # noqa: B027 - most take any object
        """InputError if the approach cannot take such an object. Changes nothing."""

    @abstractmethod
    def _insert(self, metadata: Metadata, data: Content, done: Done, replicate: bool | None) -> Metadata:
        """Carry out an insertion that was checked, and so is not refused any more; returns the metadata as it is
        stored."""

    def _expect_room(self) -> None:
        """InputError if as many operations are under way as may be. The last check before anything changes."""
        if self._under_way >= self._limits.pending_operations:
            raise InputError(f"{self._under_way} operations are in progress; wait for some to finish")

    def _begun(self, done: Done) -> Done:
        """An operation was admitted: it counts as under way until the callback given back is called."""
        self._under_way += 1

        def ended(outcome: Outcome) -> None:
            self._under_way -= 1
            done(outcome)

        return ended

    def delete(self, oid: str, done: Done) -> None:
        """Remove one of this node's own objects; later subscriptions never see it."""
        key = ObjectKey(oid, self.node)
        if not self._was_inserted(key):
            raise InputError(f"this node has no object {oid!r} to delete; only the owner can delete an object")
        self._expect_room()
        self._names.use(oid)
        self._delete(key, self._begun(done))

    @abstractmethod
    def _delete(self, key: ObjectKey, done: Done) -> None:
        """Carry out the deletion of an own object."""

    def subscribe(
        self, query: Query, frame: TimeFrame, notify: Notify, done: Done, *, sid: int | None = None
    ) -> SubscriptionKey:
        """Be notified of what matches `query` and was published within `frame`, past or future."""
        number = self._next_sid() if sid is None else sid
        subscription = Subscription.to_query(SubscriptionKey(number, self.node), query, frame)
        self._check_subscription(subscription)
        self._expect_room()
        self._inbox.add(subscription, notify)
        self._subscribe(subscription, self._begun(done))
        return subscription.key

    def _next_sid(self) -> int:
        return self._inbox.next_sid()

    def _check_subscription(self, subscription: Subscription) -> None:  # noqa: B027 - most take any subscription
        """InputError if the approach cannot take such a subscription. Changes nothing."""

    @abstractmethod
    def _subscribe(self, subscription: Subscription, done: Done) -> None:
        """Carry out a subscription, which is in the inbox."""

    def unsubscribe(self, sid: int, done: Done) -> None:
        if self._inbox.ended(sid):
            done(Outcome())
            return
        subscription = self._inbox.get(sid).subscription
        self._expect_room()
        self._unsubscribe(subscription, self._begun(done))

    @abstractmethod
    def _unsubscribe(self, subscription: Subscription, done: Done) -> None:
        """Remove a subscription from the inbox, and carry out its end."""

    def retrieve(self, metadata: Metadata, done: Fetched) -> None:
        """Fetch the content of an object that this node was notified of. Whoever was given a large one releases it."""
        if metadata.expired(self.host.now()):
            done(Outcome(Failure.EXPIRED), b"")
            return

        def fetched(outcome: Outcome, content: Content) -> None:
            if outcome.ok and metadata.expired(self.host.now()):
                self.release(metadata.key)
                outcome, content = Outcome(Failure.EXPIRED), b""
            done(outcome, content)

        self._retrieve(metadata, done if metadata.expires_s is None else fetched)

    @abstractmethod
    def _retrieve(self, metadata: Metadata, done: Fetched) -> None:
        """The same, for an object that has not expired."""

    def pause(self, key: ObjectKey) -> None:  # noqa: B027 - only large contents take long
        """Stop retrieving a large content; what has arrived stays, and retrieving it again goes on from there."""

    def _tell_progress(self, key: ObjectKey, have_bytes: int, size_bytes: int) -> None:
        if self.progress is not None:
            self.progress(key, have_bytes, size_bytes)

    def release(self, key: ObjectKey) -> None:
        """A large content that was retrieved is not needed any more; where the approach keeps it, it stays."""
        drop_draft(self.host.store, key)

    def more(self, sid: int, done: Done, most: int = 0) -> None:
        """Ask for the next batch of past matches of a subscription, or for a stream of up to `most` of them. There is
        nothing to ask for where others send by themselves all that they know."""
        self._inbox.get(sid)
        done(Outcome())

    def remaining(self, sid: int) -> int:
        """Past matches of a subscription that this node knows of and was not yet notified of; see `more`."""
        return self._inbox.get(sid).remaining

    def resume(self, notify: Notify) -> tuple[SubscriptionKey, ...]:
        """After a restart: attach a callback to the subscriptions that this node made before it."""
        return self._inbox.resume(notify)

    def evictable(self) -> Iterator[Evictable]:
        """Contents that this node could do without, should its store be too small; in any order."""
        return evictable_drafts(self.host.store, lambda key: key.owner == self.node or self._fetching(key))

    def _fetching(self, key: ObjectKey) -> bool:
        """Whether a large content is on its way to this node."""
        return False

    def advice(self) -> str:
        """What the person at this node should know about its settings in the crowd that it finds itself in."""
        return ""

    @property
    def handing_over(self) -> int:
        """After `stop`: messages with what this node held for others that nobody has said to have yet."""
        return 0

    @property
    def untaken(self) -> int:
        """After `stop`: such messages that all tries were made for."""
        return 0

    def has_room(self) -> bool:
        """Whether an operation that begins now finds room for what it sends. Who can wait asks before each one."""
        return True

    def stored(self) -> Iterable[tuple[str, int, int]]:
        """What this node holds now, as (name, count, bytes), for the log."""
        return ()


USED_NAMES_S = 604_800.0
"""How long after its last use a name is remembered as used: a week, longer than any crowd stays together."""


class StoreLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Bounds that all approaches share."""

    objects: ObjectLimits = ObjectLimits()
    own_subscriptions: int = 1_000
    """Subscriptions of the application that may exist at once."""
    pending_operations: int = 1_000
    """Operations of the application that may be under way at once."""
    notified_memory: int = 100_000
    """(subscription, object) pairs remembered per node to drop duplicate notifications."""
    used_names: int = 100_000
    """Names of own objects that are not used again, the latest of them."""
    deletions: int = 100_000
    """Deleted objects remembered, so that no late copy brings one back; the oldest are forgotten."""


def key_of(oid: str, owner: NodeId) -> ObjectKey:
    if not oid:
        raise InputError("the object has no id; give each object of a node its own id")
    return ObjectKey(oid, owner)
