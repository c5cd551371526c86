"""Log records: what happened, in either life.

The simulator and the live runtime write the same family, and the pipeline reads it as one Parquet table
(`EVENT_COLUMNS`). A record says what happened; the host that records it adds when and at which node. Records
of one kind of traffic (`Counted`) are summed by the recorder per node, kind, name and reason, because a frame
is not worth a row; everything else is one row each. Metrics are computed from these rows only, in the pipeline.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from thyme.model.ids import NodeId, ObjectKey, SubscriptionKey


class OperationKind(StrEnum):
    """The operations of the reactive store (Thyme FGCS §3)."""

    INSERT = "insert"
    DELETE = "delete"
    SUBSCRIBE = "subscribe"
    UNSUBSCRIBE = "unsubscribe"
    RETRIEVE = "retrieve"
    MORE = "more"


class Row(msgspec.Struct, frozen=True):
    """One row of the event table, without its time and node."""

    kind: str
    name: str = ""
    operation: int = -1
    object: str = ""
    subscription: str = ""
    peer: int = -1
    count: int = 1
    size_bytes: int = 0
    value: float = 0.0
    reason: str = ""


EVENT_COLUMNS: tuple[tuple[str, str], ...] = (
    ("at_s", "float64"),
    ("node", "int64"),
    ("kind", "string"),
    ("name", "string"),
    ("operation", "int64"),
    ("object", "string"),
    ("subscription", "string"),
    ("peer", "int64"),
    ("count", "int64"),
    ("size_bytes", "int64"),
    ("value", "float64"),
    ("reason", "string"),
)


class OperationIssued(msgspec.Struct, frozen=True):
    """A user started an operation. `operation` is unique within a run (in live, within a node)."""

    operation: int
    operation_kind: OperationKind
    object: ObjectKey | None = None
    subscription: SubscriptionKey | None = None
    size_bytes: int = 0

    def row(self) -> Row:
        return Row(
            "issued",
            name=self.operation_kind,
            operation=self.operation,
            object=str(self.object) if self.object else "",
            subscription=str(self.subscription) if self.subscription else "",
            size_bytes=self.size_bytes,
        )


class OperationSucceeded(msgspec.Struct, frozen=True):
    operation: int
    operation_kind: OperationKind
    latency_s: float

    def row(self) -> Row:
        return Row("succeeded", name=self.operation_kind, operation=self.operation, value=self.latency_s)


class OperationFailed(msgspec.Struct, frozen=True):
    operation: int
    operation_kind: OperationKind
    latency_s: float
    reason: str

    def row(self) -> Row:
        return Row(
            "failed",
            name=self.operation_kind,
            operation=self.operation,
            value=self.latency_s,
            reason=self.reason,
        )


class Notified(msgspec.Struct, frozen=True):
    """A subscriber learnt of a matching object for the first time. `delay_s` counts from the instant from
    which a perfect execution would have notified it: the later of publication and subscription."""

    subscription: SubscriptionKey
    object: ObjectKey
    delay_s: float
    hops: int = 0

    def row(self) -> Row:
        return Row(
            "notified",
            subscription=str(self.subscription),
            object=str(self.object),
            value=self.delay_s,
            count=self.hops,
        )


class Stored(msgspec.Struct, frozen=True):
    """How much of one kind (`name`) a node stores: a sample, taken when the node leaves or the run ends."""

    name: str
    count: int
    size_bytes: int

    def row(self) -> Row:
        return Row("stored", name=self.name, count=self.count, size_bytes=self.size_bytes)


class Copied(msgspec.Struct, frozen=True):
    """The node has a copy of another's object from now on."""

    object: ObjectKey

    def row(self) -> Row:
        return Row("copied", object=str(self.object))


class Moved(msgspec.Struct, frozen=True):
    """The node changed the cell (or region) it belongs to."""

    name: str
    old: int
    new: int

    def row(self) -> Row:
        return Row("moved", name=self.name, peer=self.new, count=self.old)


class Joined(msgspec.Struct, frozen=True):
    """The node takes part in the approach from now on; `value` is how long joining took."""

    joining_s: float = 0.0

    def row(self) -> Row:
        return Row("joined", value=self.joining_s)


class Left(msgspec.Struct, frozen=True):
    reason: str = ""

    def row(self) -> Row:
        return Row("left", reason=self.reason)


class EnergyUsed(msgspec.Struct, frozen=True):
    """Joules spent in one radio state (`name`) over `milliseconds`; written once per node and state."""

    name: str
    joules: float
    milliseconds: int

    def row(self) -> Row:
        return Row("energy", name=self.name, value=self.joules, count=self.milliseconds)


class Sampled(msgspec.Struct, frozen=True):
    """A figure that an approach or a scenario watches over time, such as buffered messages or active nodes."""

    name: str
    value: float
    peer: int = -1

    def row(self) -> Row:
        return Row("sampled", name=self.name, value=self.value, peer=self.peer)


class TrafficKind(StrEnum):
    """Events of frames and packets. PHY and MAC kinds are counted by the radio and include its headers; the others are
    counted by the host in whole messages. Messages that it sends for other nodes are forwarded."""

    SENT = "sent"
    RECEIVED = "received"
    FORWARDED = "forwarded"
    CONTROL = "control"
    DROPPED = "dropped"
    PHY_SENT = "phy sent"
    PHY_CONTROL = "phy control"
    PHY_RECEIVED = "phy received"
    PHY_LOST = "phy lost"
    RETRANSMITTED = "retransmitted"
    GIVEN_UP = "given up"


class Counted(msgspec.Struct, frozen=True):
    """Traffic of one kind: `count` frames of `size_bytes` in total, of messages called `name`."""

    traffic: TrafficKind
    name: str
    count: int = 1
    size_bytes: int = 0
    reason: str = ""

    def row(self) -> Row:
        return Row(self.traffic, name=self.name, count=self.count, size_bytes=self.size_bytes, reason=self.reason)


LogRecord = (
    OperationIssued
    | OperationSucceeded
    | OperationFailed
    | Notified
    | Stored
    | Copied
    | Moved
    | Joined
    | Left
    | EnergyUsed
    | Sampled
    | Counted
)


class LoggedAt(msgspec.Struct, frozen=True):
    """A record with its time and node, as a live node appends it to its log."""

    at_s: float
    node: NodeId
    row: Row
