"""A meter on a device of Thyme-DCS: its computing time, sent and received frames, by purpose.

The purposes are those of Thyme FGCS §10.3.3: *issuing* operations of one's own, *processing* requests that come to the
cell, *maintaining* the cell's state after another member has processed one, and *running*, which is everything else:
beacons, repair, joining. The type of a message gives its purpose; messages sent while it is handled, or by a timer set
meanwhile, have the same purpose. CPU time outside of handlers (sockets, encryption, the event loop) is not split by
purpose.

The radio counts as awake for a moment (`awake_s`) after every frame that it sends and every unicast that it receives;
broadcasts arrive when a power-saving radio listens anyway.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import msgspec

from thyme.live.link.frames import HEADER_BYTES
from thyme.live.node.host import LiveHost
from thyme.model.ids import NodeId
from thyme.wire import codec
from thyme.wire.cells import (
    CellAnswer,
    CellNotification,
    CellState,
    DeleteMetadata,
    HeldBy,
    InsertMetadata,
    PastOf,
    ReplicaAdded,
    SubscribePart,
    UnsubscribePart,
    WhoHolds,
)
from thyme.wire.codec import DecodeError
from thyme.wire.geographic import CellBroadcast, CellPacket
from thyme.wire.message import Message
from thyme.wire.signing import split_proofs
from thyme.wire.storage import MoreRequest, PartReply, PartRequest

ISSUING, PROCESSING, MAINTAINING, RUNNING, TOLD = "issuing", "processing", "maintaining", "running", "told"
UDP_BYTES = 28
"""Headers of UDP and IP."""
REQUESTS: dict[type[Message], str] = {
    InsertMetadata: "insert",
    DeleteMetadata: "delete",
    SubscribePart: "subscribe",
    UnsubscribePart: "unsubscribe",
    PartRequest: "retrieve",
    WhoHolds: "retrieve",
    MoreRequest: "more",
}
ANSWERS = (CellAnswer, PastOf, PartReply, HeldBy)
Purpose = tuple[str, str]
"""⟨role, kind of operation⟩."""
IDLE: Purpose = (RUNNING, "")
_purpose: ContextVar[Purpose] = ContextVar("purpose", default=IDLE)


class WorkCount(msgspec.Struct):
    """Work for one purpose."""

    count: int = 0
    """Operations issued, requests processed, changes learnt."""
    cpu_s: float = 0.0
    sent: int = 0
    sent_bytes: int = 0
    received: int = 0
    received_bytes: int = 0
    awake_s: float = 0.0

    def add(self, other: WorkCount) -> None:
        for name in self.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


class Account(msgspec.Struct, frozen=True):
    """Counters since the last reset, by "role/kind"."""

    seconds: float
    cpu_s: float
    """Of the whole process."""
    tallies: dict[str, WorkCount]


class Meter:
    """On one device, once that is open."""

    def __init__(self, host: LiveHost, tail_s: float) -> None:
        self._host = host
        self._tail_s = tail_s
        self._handle: Callable[[NodeId, Message], None] | None = host.receive
        self._tallies: dict[Purpose, WorkCount] = {}
        self._began_s = self._began_cpu_s = self._awake_until_s = 0.0
        self.under_way = ""
        """The operation that the user waits for."""
        host.receive, host.sending = self._receive, self._sending
        self.reset()

    def reset(self) -> None:
        self._tallies = {}
        self._began_s, self._began_cpu_s = time.monotonic(), time.process_time()
        self._awake_until_s = self._began_s

    def account(self) -> Account:
        spent_s = time.monotonic() - self._began_s
        named = {"/".join(part for part in purpose if part): tally for purpose, tally in self._tallies.items()}
        return Account(spent_s, time.process_time() - self._began_cpu_s, named)

    @contextmanager
    def issuing(self, kind: str) -> Iterator[None]:
        """The user issues an operation here."""
        self.under_way = kind
        tally = self._tally((ISSUING, kind))
        tally.count += 1
        with self._for((ISSUING, kind), tally):
            yield

    def _receive(self, sender: NodeId, message: Message) -> None:
        purpose, counts = purpose_of(message, self.under_way)
        tally = self._tally(purpose)
        tally.received += 1
        tally.received_bytes += _size_bytes(message)
        tally.count += counts
        if isinstance(message, CellPacket):
            self._keep_awake(tally)
        with self._for(purpose, tally):
            if self._handle is not None:
                self._handle(sender, message)

    def _sending(self, message: Message) -> None:
        tally = self._tally(_purpose.get())
        tally.sent += 1
        tally.sent_bytes += _size_bytes(message)
        self._keep_awake(tally)

    @contextmanager
    def _for(self, purpose: Purpose, tally: WorkCount) -> Iterator[None]:
        token, began_s = _purpose.set(purpose), time.thread_time()
        try:
            yield
        finally:
            tally.cpu_s += time.thread_time() - began_s
            _purpose.reset(token)

    def _keep_awake(self, tally: WorkCount) -> None:
        until_s = time.monotonic() + self._tail_s
        tally.awake_s += min(self._tail_s, until_s - self._awake_until_s)
        self._awake_until_s = until_s

    def _tally(self, purpose: Purpose) -> WorkCount:
        return self._tallies.setdefault(purpose, WorkCount())


def purpose_of(message: Message, under_way: str) -> tuple[Purpose, bool]:
    """Purpose of a message at a receiver that waits for the end of an operation; and whether it counts."""
    inner = _inside(message)
    if type(inner) in REQUESTS:
        return (PROCESSING, REQUESTS[type(inner)]), True
    if isinstance(inner, CellState):
        return (MAINTAINING, _changed(inner)), True
    if isinstance(inner, ReplicaAdded):
        return (PROCESSING if isinstance(message, CellPacket) else MAINTAINING, "retrieve"), False
    if isinstance(inner, CellNotification):
        return (TOLD, "notification"), True
    if isinstance(inner, ANSWERS) and under_way:
        return (ISSUING, under_way), False
    return IDLE, False


def _changed(state: CellState) -> str:
    if state.deleted:
        return "delete"
    if state.revoked:
        return "unsubscribe"
    return "subscribe" if state.parts else "insert"


def _inside(message: Message) -> Message:
    if isinstance(message, CellPacket | CellBroadcast):
        try:
            return codec.decode(split_proofs(message.payload)[1])
        except DecodeError:
            return message
    return message


def _size_bytes(message: Message) -> int:
    return len(codec.encode(message)) + HEADER_BYTES + UDP_BYTES
